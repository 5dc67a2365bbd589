"""Guard failures as a program: a function called with the recorded sizes or values in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import zip_longest

from tracelens.experiment import Knob
from tracelens.live.micro import Pair, Program, Shown, _objects, _values
from tracelens.live.micro._calls import Calls, Failed, source
from tracelens.report import Finding, Report

__all__ = ["build", "failed"]

#: Failures that are read: the limit of torch is eight entries per function.
MOST = 8


def build(finding: Finding, report: Report, form: str = "") -> Pair | None:
    """Return the recorded sequence of calls; None where the data do not tell the values."""
    del report
    found = failed(finding)
    make = _MAKERS.get(form)
    calls = make(found) if make is not None and found else None
    if calls is None or len(set(zip_longest(calls.arguments, calls.contexts))) < 2:
        return None
    changed = replace(
        calls,
        arguments=calls.changed_arguments or calls.arguments,
        options=calls.options if calls.changed_options is None else calls.changed_options,
        body=calls.changed_body or calls.body,
        contexts=calls.changed_contexts or calls.contexts,
    )
    return Pair(
        Program(calls.title, source(f"{calls.title}.", calls)),
        Program(
            f"{calls.title}: {calls.knob}",
            source(f"{calls.title}. Changed: {calls.knob}.", changed, calls.setting),
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


def failed(finding: Finding) -> list[Failed]:
    """Return the guards that the finding's data name as failed, in order."""
    told = finding.data.get("guards", ())
    return [Failed.of(one) for one in told[:MOST]] if isinstance(told, list | tuple) else []


#: Form -> what makes the calls whose guards failed as recorded.
_MAKERS: Mapping[str, Callable[[list[Failed]], Calls | None]] = {
    maker.__name__: maker
    for maker in (
        _values.sizes, _values.first, _values.integers, _values.floats, _values.attribute,
        _values.gradients, _values.dtypes, _values.ranks, _values.strides, _values.ones,
        _values.lengths, _objects.names, _objects.identities, _objects.classes, _objects.modes,
        _objects.kinds, _objects.aliases, _objects.hyperparameters, _objects.branches,
        _objects.closures, _objects.keys, _objects.states,
    )
}  # fmt: skip
