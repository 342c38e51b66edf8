"""`python -m pytest_chalk`: the command line."""

import sys

from pytest_chalk.cli import main

if __name__ == "__main__":
    sys.exit(main())
