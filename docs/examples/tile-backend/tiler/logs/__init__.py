"""The log of the backend."""
