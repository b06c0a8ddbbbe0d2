"""Everything that can be changed on a host: one module per kind, found through registry.py. Loaded when first asked."""
