"""Compile time, and the caches that save it."""
