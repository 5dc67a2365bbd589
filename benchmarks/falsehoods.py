"""Plant thirty findings that are not so on five programs, and see that none is confirmed.

    OMP_NUM_THREADS=1 python benchmarks/falsehoods.py --python PYTHON_WITH_TORCH

One line per finding, then the count. It takes some minutes, since every program is really run.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.live.falsehoods import PLANTED, PROGRAMS, confirmed


def main() -> int:
    """Plant everything, print what became of it, and fail where anything was confirmed."""
    parser = argparse.ArgumentParser(description="Plant findings that are not so.")
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="tracelens-falsehoods-") as name:
        for program in PROGRAMS:
            found = confirmed(program, Path(name), options.python, dict(os.environ))
            for which, (state, reason, note) in found.items():
                wrong += state.startswith("confirmed")
                print(f"{program:12} {which}: {state} {reason}: {note[:90]}")
    print(f"{wrong} of {len(PLANTED)} planted falsehoods were confirmed")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
