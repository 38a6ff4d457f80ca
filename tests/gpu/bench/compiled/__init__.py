"""Programs compiled by torch.compile, with the real Triton and with Pantile in its place."""
