"""Pictures of the real program for the README; `make screenshots` makes them again."""
