"""Plant thirty findings that are not so on five programs, and see that none is confirmed.

    OMP_NUM_THREADS=1 python benchmarks/falsehoods.py --recorded -o docs/campaigns/falsehoods.json

With ``--recorded``, ``tracelens run`` records each program first, and the recording is taken for
the first unchanged run, as it is for a user. One line per finding, then the count. It takes some
minutes, since every program is really run; with ``-o`` each program is stored as soon as it is
through, and a second call goes on.
"""

import argparse
import datetime
import json
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
    parser.add_argument("--recorded", action="store_true", help="record each program first")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each program")
    parser.add_argument("-o", type=Path, help="where the results are stored")
    options = parser.parse_args()
    rows = json.loads(options.o.read_text()) if options.o and options.o.exists() else []
    for program in PROGRAMS:
        if any(row["program"] == program for row in rows):
            continue
        with tempfile.TemporaryDirectory(prefix="tracelens-falsehoods-") as name:
            found = confirmed(
                program,
                Path(name),
                options.python,
                dict(os.environ),
                options.seconds,
                recorded=options.recorded,
            )
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        rows += [
            {"program": program, "finding": which, "state": state, "reason": reason}
            | {"note": note[:90], "recorded_first": options.recorded, "date": today}
            for which, (state, reason, note) in found.items()
        ]
        if options.o:
            lines = ",\n".join(json.dumps(row) for row in rows)
            options.o.write_text(f"[\n{lines}\n]\n")
    for row in rows:
        print("{program:12} {finding}: {state} {reason}: {note}".format_map(row))
    wrong = sum(row["state"].startswith("confirmed") for row in rows)
    print(f"{wrong} of {len(PLANTED)} planted falsehoods were confirmed")
    return int(wrong > 0 or len(rows) < len(PLANTED))


if __name__ == "__main__":
    raise SystemExit(main())
