"""``python -m tracelens``: the same as the command."""

import sys

from tracelens.cli import main

if __name__ == "__main__":
    sys.exit(main())
