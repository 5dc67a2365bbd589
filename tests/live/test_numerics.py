"""How far a command's results are from eager."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tracelens.experiment import Knob
from tracelens.live.lab import Lab, RunFailed
from tracelens.live.numerics import Output, difference
from tracelens.live.workload import Side, Workload

ONE = Output(0, 0, "[[2], 3.0, 3.0]", ((1.0, 4.0), (2.0,)))


def test_the_largest_difference_is_told_and_what_it_is_of() -> None:
    found = replace(ONE, numbers=((1.0, 3.0), (2.0,)))
    assert difference([found], [ONE]) == {"max_abs": 1.0, "max_rel": 0.25}
    assert difference([ONE], [ONE]) == {"max_abs": 0.0, "max_rel": 0.0}


def test_only_calls_with_the_same_arguments_are_compared() -> None:
    other = replace(ONE, given="[[2], 5.0, 5.0]")
    assert difference([other], [ONE]) is None
    assert difference([ONE], []) is None
    assert difference([replace(ONE, numbers=((9.0,),))], [ONE]) is None, "another shape"
    far = replace(ONE, call=1, given="x", numbers=((70.0,),))
    assert difference([ONE, far], [ONE, replace(far, given="y")]) == {"max_abs": 0, "max_rel": 0}


def test_what_is_not_finite_is_equal_to_itself_alone() -> None:
    odd = replace(ONE, numbers=((math.nan, math.inf),))
    assert difference([odd], [odd]) == {"max_abs": 0.0, "max_rel": 0.0}
    found = difference(
        [replace(ONE, numbers=((math.nan, 1.0),))], [replace(ONE, numbers=((1, 1),))]
    )
    assert found is not None
    assert math.isinf(found["max_abs"])


PROGRAM = """
import sys, torch
if "seed" in sys.argv:
    torch.manual_seed(0)
model = torch.compile(torch.nn.Linear(8, 8), backend="eager")
for _ in range(4):
    y = model(torch.rand(2, 8) if "seed" in sys.argv else torch.rand(2, 8).mul_(torch.rand(1)))
"""


@pytest.mark.live
def test_a_command_is_compared_with_its_own_eager_run(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    """Equal where nothing is changed; under autocast, bfloat16's precision; a seed must be set."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    seeded = Workload((torch_python, str(path), "seed"))
    lower = Knob("lower", call={"autocast": "bfloat16"}, changes_results=True)
    with Lab(base=torch_environment, seconds=500) as lab:
        assert lab.compare(Side(seeded)) == {"max_abs": 0.0, "max_rel": 0.0}
        assert 1e-4 < lab.compare(Side(seeded, lower))["max_rel"] < 0.05
        with pytest.raises(RunFailed, match="set a seed"):
            lab.compare(Side(Workload((torch_python, str(path)))))
