"""Findings of programs that really run, tested by really running them again, without timing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.live.reports import finding
from tracelens.live import confirming
from tracelens.live.confirming import Means
from tracelens.live.lab import Lab, Timing
from tracelens.live.micro import DRIVER
from tracelens.live.statistics import Judgement
from tracelens.live.workload import Side, Workload
from tracelens.report import Confirmation, Report

pytestmark = pytest.mark.live

#: Recompiles for sizes, numbers and an attribute, and breaks. What it shows needs no compiler.
MANY = """
import logging
import os

import torch


@torch.compile(dynamic=False, backend="eager")
def scaled(x):
    return torch.relu(x) * 2 + x.sum()


@torch.compile(dynamic=False, backend="eager")
def numbered(x, number):
    return torch.relu(x) * 2 + number


class Layer(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x * self.number


@torch.compile(backend="eager")
def normed(x):
    total = x.sum().item()
    return torch.relu(x) / total


@torch.compile(backend="eager")
def printed(x):
    y = x * 2
    print("doubled")
    return y + 1


@torch.compile(backend="eager")
def told(x):
    y = x * 2
    print("doubled", tuple(y.shape))
    return y + 1


@torch.compile(backend="eager")
def opened(x):
    y = x * 2
    open(os.devnull).close()
    return y + 1


@torch.compile(backend="eager")
def logged(x):
    y = x * 2
    logging.getLogger("many").info("doubled")
    return y + 1


printed(torch.ones(3))
told(torch.ones(3))
opened(torch.ones(3))
logged(torch.ones(3))
for size in range(2, 14):
    scaled(torch.ones(size))
for number in range(2, 8):
    numbered(torch.ones(3), number)
layer = torch.compile(Layer(2), backend="eager")
for number in range(2, 8):
    layer._orig_mod.number = number
    layer(torch.ones(3))
for _ in range(3):
    normed(torch.ones(5))
"""

#: The step of a small network, as an entry.
NETWORK = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.first = torch.nn.Linear(32, 512)
        self.last = torch.nn.Linear(512, 256)

    def forward(self, x):
        x = torch.relu(self.conv(x)).mean((2, 3))
        return self.last(torch.relu(self.first(x)))


def step():
    torch.manual_seed(0)
    compiled = torch.compile(Net().eval())
    images = torch.randn(4, 3, 16, 16)

    def once():
        with torch.no_grad():
            return compiled(images)

    return once
"""


class Untimed(Lab):
    """Records as ever, and takes the timings as given: they are tested elsewhere."""

    def blocks(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> Timing:
        del before, after
        return Timing(Judgement("faster", "", ratio=2.0, blocks=3), of, (), {})


@pytest.fixture(scope="module")
def lab(torch_environment: dict[str, str]) -> Iterator[Lab]:
    with Untimed(base=torch_environment, seconds=600) as lab:
        yield lab


def planted(code: str) -> Report:
    """Return a report with one finding that no run will show."""
    from tests.live.reports import report

    return report(finding(code, 0xABCDEF))


def outcome(lab: Lab, means: Means, given: Report, code: str) -> Confirmation:
    found = confirming.confirm(given, lab, means, only=[code])
    return next(f.confirmation for f in found.findings if f.code == code)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, torch_python: str) -> Means:
    path = tmp_path_factory.mktemp("many") / "many.py"
    path.write_text(MANY)
    return Means(Workload((torch_python, str(path)), cwd=path.parent), torch_python)


def shown(lab: Lab, means: Means) -> Report:
    """Return what the unchanged program shows; it is recorded once."""
    assert means.workload is not None
    return lab.record(Side(means.workload)).report


@pytest.mark.parametrize("code", ["RCP001", "RCP002", "RCP007", "GBR001", "GBR004"])
def test_the_change_that_a_rule_names_removes_its_finding(lab: Lab, many: Means, code: str) -> None:
    answer = outcome(lab, many, shown(lab, many), code)
    assert answer.state == "confirmed", answer.note
    assert answer.structure is not None
    assert answer.structure.before > 0
    assert answer.structure.after == 0
    assert answer.environment["torch"].startswith("2.")


def test_a_number_that_is_compiled_anew_is_shown_by_a_program_of_the_same_form(
    lab: Lab, many: Means
) -> None:
    """It is passed as a tensor there: a setting cannot do that, and it is no word on this one."""
    answer = outcome(lab, many, shown(lab, many), "RCP004")
    assert answer.reason in {"same_form_only", ""}
    assert answer.state != "refuted"


def test_a_print_leaves_the_graph_and_an_open_does_not(lab: Lab, many: Means) -> None:
    """Of breaks of one kind, the setting moves one, whatever the title of another says.

    Dynamo cannot move what prints a tuple; it can leave it out.
    """
    known = shown(lab, many)
    three = {f.where.function: f for f in known.findings if f.code == "GBR003" and f.where}
    assert three.keys() == {"printed", "told", "opened"}
    titled = three["opened"].model_copy(update={"title": "`print` breaks the graph"})
    given = known.model_copy(update={"findings": (three["printed"], three["told"], titled)})
    found = confirming.confirm(given, lab, many, only=["GBR003"]).findings
    answers = {f.id: f.confirmation for f in found}
    moved, left_out = (answers[three[name].id] for name in ("printed", "told"))
    assert (moved.state, moved.knob) == ("confirmed", "print is called after the graph")
    assert (left_out.state, left_out.knob) == ("confirmed", "print is left out of the graph")
    assert not answers[titled.id].state.startswith("confirmed")


@pytest.mark.parametrize("code", ["RCP007", "GBR001", "IND004"])
def test_a_finding_planted_in_a_report_is_not_confirmed(lab: Lab, many: Means, code: str) -> None:
    answer = outcome(lab, many, planted(code), code)
    assert answer.state == "inconclusive"
    assert "did not show" in answer.note


def test_an_entry_is_driven_and_compared(lab: Lab, tmp_path: Path, torch_python: str) -> None:
    (tmp_path / "bench.py").write_text(NETWORK)
    argv = (torch_python, str(DRIVER), "--entry", "bench:step")
    entry = Workload(argv, cwd=tmp_path, title="--entry bench:step")
    means = Means(entry, torch_python)
    answer = outcome(lab, means, shown(lab, means), "IND004")
    assert answer.state == "confirmed", answer.note
    assert answer.workload == "--entry bench:step"
    assert lab.compare(Side(entry))["max_rel"] < 1e-4
    assert len(lab.run_once(Side(entry), "step").times) >= 10
