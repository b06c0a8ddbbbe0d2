"""What exists: hosts, samples, runs, presets and their units. Frozen dataclasses, standard library only."""
