"""Guards: how many there are, what checking them costs, and which will fail."""
