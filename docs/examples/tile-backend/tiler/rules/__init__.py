"""What may be wrong with the tiles of a graph."""
