"""CUDA graphs: what is not recorded, recorded again, or read after it was overwritten."""
