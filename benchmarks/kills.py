"""Is anything lost when a command is killed, also while it writes?

    python benchmarks/kills.py --seed 1 --count 30 -o docs/campaigns/kills.json

``analyze`` (also at the moment at which its report is written), ``run`` and ``confirm`` get
SIGKILL, SIGTERM, SIGINT or SIGHUP at moments that the seed decides; what must be there then is in
``tests/killing.py``. Small programs without torch.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.killing import COMMANDS, one  # noqa: E402 -- the path is set above


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--only", choices=COMMANDS)
    parser.add_argument("-o", dest="out", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"seed": options.seed, "date": f"{datetime.date.today()}"}
    lost = 0
    for command in [options.only] if options.only else COMMANDS:
        states: Counter[str] = Counter()
        wrong = {}
        for number in range(options.count):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    states[one(command, Path(folder), options.seed, number)] += 1
                except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError) as error:
                    wrong[number] = f"{type(error).__name__}: {error}"[:400]
        lost += len(wrong)
        found = {"kills": options.count, "then": dict(states.most_common()), "wrong": wrong}
        result[command] = found
        print(command, json.dumps(found), flush=True)
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
