"""Guard failures as a program: a function called with the recorded sizes or values in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from tracelens.experiment import Knob
from tracelens.live.micro import Pair, Program, Shown
from tracelens.live.micro._reading import records
from tracelens.logs.recompiles import (
    Check,
    LengthCheck,
    RangeCheck,
    Recompile,
    Recompiles,
    TensorMismatch,
    ValueCheck,
)
from tracelens.report import Finding, Report

__all__ = ["build", "checks"]

#: Values larger than this are not turned into sizes.
MAX_SIZE = 1 << 16
#: torch's names for the data types in guards.
_DTYPES = {
    "Float": "torch.float32",
    "Double": "torch.float64",
    "Half": "torch.float16",
    "BFloat16": "torch.bfloat16",
    "Int": "torch.int32",
    "Long": "torch.int64",
}
_STATIC = "dynamic=False"


@dataclass(frozen=True)
class _Calls:
    """A function, and what it is called with, one call after the other."""

    title: str
    #: The arguments of each call, as Python.
    arguments: tuple[str, ...]
    #: What is done about it.
    knob: str
    parameters: str = "x"
    body: tuple[str, ...] = ("return torch.relu(x) + 1",)
    #: Keyword arguments of ``torch.compile``.
    options: str = ""
    #: The same with the advice followed; as they are where empty.
    changed_arguments: tuple[str, ...] = ()
    changed_options: str | None = None
    changed_body: tuple[str, ...] = ()
    setting: str = ""
    head: tuple[str, ...] = ()
    structure: Literal["gone", "fewer"] = "gone"


def build(finding: Finding, report: Report) -> Pair | None:
    """Return the recorded sequence of calls; None where the evidence does not tell the values."""
    del report
    found = list(checks(finding))
    make = _MAKERS.get(finding.code)
    calls = make(found) if make is not None and found else None
    if calls is None or len(set(calls.arguments)) < 2:
        return None
    changed = replace(
        calls,
        arguments=calls.changed_arguments or calls.arguments,
        options=calls.options if calls.changed_options is None else calls.changed_options,
        body=calls.changed_body or calls.body,
    )
    return Pair(
        Program(calls.title, _source(f"{calls.title}.", calls)),
        Program(
            f"{calls.title}: {calls.knob}",
            _source(f"{calls.title}. Changed: {calls.knob}.", changed, calls.setting),
        ),
        Knob(calls.knob),
        _count,
        Shown(
            ("[__recompiles]", "    - 0/"),
            env={"TORCH_LOGS": "recompiles"},
            instead=("[__recompiles]",),
        ),
        structure=calls.structure,
    )


def _count(report: Report) -> int:
    return sum(row["count"] for row in report.tables.get("recompiles", ()))


def checks(finding: Finding) -> Iterator[Check]:
    """Yield the guards that the evidence shows as failed, in order.

    A line of evidence is one failure of a record; the grammar reads it behind a heading of ours.
    """
    for line in finding.evidence:
        text = line.text
        if not text.lstrip().startswith("- "):
            continue
        heading = (
            "Recompiling function f in f.py:1\n    triggered by the following guard failure(s):"
        )
        for record in records(Recompiles, f"{heading}\n{text}"):
            if isinstance(record, Recompile) and record.newest and record.newest.check:
                yield record.newest.check


def _chain(found: list[TensorMismatch]) -> list[str]:
    """Return the expected and actual values in order, without repetitions."""
    texts = [text for check in found for text in (check.expected, check.actual) if text]
    return [text for text, last in zip(texts, ["", *texts], strict=False) if text != last]


def _numbers(texts: Iterable[str]) -> list[int]:
    found = [int(text) for text in texts if text.isdecimal() and len(text) < 10]
    return [number for number in found if 0 < number <= MAX_SIZE]


def _mismatches(found: list[Check], what: str) -> list[TensorMismatch]:
    return [check for check in found if isinstance(check, TensorMismatch) and check.what == what]


def _sizes(checked: list[Check]) -> _Calls | None:
    """Return a tensor whose size changes: always static, or for the first time."""
    found = _mismatches(checked, "size")
    found = [check for check in found if check.index == found[0].index]
    sizes = _numbers(_chain(found))
    if not found or found[0].index is None or not 0 <= found[0].index < 8:
        return None
    index = int(found[0].index)
    shapes = [tuple([8] * index + [size] + [8] * (index == 0)) for size in sizes]
    made = tuple(f"torch.randn({shape})" for shape in shapes)
    if len(sizes) > 2:
        title = f"dimension {index} of a tensor changes, compiled with {_STATIC}"
        return _Calls(
            title, made, "dynamic shapes", options=_STATIC, changed_options="dynamic=True"
        )
    return _Calls(
        f"dimension {index} of a tensor changes for the first time",
        made,
        "dynamic shapes from the first call",
        changed_options="dynamic=True",
    )


def _first(found: list[Check]) -> _Calls | None:
    """Return what changed for the first time: a size, or an integer."""
    return _sizes(found) or _integers(found)


def _whole(found: list[Check]) -> list[int]:
    return [
        check.integer
        for check in found
        if isinstance(check, ValueCheck) and check.integer is not None
    ]


def _integers(found: list[Check]) -> _Calls | None:
    """Return an integer argument that takes the recorded values, and one more."""
    values = _whole(found)
    if not values or any(abs(value) > MAX_SIZE for value in values):
        return None
    values = [*values, max(values) + 1]
    static = len(values) > 2
    words = f", compiled with {_STATIC}" if static else ""
    return _Calls(
        f"an integer argument takes {len(values)} values{words}",
        tuple(f"x, {value!r}" for value in values),
        "the number is a tensor",
        parameters="x, n",
        body=("return torch.relu(x) + n",),
        options=_STATIC if static else "",
        changed_arguments=tuple(f"x, torch.tensor({value!r})" for value in values),
    )


def _floats(found: list[Check]) -> _Calls | None:
    """Return a float argument that takes the recorded values, and one more."""
    values = [
        check.number
        for check in found
        if isinstance(check, ValueCheck) and check.number is not None
    ]
    if not values:
        return None
    values = [*values, max(values) + 1.0]
    return _Calls(
        f"a float argument takes {len(values)} values, compiled with {_STATIC}",
        tuple(f"x, {float(value)!r}" for value in values),
        "the number is a tensor",
        parameters="x, scale",
        body=("return torch.relu(x) * scale",),
        options=_STATIC,
        changed_arguments=tuple(f"x, torch.tensor({float(value)!r})" for value in values),
    )


def _attribute(found: list[Check]) -> _Calls | None:
    """Return an integer attribute of a module that takes the recorded values, and one more."""
    values = _whole(found)
    if not values or any(abs(value) > MAX_SIZE for value in values):
        return None
    values = [*values, max(values) + 1]
    return _Calls(
        f"an integer attribute of a module takes {len(values)} values",
        tuple(f"at(layer, {value!r}), x" for value in values),
        "integer attributes of modules are dynamic",
        parameters="layer, x",
        body=("return torch.relu(x) + layer.step",),
        setting="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
        structure="fewer",  # the first change compiles once more
        head=(
            "layer = torch.nn.Identity()",
            "",
            "",
            "def at(layer, step):",
            "    layer.step = step",
            "    return layer",
        ),
    )


def _gradients(found: list[Check]) -> _Calls:
    del found
    return _Calls(
        "a tensor with and without a gradient",
        ("torch.randn(16, 8)", "torch.randn(16, 8, requires_grad=True)"),
        "detached before the call",
        changed_arguments=(
            "torch.randn(16, 8)",
            "torch.randn(16, 8, requires_grad=True).detach()",
        ),
    )


def _dtypes(found: list[Check]) -> _Calls | None:
    texts = _chain(_mismatches(found, "dtype"))
    names = [_DTYPES[text] for text in texts if text in _DTYPES]
    made = tuple(f"torch.ones((16, 8), dtype={name})" for name in names)
    return _Calls(
        "a tensor of several data types",
        made,
        "converted before the call",
        changed_arguments=tuple(f"{text}.to({names[0]})" for text in made),
    )


def _ranks(found: list[Check]) -> _Calls | None:
    texts = _chain(_mismatches(found, "rank"))
    ranks = [rank for rank in _numbers(texts) if rank <= 6]
    made = tuple(f"torch.randn({(4,) * (rank - 1) + (4 ** (7 - rank),)})" for rank in ranks)
    return _Calls(
        "a tensor with a changing number of dimensions",
        made,
        "flattened before the call",
        changed_arguments=tuple(f"{text}.flatten()" for text in made),
    )


def _strides(found: list[Check]) -> _Calls | None:
    if not _mismatches(found, "stride"):
        return None
    return _Calls(
        "a tensor in several memory layouts",
        ("torch.randn(16, 16)", "torch.randn(16, 16).t()"),
        "made contiguous before the call",
        changed_arguments=("torch.randn(16, 16)", "torch.randn(16, 16).t().contiguous()"),
    )


def _ones(found: list[Check]) -> _Calls | None:
    if not any(isinstance(check, RangeCheck) and check.low == 2 for check in found):
        return None
    sizes = (4, 1)
    return _Calls(
        "a size of 1 after another, compiled with dynamic=True",
        tuple(f"torch.randn({(size, 8)})" for size in sizes),
        "padded to 2 before the call",
        options="dynamic=True",
        changed_arguments=tuple(f"torch.randn({(max(2, size), 8)})" for size in sizes),
    )


def _lengths(found: list[Check]) -> _Calls | None:
    lengths = [check.length for check in found if isinstance(check, LengthCheck)]
    lengths = [length for length in lengths if 0 < length <= 64]
    if not lengths:
        return None
    # A length of 1 would be compiled by itself even where sizes are dynamic.
    lengths = [length for length in (*lengths, max(lengths) + 1, max(lengths) + 2) if length > 1]
    return _Calls(
        f"a list takes {len(lengths)} lengths",
        tuple(f"[x] * {int(length)}" for length in lengths),
        "stacked into a tensor, with dynamic shapes",
        parameters="xs",
        body=("return torch.stack(xs).sum(0)",),
        changed_arguments=tuple(f"torch.stack([x] * {int(length)})" for length in lengths),
        changed_options="dynamic=True",
        changed_body=("return xs.sum(0)",),
    )


#: Rule -> what makes the calls whose guards failed as recorded.
_MAKERS: Mapping[str, Callable[[list[Check]], _Calls | None]] = {
    "RCP002": _sizes,
    "RCP003": _first,
    "RCP004": _integers,
    "RCP005": _floats,
    "RCP007": _attribute,
    "RCP012": _gradients,
    "RCP013": _dtypes,
    "RCP014": _ranks,
    "RCP015": _strides,
    "RCP016": _ones,
    "RCP017": _lengths,
}


def _source(title: str, calls: _Calls, setting: str = "") -> str:
    """Return the program: each step starts anew, and makes all the calls.

    The compiler runs without a backend: what is counted and timed is Dynamo's part.
    """
    keywords = ", ".join(filter(None, ('backend="eager"', calls.options)))
    lines = [f'"""{title[0].upper()}{title[1:]}"""', "", "import torch", ""]
    lines += [*([setting] if setting else []), *calls.head]
    lines += ["", "", f"def work({calls.parameters}):", *(f"    {line}" for line in calls.body)]
    lines += ["", "", "def setup():", "    torch.manual_seed(0)", "    x = torch.randn(16, 8)", ""]
    lines += ["    def step():", "        torch._dynamo.reset()"]
    lines += [f"        compiled = torch.compile(work, {keywords})"]
    lines += [f"        compiled({each})" for each in calls.arguments]
    lines += ["", "    return step", ""]
    return "\n".join(lines)
