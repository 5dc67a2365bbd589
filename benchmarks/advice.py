"""Apply each advice literally to a program that shows its finding, and write docs/advice.md.

    python benchmarks/advice.py [CODE[/ID] ...]     run these programs of tests/advice (all)
    python benchmarks/advice.py --resume [CODE ...] those whose result is not of today
    python benchmarks/advice.py --docs              only write docs/advice.md anew

What came of a program is kept beside it as JSON, with the version of torch and the date. Exits
with 1 where an advice raised, or its finding stayed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.advice.bench import BenchError, Program, check, programs  # noqa: E402
from tracelens.plugins.registry import discover  # noqa: E402
from tracelens.remedies import Remedy  # noqa: E402
from tracelens.rules import Rule  # noqa: E402

HEAD = """# Advice, and how we know that it works

Advice is tested code. A program shows the finding; what the finding prints is applied to it, word
for word; then nothing may raise, the results must be the same, and the finding must be gone. CPU
time is measured on the way: of the first steps with everything that they compile, and of one later
step; where a GPU is named, it is the time until the GPU is done. It is a fact about one small
program on one machine, not a promise.

`python benchmarks/advice.py` runs them all, `python benchmarks/advice.py RCP002` those of one rule;
`--resume` leaves out those that were run today. On other people's programs the same advice was
followed as well ([what came of it](campaigns/libraries.json)): what is not expected to help in
three quarters of programs, by what came of it or, where few followed it, of advice of its family,
is printed as `try:` instead of `fix:`, with the numbers. What helped in fewer than half of them is
left out of what people read where the finding has better advice; JSON has it, and live mode tries
it. The programs are in `tests/advice/`. A link instead of a test is the thread or document that an
advice is from; "not here" says why no test on a CPU can show it.

| rule | advice | when | known from | first steps, s | a step, ms |
| --- | --- | --- | --- | --- | --- |
"""


def main(arguments: list[str]) -> int:
    """Run the programs asked for, and write the page."""
    parser = argparse.ArgumentParser(
        description="Run the programs of tests/advice, and write the page."
    )
    parser.add_argument("wanted", nargs="*", metavar="CODE[/ADVICE]", help="how their names begin")
    parser.add_argument("--docs", action="store_true", help="without names: write the page alone")
    parser.add_argument("--resume", action="store_true", help="leave out those that ran today")
    asked = parser.parse_args(arguments)
    failed = 0
    wanted = asked.wanted
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    for program in programs() if wanted or not asked.docs else []:
        label = f"{program.code}/{program.path.stem}"
        if wanted and not any(label.startswith(name) for name in wanted):
            continue
        if asked.resume and _date(program) == today:
            continue
        if program.needs_gpu and not _has_gpu():
            print(f"{label}: needs a GPU", flush=True)
            continue
        try:
            with tempfile.TemporaryDirectory() as room:
                facts = check(program, Path(room))
        except (BenchError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{label}: FAILED: {error}", flush=True)
            continue
        facts["date"] = today
        program.result.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        print(f"{label}: {facts}", flush=True)
    (ROOT / "docs" / "advice.md").write_text(page(), encoding="utf-8")
    return bool(failed)


@cache
def _has_gpu() -> bool:
    import torch  # noqa: PLC0415 -- not needed for the page

    return torch.cuda.is_available()


def _date(program: Program) -> str:
    """Return when a program was last run; empty where it never was."""
    if not program.result.exists():
        return ""
    return str(json.loads(program.result.read_text(encoding="utf-8")).get("date", ""))


def page() -> str:
    """Return docs/advice.md."""
    rows = []
    for rule in sorted(discover("rules", Rule), key=lambda rule: rule.code):
        if not rule.__module__.startswith("tracelens."):
            continue
        rows += [row for remedy in rule.remedies for row in _rows(rule.code, remedy)]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rows(code: str, remedy: Remedy) -> list[tuple[str, ...]]:
    link = f"[{code}](rules/{code}.md)"
    name, when = f"`{remedy.id}`", remedy.when or "always"
    if remedy.basis != "tested":
        known = f"not here: {remedy.proof}" if remedy.basis == "untestable" else _link(remedy.proof)
        return [(link, name, when, known, "", "")]
    found = []
    for program in programs():
        same = (program.code, program.advice) == (code, remedy.id)
        if same or program.name == remedy.proof:
            found += _measured(link, name, when, program)
    return found


def _measured(link: str, name: str, when: str, program: Program) -> list[tuple[str, ...]]:
    if not program.result.is_file():
        return [(link, name, when, f"`{program.name}`: not run yet", "", "")]
    facts: dict[str, Any] = json.loads(program.result.read_text(encoding="utf-8"))
    known = f"[tested](../{program.name}), torch {facts['torch']}, {facts['date']}"
    if "device" in facts:
        known += f", {facts['device']}"
    return [
        (
            link,
            name if way == "code" else f"{name} ({way})",
            when,
            known,
            " → ".join(f"{value:g}" for value in facts[way]["run_s"]),
            " → ".join(f"{value:g}" for value in facts[way]["step_ms"]),
        )
        for way in ("setting", "env", "code")
        if way in facts
    ]


def _link(proof: str) -> str:
    return f"<{proof}>" if proof.startswith("https://") else proof


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
