"""Dynamic shapes: sizes and numbers that are not known while a function is compiled."""
