"""`python -m netbench_tui`, and the installed command `netbench-tui`."""

import sys


def main() -> int:
    from netbench_tui.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
