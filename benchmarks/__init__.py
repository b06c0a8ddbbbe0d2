"""What is fast and what it costs, as ratios with intervals: `python -m benchmarks [NAME ...]`, or `make bench`.

Each module measures one claim in pairs (or repeats) whose number is fixed beforehand, in a random order whose seed is
printed. Traffic stays in the lab's namespaces.
"""
