"""``python -m tracelens``: the same as the command."""

from tracelens.cli import main

if __name__ == "__main__":
    main()
