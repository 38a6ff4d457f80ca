"""All passes over the tile IR of every kernel that the tests compile."""
