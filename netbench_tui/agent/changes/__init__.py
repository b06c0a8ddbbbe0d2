"""Changing settings as transactions, with a guardian that puts them back by itself. Loaded when first asked."""
