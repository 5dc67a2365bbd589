"""A type of graph break as a program: a small function with the same one, and without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tracelens.experiment import Knob
from tracelens.live.micro import Pair, Program, Shown
from tracelens.report import Finding, Report

__all__ = ["build"]


class _Break(NamedTuple):
    """A function that breaks the graph, and what makes it whole."""

    title: str
    #: The function's body; a tensor ``x`` is its argument.
    body: tuple[str, ...]
    knob: str
    #: The body without the break; the same where a setting does it.
    whole: tuple[str, ...] = ()
    setting: str = ""
    #: Lines before the function.
    head: tuple[str, ...] = ()
    #: The same lines without the break, where they differ.
    whole_head: tuple[str, ...] = ()


_OPERATOR = (
    'library = torch.library.Library("tracelens", "DEF")',
    'library.define("shift(Tensor x) -> Tensor")',
    'library.impl("shift", lambda x: x + 1, "CPU")',
)
#: Form -> what it is. Only breaks that are the same wherever they stand: what cannot be traced or
#: entered differs from program to program, and one of our own would show another break.
_BREAKS: Mapping[str, _Break] = {
    "item": _Break(
        "a number is read out of a tensor",
        ("scale = x.sum().item()", "return x * scale"),
        "scalars are captured",
        setting="torch._dynamo.config.capture_scalar_outputs = True",
    ),
    "branch": _Break(
        "a branch depends on a tensor's value",
        ("if x.sum() > 0:", "    return x + 1", "return x - 1"),
        "both sides computed, one selected",
        whole=("return torch.where(x.sum() > 0, x + 1, x - 1)",),
    ),
    "print": _Break(
        "print in a compiled function",
        ("y = torch.relu(x)", 'print(end="")', "return y + 1"),
        "no print",
        whole=("y = torch.relu(x)", "return y + 1"),
    ),
    "logger": _Break(
        "a logger in a compiled function",
        ("y = torch.relu(x)", 'log.debug("step")', "return y + 1"),
        "no logging",
        whole=("y = torch.relu(x)", "return y + 1"),
        head=("import logging", "", 'log = logging.getLogger("program")'),
    ),
    "nonzero": _Break(
        "an operator whose result size depends on the data",
        ("return torch.nonzero(x) + 1",),
        "such operators are captured",
        setting="torch._dynamo.config.capture_dynamic_output_shape_ops = True",
    ),
    "no_fake": _Break(
        "an operator without a fake implementation",
        ("return torch.relu(torch.ops.tracelens.shift(x))",),
        "the fake implementation registered",
        head=_OPERATOR,
        whole=("return torch.relu(torch.ops.tracelens.shift(x))",),
        whole_head=(*_OPERATOR, 'library._register_fake("shift", torch.empty_like)'),
    ),
    "recurrent": _Break(
        "a recurrent module in a compiled function",
        ("return layer(x[None])[0] + 1",),
        "recurrent modules are compiled",
        setting="torch._dynamo.config.allow_rnn = True",
        head=("layer = torch.nn.LSTM(8, 8).eval().requires_grad_(False)",),
    ),
    "attribute": _Break(
        "an attribute of a tensor is set",
        ("y = torch.relu(x)", "y.requires_grad = True", "return y + 1"),
        "no assignment",
        whole=("y = torch.relu(x)", "return y + 1"),
    ),
}


def build(finding: Finding, report: Report, form: str = "") -> Pair | None:
    """Return a function with a break of this form; None for forms that are none here."""
    del finding, report
    found = _BREAKS.get(form)
    if found is None:
        return None
    whole = found.whole or found.body
    head = found.whole_head or found.head
    return Pair(
        Program(found.title, _source(f"{found.title}.", found.head, found.body, "")),
        Program(
            f"{found.title}: {found.knob}",
            _source(f"{found.title}. Changed: {found.knob}.", head, whole, found.setting),
        ),
        Knob(found.knob),
        _breaks,
        Shown(("Graph break",), env={"TORCH_LOGS": "graph_breaks"}),
    )


def _breaks(report: Report) -> int:
    return sum(row["count"] for row in report.tables.get("graph_breaks", ()))


def _source(title: str, head: tuple[str, ...], body: tuple[str, ...], setting: str) -> str:
    """Return the program: the compiler runs without a backend, which is not what is measured."""
    imports = [line for line in head if line.startswith("import ")]
    rest = [line for line in head if not line.startswith("import ")]
    while rest and not rest[0]:
        del rest[0]
    lines = [f'"""{title[0].upper()}{title[1:]}"""', "", *imports, *([""] if imports else [])]
    lines += ["import torch", "", *([setting] if setting else []), *rest]
    lines += ["", "", "def work(x):", *(f"    {line}" for line in body)]
    lines += ["", "", "def setup():", "    torch.manual_seed(0)", "    x = torch.randn(16, 8)"]
    lines += ['    compiled = torch.compile(work, backend="eager")', ""]
    lines += ["    def step():", "        return compiled(x)", "", "    return step", ""]
    return "\n".join(lines)
