"""Pure functions from what was measured to what it means: no I/O, standard library only."""
