"""Advice to compile the model is for runs in which only its layers are compiled."""

import re
from pathlib import Path

import pytest

from tracelens import analyze

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "RCP012-requires-grad-mismatch"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("fires-layers.log", {"compile-model"}),
        ("fires-model.log", set()),  # the model is compiled, and its loop breaks
        ("quiet-once.log", set()),  # a function, and no layer
        ("quiet-state-beside.log", set()),  # its other input never has a gradient
    ],
)
def test_compile_the_model_where_its_layers_are_compiled(log: str, expected: set[str]) -> None:
    (finding,) = [f for f in analyze(str(LOGS / log)).findings if f.code == "RCP012"]
    assert {advice.id for advice in finding.advice} == expected


def test_one_input_may_be_what_layers_hand_on(tmp_path: Path) -> None:
    """Without ``obs`` among the guards nothing tells a state from an activation."""
    lines = (LOGS / "quiet-state-beside.log").read_text().splitlines(keepends=True)
    path = tmp_path / "run.log"
    path.write_text("".join(line for line in lines if "check_tensor(L['obs']" not in line))
    (finding,) = [f for f in analyze(str(path)).findings if f.code == "RCP012"]
    assert [advice.id for advice in finding.advice] == ["compile-model"]


@pytest.mark.parametrize(
    ("log", "is_advised"),
    [
        ("fires-channels-guards.log", True),
        ("fires-normalized.log", False),  # `normalized_shape` holds each width
        ("fires-four-shapes.log", False),  # no guards: nothing is known
    ],
)
def test_sizes_become_symbols_only_where_no_module_holds_them(log: str, is_advised: bool) -> None:
    (folder,) = LOGS.parent.glob("RCP018-*")
    told = [one for one in analyze(str(folder / log)).findings if one.code == "RCP018"]
    assert told
    for finding in told:
        advised = [advice.id for advice in finding.advice]
        assert advised == ["compile-around", *(["parameter-symbols"] if is_advised else [])]


def test_a_layer_that_is_compiled_itself_holds_its_sizes_as_well(tmp_path: Path) -> None:
    """The guard of ``torch.compile(LayerNorm.forward)`` has no path through a model."""
    (folder,) = LOGS.parent.glob("RCP018-*")
    text = (folder / "fires-normalized.log").read_text()
    path = tmp_path / "run.log"
    path.write_text(
        re.sub(r"L\['self'\](?:\._modules\['\w+'\])+(?=\.normalized)", "L['self']", text)
    )
    assert "L['self'].normalized_shape ==" in path.read_text()
    told = [one for one in analyze(str(path)).findings if one.code == "RCP018"]
    assert told
    assert not any(advice.id == "parameter-symbols" for one in told for advice in one.advice)


AT = "V0812 03:18:23.088000 1912 torch/_dynamo/guards.py:3508] [6/2] [__recompiles]"
BOTH = f"""\
{AT} Recompiling function forward in /home/ana/proj/model.py:221
{AT}     triggered by the following guard failure(s):
{AT}     - 6/0: tensor 'freqs' size mismatch at index 1. expected 7104, actual 6895
{AT}     - 6/1: tensor 'self._modules['mod']._modules['1']._parameters['weight']' size mismatch at\
 index 1. expected 1728, actual 2112. Guard failed on a parameter, consider using\
 torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters.
"""


def test_the_parameter_is_named_where_the_input_failed_in_another_entry(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(BOTH)
    (finding,) = [one for one in analyze(path).findings if one.code == "RCP018"]
    assert "`self.mod[1].weight`" in finding.title
    assert "A size of it was 1728, 2112" in finding.message
    path.write_text("".join(line for line in BOTH.splitlines(keepends=True) if "6/1" not in line))
    assert "RCP018" not in {one.code for one in analyze(path).findings}
