"""Are the reports of two states of the project the same bytes?

    python benchmarks/same.py --logs CORPUS -o before.json                  in one checkout
    python benchmarks/same.py --logs CORPUS -o after.json --with before.json     in the other

Every log and trace below a folder is analyzed by itself, and a hash of its JSON report is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tracelens import analyze  # noqa: E402 -- the path is set above
from tracelens.errors import TracelensError  # noqa: E402

#: Files that say what is in the logs beside them.
ABOUT = ("truth", "diagnosis", "README", "CATALOG", "cmd")
MOST_BYTES = 30 << 20


def inputs(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        is_log = not path.name.startswith(ABOUT) and path.suffix not in {".py", ".md"}
        if is_log and path.is_file() and path.stat().st_size <= MOST_BYTES:
            yield path


def digest(path: Path) -> str:
    try:
        text = analyze(str(path)).model_dump_json()
    except TracelensError as error:
        text = f"{type(error).__name__}: {error}"
    return hashlib.sha256(text.encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, default=ROOT / "fixtures")
    parser.add_argument("--with", dest="other", type=Path, help="what the other state wrote")
    parser.add_argument("-o", dest="out", type=Path, required=True)
    options = parser.parse_args()
    found = {f"{path.relative_to(options.logs)}": digest(path) for path in inputs(options.logs)}
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    if options.other is None:
        print(f"{len(found)} reports")
        return 0
    before = json.loads(options.other.read_text())
    differ = [name for name, value in found.items() if before.get(name, value) != value]
    print(
        "\n".join([*differ, f"{len(before.keys() & found.keys())} compared, {len(differ)} differ"])
    )
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
