"""Random kernels, run on the interpreter and the GPU against models: statements with error bounds, whole kernels exactly."""
