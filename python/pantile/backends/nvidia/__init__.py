"""NVIDIA's GPUs as a target."""
