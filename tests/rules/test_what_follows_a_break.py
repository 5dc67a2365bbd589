"""What is compiled behind a graph break follows from it, and nothing in front of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report.stories import graph_break
from tracelens.rules.rcp._data import Function, RecompileData, told_by

FILE = "/home/ana/proj/model.py"
WHOLE = Function(name="forward", file=FILE, line=7)
REST = Function(name="torch_dynamo_resume_in_forward_at_9", file=FILE, line=9)
OTHER = Function(name="torch_dynamo_resume_in_forward_at_12", file=FILE, line=12)


@pytest.mark.parametrize(
    ("functions", "lines"),
    [((REST,), [9]), ((REST, OTHER), [9, 12]), ((WHOLE, REST), []), ((WHOLE,), [])],
)
def test_recompiles_follow_from_a_break_where_all_functions_are_behind_one(
    functions: tuple[Function, ...], lines: list[int]
) -> None:
    data = RecompileData(
        cause="RCP017", function=functions[0].name, file=FILE, line=7, functions=functions
    )
    assert list(told_by(data)) == [graph_break(FILE, line) for line in lines]


GUARDS = """\
+- RootGuardManager
| +- GuardManager: source=G['opt'], accessed_by=DictGetItemGuardAccessor('opt')
| | +- TYPE_MATCH: ___check_type_id(G['opt'].param_groups, 7), type=<class 'list'>  # for group in self.param_groups:  # {file}:100 in step
"""  # noqa: E501 -- a line of a log


@pytest.mark.parametrize(
    ("file", "told"), [("optim/sgd.py", True), ("torch_optimizer/radam.py", False)]
)
def test_a_backward_pass_is_traced_along_with_torchs_own_optimizers(
    file: str, told: bool, tmp_path: Path
) -> None:
    """With another one compiled behind it, gradients were assigned to other parameters."""
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR010-*"))
    prefix = "V1126 10:00:09.000000 7 torch/_dynamo/guards.py:4483] [2/0] [__guards] "
    tree = "\nTREE_GUARD_MANAGER:\n" + GUARDS.format(file=file)
    log = tmp_path / "run.log"
    log.write_text(
        (folder / "fires-backward-2.13.log").read_text()
        + "\n"
        + "".join(f"{prefix}{line}\n" for line in tree.split("\n"))
    )
    (found,) = [one for one in analyze(log).findings if one.code == "GBR010"]
    assert ("trace-autograd" in [one.id for one in found.advice]) is told


REASON = """Attempted to wrap RNN, GRU, or LSTM
  Explanation: Dynamo does not support RNN, GRU, or LSTM.
  Hint: Set torch._dynamo.config.allow_rnn=True to enable experimental support.

  Developer debug context: UnspecializedNNModuleVariable

User code traceback:
  File "/home/ana/proj/model.py", line 30, in forward
    y, _ = self.lstm(x)
"""
SKIPS = (
    "Encountered graph break that we cannot resume from. Compiling up to the previous resumable "
    "state, then skipping the rest of the function. Graph break encountered:\n\n"
)


@pytest.mark.parametrize("skips", [True, False])
def test_a_break_that_nothing_is_compiled_behind_says_so(skips: bool, tmp_path: Path) -> None:
    prefix = (
        "V1126 10:00:00.000000 7 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
    )
    text = "Graph break in user code at /home/ana/proj/model.py:30\nGraph Break Reason: "
    text += (SKIPS if skips else "") + REASON
    log = tmp_path / "run.log"
    log.write_text("".join(f"{prefix}{line}\n" for line in text.splitlines()))
    (found,) = [one for one in analyze(log).findings if one.code == "GBR019"]
    assert ("cannot resume behind it" in found.message) is skips
    assert ("until the next one" in found.message) is not skips


OUTER = """Recompiling function inner in /home/ana/proj/app.py:20
    triggered by the following guard failure(s):
    - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9
"""


@pytest.mark.parametrize("again", [False, True])
def test_what_varies_within_one_call_follows_from_the_break_in_it(
    tmp_path: Path, *, again: bool
) -> None:
    """A hook is called for each layer; where what calls it is compiled once, it would be in it."""
    folder = next((Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR001-*"))
    text = (folder / "fires-in-a-hook.log").read_text()
    if again:
        at = "V1127 02:00:11.000000 9467 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
        text += "".join(f"{at}{line}\n" for line in OUTER.splitlines())
    log = tmp_path / "run.log"
    log.write_text(text)
    found = {one.code: one for one in analyze(log).findings}
    cause = None if again else found["GBR001"].id
    assert {found[code].explained_by for code in ("RCP006", "RCP014")} == {cause}
