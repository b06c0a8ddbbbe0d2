"""netbench-tui: see, tune and measure the network performance of two Linux hosts from one terminal."""

__version__ = "0.1.0"
