"""Compiled loops of the bounds; import them inside functions, for importing them imports the compiler."""
