"""Does any input, however broken, raise, crash a rule, take too long or reach the terminal?

    python benchmarks/fuzz.py --seed 1 --minutes 2
    python benchmarks/fuzz.py --seed 1 --count 100000 -o docs/campaigns/fuzz.json

An input is a piece of at most 20 kB of the project's logs and traces, with one to three structural
mutations (``tests/fuzz/mutating.py``): splices, truncations, control characters, huge numbers,
nesting and more. Each is read and judged by every rule, in process, and every tenth is written in
every format, plainly and with ``-v --redact`` by turns. Input ``N`` of a seed is the same whatever
came before it, as long as the fixtures are; with ``-o`` a run goes on where the last one of its
seed ended, and what was found stays listed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.fuzz.holding import WAYS, formats, hold  # noqa: E402 -- the path is set above
from tests.fuzz.mutating import mutant  # noqa: E402


def place(error: BaseException) -> str:
    """Name an error by where it was raised, so that one defect is one entry."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "/tracelens/" in frame.filename or "/tests/fuzz/" in frame.filename:
            file = Path(frame.filename).name
            return f"{file}: {frame.name}: {type(error).__name__}: {str(error)[:300]}"
    return f"{type(error).__name__}: {str(error)[:300]}"


def load(path: Path | None, seed: int) -> dict[str, Any]:
    fresh = {"seed": seed, "next": 0, "read": 0, "refused": 0, "rendered": 0, "found": {}}
    if path is None or not path.exists():
        return fresh
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept.get(f"seed {seed}", fresh)


def store(path: Path | None, state: dict[str, Any]) -> None:
    if path is None:
        return
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept[f"seed {state['seed']}"] = state | {"date": f"{datetime.date.today()}"}
    path.write_text(json.dumps(kept, indent=2) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--render-every", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="folder for the inputs that something raised on")
    parser.add_argument("--only", type=int, help="one input, with its traceback")
    parser.add_argument("-o", dest="out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "input.log"
        if options.only is not None:
            print(hold(mutant(options.seed, options.only), file, render=WAYS))
            return 0
        state = load(options.out, options.seed)
        end = time.monotonic() + 60 * options.minutes
        while state["next"] < options.count and time.monotonic() < end:
            one(state, file, options)
            if state["next"] % 500 == 0:
                store(options.out, state)
        store(options.out, state)
    print(json.dumps(state, indent=2))
    return bool(state["found"])


def one(state: dict[str, Any], file: Path, options: argparse.Namespace) -> None:
    number = state["next"]
    data = mutant(options.seed, number)
    turn, rest = divmod(number, options.render_every)
    render = () if rest else (WAYS[turn % len(WAYS)],)
    try:
        kind = hold(data, file, render=render)
    except Exception as error:
        state["found"].setdefault(place(error), number)
        kind = "read"
        if options.keep:
            (options.keep / f"{options.seed}-{number}.log").write_bytes(data)
    state.update(Counter({name: state[name] for name in ("read", "refused")}) + Counter([kind]))
    state["rendered"] += len(formats()) * len(render) * (kind == "read")
    state["next"] = number + 1


if __name__ == "__main__":
    sys.exit(main())
