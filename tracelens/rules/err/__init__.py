"""Failures: what ended the program, and what to do about it."""
