"""Whether a change left the generated code as it was, for the kernels that the compiler is measured with."""
