"""What is looked for in advice is found where it is put: a check of the check."""

from __future__ import annotations

import pytest

from tests.advice.knobs import first_release, named_in_rules
from tests.contradicting import against, not_yet_there
from tracelens import analyze
from tracelens.plugins.registry import discover
from tracelens.remedies import Remedy
from tracelens.report import Advice, Report, Where
from tracelens.rules import Rule

LOG = "fixtures/rules/RCP015-stride-mismatch/fires-cache.log"
FREEZE = Advice(id="a", text="Freeze.", setting="torch._inductor.config.freezing = True")
OWN, LIBRARY = "/home/ana/proj/run.py", "/home/ana/venv/lib/python3.11/site-packages/odd/a.py"


LIMIT = "torch._dynamo.config.recompile_limit = 9"


def report(*advice: Advice, file: str = OWN) -> Report:
    """Return a report of two findings that print this advice, one each."""
    found = analyze(LOG)
    findings = tuple(
        found.findings[0].model_copy(
            update={
                "code": f"ONE00{number}",
                "advice": (one,),
                "where": Where(file=file),
                "suppressed_by": None,
            }
        )
        for number, one in enumerate(advice)
    )
    return found.model_copy(update={"findings": findings})


@pytest.mark.parametrize(
    ("advice", "log", "wrong"),
    [
        ([FREEZE], "", 0),
        ([FREEZE], "_frozen_param0", 1),
        ([FREEZE], '"inductor_config": "{\\"freezing\\": true}"', 1),
        ([FREEZE], '"inductor_config": "{\\"freezing\\": false}"', 0),
        ([FREEZE, FREEZE], "", 0),
        ([FREEZE, Advice(text="b", setting="torch._inductor.config.freezing = False")], "", 1),
        ([Advice(text="a", env="OMP_NUM_THREADS=1")], "export OMP_NUM_THREADS=1\n", 1),
        ([Advice(text="a", env="OMP_NUM_THREADS=1")], "export OMP_NUM_THREADS=16\n", 0),
        (
            [Advice(text="a", code="torch.compile(m, dynamic=True)"),
             Advice(text="b", code="torch.compile(m, dynamic=False)")],
            "",
            1,
        ),
        ([Advice(text="a", setting=LIMIT)], "", 1),
        ([Advice(text="a", since="2.7", setting=LIMIT)], "", 0),
        ([Advice(text="a", setting="torch._dynamo.config.no_such_thing = 9")], "", 1),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(advice: list[Advice], log: str, wrong: int) -> None:
    assert len(list(against(report(*advice), log))) == wrong


def test_a_reader_of_a_library_cannot_edit_it() -> None:
    own_name = Advice(text="a", code="value = value.clone()")
    assert list(against(report(own_name), "")) == []
    assert len(list(against(report(own_name, file=LIBRARY), ""))) == 1
    edit = Advice(text="In site-packages/odd/a.py, remove the line.")
    assert len(list(against(report(edit, file=LIBRARY), ""))) == 1
    whole = Advice(text="a", code="skip = torch.compile\nmodel = torch.compile(model, skip)")
    assert list(against(report(whole, file=LIBRARY), "")) == []


def test_every_knob_of_a_rule_is_in_some_torch() -> None:
    assert {knob for knob in named_in_rules() if not first_release(knob)} == set()


def test_no_remedy_is_for_a_torch_that_lacks_what_it_sets() -> None:
    wrong = {}
    for rule in discover("rules", Rule):
        for remedy in rule.remedies:
            fixed = _as_advice(remedy)
            if found := list(not_yet_there(fixed)):
                wrong[f"{rule.code}/{remedy.id}"] = found
    assert wrong == {}


def _as_advice(remedy: Remedy) -> Advice:
    """Return what a remedy prints whatever the finding is."""

    def plain(value: object) -> str | None:
        return value if isinstance(value, str) else None

    return Advice(
        text="",
        setting=plain(remedy.setting),
        env=plain(remedy.env),
        code=plain(remedy.code),
        since=remedy.since,
    )
