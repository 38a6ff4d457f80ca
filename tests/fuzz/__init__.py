"""Random well-typed kernels, run on the interpreter and the GPU against a model with error bounds."""
