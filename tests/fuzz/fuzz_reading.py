"""Coverage-guided fuzzing of all that reads bytes. Run by hand; what it finds becomes a test.

    pip install atheris
    python tests/fuzz/fuzz_reading.py [FOLDER OF SEEDS] -atheris_runs=1000000 -max_len=4096

Without a folder the seeds are records cut from ``fixtures/``. The property: nothing raises, no line
is counted twice, any split of the input gives the same records, and the report can be judged and
saved.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tracelens"]):
    from tracelens.engine import judge
    from tracelens.logs import Log
    from tracelens.plugins.registry import discover
    from tracelens.source.kinds import Kinds
    from tracelens.source.segment import Segmenter
    from tracelens.traces.reader import is_trace

FIXTURES = Path(__file__).parents[2] / "fixtures"
KINDS = Kinds(discover("logs", Log))


def seeds(folder: Path) -> None:
    """Cut the fixtures into small inputs: fuzzing a whole log learns nothing."""
    number = 0
    for path in sorted(FIXTURES.rglob("*.log*")):
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        lines = text.splitlines(keepends=True)
        for start in range(0, min(len(lines), 400), 40):
            (folder / f"{number:05}").write_bytes(b"".join(lines[start : start + 40])[:4096])
            number += 1


def read(parts: list[list[bytes]]) -> Segmenter:
    """Read the parts of one input and join them."""
    whole = Segmenter(KINDS, "x")
    whole.feed(parts[0])
    for lines in parts[1:]:
        segment = Segmenter(KINDS, "x", from_start=False)
        segment.feed(lines)
        whole.extend(segment)
    whole.finish()
    return whole


def one_input(data: bytes) -> None:
    """Check the properties on one input."""
    is_trace(data)
    lines = [line + b"\n" for line in data.split(b"\n")]
    whole = read([lines])
    evidence = whole.evidence
    known = sum(count for count, _ in evidence.known.values())
    assert evidence.understood_lines + evidence.unread_lines + known <= len(lines)
    cut = data[0] % (len(lines) + 1) if data else 0
    split = read([lines[:cut], lines[cut:]]).evidence
    assert split.kinds == evidence.kinds, (split.kinds, evidence.kinds)
    assert split.known == evidence.known, (split.known, evidence.known)
    if len(data) % 64 == 0:  # asking every rule costs ten times what reading costs
        report = judge(evidence, [])
        assert not [v for v in report.verdicts if v.verdict.value == "crashed"], report.verdicts
        report.to_json()


def main() -> None:
    """Fuzz."""
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    with tempfile.TemporaryDirectory() as scratch:
        if not given:
            seeds(Path(scratch))
        atheris.Setup([sys.argv[0], *(given or [scratch]), *sys.argv[1:]], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
