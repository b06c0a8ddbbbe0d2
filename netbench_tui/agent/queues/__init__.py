"""Queues, their NAPI and their IRQs: who serves which, and how fast they move. Loaded when first asked."""
