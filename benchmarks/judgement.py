"""How well the rules judge: precision and recall over logs that an expert has labelled.

    python benchmarks/judgement.py CASES

CASES is a folder with one folder per case: the log, perhaps a ``trace.json.gz`` or
``torch_trace/``, and a ``diagnosis.json`` with ``first`` (the code that an expert would name
first; null when nothing deserves it), ``expected``, ``must_not`` and ``unsure`` (lists of
``{"code": ...}``). A forbidden code counts as shown from severity info on; an expected one is
found as a note, too. What the expert also lists as unsure (the log alone does not prove it, or no
rule was for it) does not count as missed, nor as the first; it is counted by itself. Prints one
line per case and the totals as Markdown.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tracelens import analyze
from tracelens.engine import select_rules
from tracelens.report import Severity

LOUD = (Severity.ERROR, Severity.WARNING)


@dataclass
class Judged:
    """One case: what was expected, and what was said."""

    name: str
    first: tuple[str | None, str | None]
    missed: list[str]
    found: list[str]
    #: Expected and unsure: those that were found, and those that were not.
    unsure: tuple[list[str], list[str]]
    forbidden: list[str]
    unknown: list[str]

    @property
    def first_right(self) -> bool:
        """Whether the report opens as the expert would."""
        return self.first[0] == self.first[1]

    @property
    def first_counts(self) -> bool:
        """Whether the expert is sure of the first, or we say the same."""
        return self.first_right or self.first[0] not in self.unsure[1]


def judge(case: Path, known: set[str]) -> Judged:
    """Analyze one case and compare."""
    diagnosis = json.loads((case / "diagnosis.json").read_text())
    inputs = [*case.glob("log.txt*"), *case.glob("*trace.json*"), *case.glob("torch_trace")]
    report = analyze(*map(str, sorted(inputs)))
    shown = {finding.code for finding in report.shown}
    seen = {finding.code for finding in report.findings}
    unsure = {entry["code"] for entry in diagnosis["unsure"]}
    expected = {entry["code"] for entry in diagnosis["expected"]}
    must_not = {entry["code"] for entry in diagnosis["must_not"]} - expected
    loud = [finding.code for finding in report.shown if finding.severity in LOUD]
    wanted = diagnosis["first"]
    opened = loud[0] if loud else None
    if wanted is not None and opened is None:
        # Where nothing deserves a warning, a report that has the expert's first, and no other
        # finding above it than information, opens as it should.
        notes = {finding.code for finding in report.folded}
        first = report.shown[0].code if report.shown else None
        opened = wanted if wanted in notes else first
    return Judged(
        case.name,
        (wanted, opened),
        sorted(expected - unsure - seen),
        sorted((expected - unsure) & seen),
        (sorted(expected & unsure & seen), sorted((expected & unsure) - seen)),
        sorted(must_not & shown),
        sorted((expected | {wanted} - {None}) - known),
    )


def main() -> None:
    """Print the table."""
    known = {rule.code for rule in select_rules()}
    cases = sorted(path.parent for path in Path(sys.argv[1]).glob("*/diagnosis.json"))
    judged = [judge(case, known) for case in cases]
    print("| case | first: expert / ours | found | missed | forbidden but shown |")
    print("|---|---|---|---|---|")
    for one in judged:
        mark = "" if one.first_right else " **differs**" if one.first_counts else " (unsure)"
        missed = ", ".join(
            [
                *(f"{code} (no rule)" if code in one.unknown else code for code in one.missed),
                *(f"{code} (unsure)" for code in one.unsure[1]),
            ]
        )
        cells = [one.name, f"{one.first[0]} / {one.first[1]}{mark}", str(len(one.found))]
        print("|", " | ".join([*cells, missed, ", ".join(one.forbidden)]), "|")
    found = sum(len(one.found) for one in judged)
    missed_count = sum(len(one.missed) for one in judged)
    forbidden = sum(len(one.forbidden) for one in judged)
    right = sum(one.first_right for one in judged)
    counted = sum(one.first_counts for one in judged)
    unsure = sum(len(one.unsure[0]) for one in judged)
    of = unsure + sum(len(one.unsure[1]) for one in judged)
    print(
        f"\nrecall {found}/{found + missed_count}, of what the expert is unsure of {unsure}/{of}, ",
        end="",
    )
    print(f"forbidden shown {forbidden}, first finding right {right}/{counted}")


if __name__ == "__main__":
    main()
