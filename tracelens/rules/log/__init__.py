"""LOG: whether the log itself can be trusted to be whole."""
