"""Rules about traces of the PyTorch profiler."""
