"""Every recompile has one cause, and every cause is told by one rule."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tracelens.dynamo.recompile_causes import ranked
from tracelens.dynamo.recompile_history import histories
from tracelens.engine import judge, select_rules
from tracelens.logs.recompiles import GuardFailure, Recompile, Source, TensorMismatch, ValueCheck
from tracelens.report import Severity
from tracelens.rules.rcp._changes import groups, owner
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
LOGS = sorted(path for path in FIXTURES.glob("RCP*/*.log*") if "absent" not in path.name)
#: Rules about functions: they count recompiles that others explain.
SUMMARIES = {"RCP001", "RCP024", "RCP028", "RCP029"}
each_log = pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")


def told(path: Path) -> Counter[str]:
    """Return code -> recompiles that the rule's findings explain."""
    evidence, inputs = read([str(path)])
    report = judge(evidence, inputs, rules=select_rules(["RCP"]))
    assert [v for v in report.verdicts if v.verdict == "crashed"] == []
    counts: Counter[str] = Counter()
    for finding in report.findings:
        note_of_another = finding.code == "RCP026" and "RCP030 tells" in finding.message
        behind = finding.data.get("behind")  # a number that stands behind the sizes of RCP002
        if finding.code not in SUMMARIES and not (note_of_another or behind):
            counts[finding.code] += finding.count
    return counts


@each_log
def test_no_recompile_is_told_twice(path: Path) -> None:
    evidence, _ = read([str(path)])
    table = evidence.table(Recompile)
    recompiles = sum(seen.count for seen in table)
    # The last record of a fragment names entries that were compiled before it begins.
    recompiles += sum(len(step.unrecorded) for h in histories(table) for step in h.steps)
    assert sum(told(path).values()) <= recompiles


@each_log
def test_every_rule_tells_all_that_it_owns(path: Path) -> None:
    """But sizes and integers, of which the first change is told by RCP003 and flags by RCP031."""
    evidence, _ = read([str(path)])
    table = evidence.table(Recompile)
    owned = Counter(owner(step).code for h in histories(table) for step in h.steps)
    counts = told(path)
    filled = owned["RCP027"] - counts["RCP027"]  # a dict that the first call fills
    flags = min(owned["RCP006"], counts["RCP031"] - filled)
    dropped = counts["RCP031"] - filled - flags  # tensors that came or went
    unset = owned["RCP008"] - counts["RCP008"]  # objects that stand for "not set yet"
    dropped -= unset
    owned.subtract({"RCP027": filled, "RCP006": flags, "RCP009": dropped, "RCP008": unset})
    for code in ("RCP002", "RCP003", "RCP004", "RCP031", ""):
        owned.pop(code, None)
    for code in owned:
        assert counts[code] == owned[code], code


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        # GPT-2: five functions under no_grad are one cause; the float is the learning rate.
        ("quiet-grad-mode", {"RCP010": 5, "RCP022": 1}),
        # Two models with two sizes each: none of the sizes keeps changing.
        ("quiet-six-entries", {"RCP003": 4, "RCP030": 1}),
        # A batch of one, and a length of one.
        ("quiet-zero-one", {"RCP003": 2, "RCP016": 2}),
        # Encoder and decoder, batches of 1 and 2, first and later steps.
        ("quiet-prefill-and-decode", {"RCP006": 1, "RCP016": 5, "RCP030": 1}),
    ],
)
def test_what_an_expert_reads_out_of_real_logs(log: str, expected: dict[str, int]) -> None:
    path = min(FIXTURES.glob(f"RCP00[123]-*/{log}.log"))
    assert dict(told(path)) == expected


def test_a_call_is_beside_the_entry_that_was_made_for_one_like_it() -> None:
    """Entries for a batch of one fit no larger batch, and the one made for those has a layout."""
    path = FIXTURES / "RCP015-stride-mismatch" / "fires-after-batches-of-one.log"
    assert dict(told(path)) == {"RCP003": 2, "RCP015": 2, "RCP016": 3}
    evidence, inputs = read([str(path)])
    report = judge(evidence, inputs, rules=select_rules(["RCP015"]))
    (finding,) = report.findings
    assert "was 4, then 8 in dimension 2, and 4, then 40 in dimension 1:" in finding.message
    assert [one.id for one in finding.advice] == ["after-making"]
    assert finding.data["made"] == "past"


def test_one_change_is_one_finding_however_many_functions_it_reaches() -> None:
    path = FIXTURES / "RCP003-first-dynamic-recompile" / "quiet-grad-mode.log"
    evidence, _ = read([str(path)])
    (group,) = groups("RCP010", evidence.table(Recompile))
    assert (len(group.steps), group.most, len(group.functions)) == (5, 1, 5)


def test_a_record_that_is_cut_after_its_head_names_no_cause(tmp_path: Path) -> None:
    path = FIXTURES / "RCP006-string-or-constant-key" / "fires-many-names.log"
    cut = tmp_path / "cut.log"
    cut.write_text("\n".join(path.read_text().split("\n")[:2]) + "\n")
    assert sum(told(cut).values()) == 0


def test_what_was_expected_is_never_more_than_a_note() -> None:
    for path in LOGS:
        evidence, inputs = read([str(path)])
        report = judge(evidence, inputs, rules=select_rules(["RCP"]))
        loud = [f.title for f in report.shown if f.title.endswith(": expected")]
        assert loud == [], path
        assert all(f.severity is not Severity.NONE for f in report.shown)


def test_two_sizes_that_take_turns_do_not_use_up_the_entries() -> None:
    """Every entry has the other size half of the time; the counter is what needs one each."""
    size = TensorMismatch(what="size", source=Source(name="x"), index=0, expected="", actual="4")
    steps = []
    for call in range(1, 9):
        failures = []
        for entry in range(call):
            step = ValueCheck(source=Source(name="self", path=".step"), integer=entry)
            other = size.model_copy(update={"expected": str(4 + 2 * (entry % 2))})
            same = entry % 2 == call % 2
            failures.append(GuardFailure(entry=f"0/{entry}", check=step if same else other))
        steps.append(tuple(failures))
    (first, *_) = ranked(steps)
    assert first[0].code == "RCP007"
