"""Guard failures as a program: a function called with the recorded sizes or values in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest

from tracelens.experiment import Knob
from tracelens.live.micro import Pair, Program, Shown, _objects, _values
from tracelens.live.micro._calls import Calls, source
from tracelens.live.micro._reading import records
from tracelens.logs.recompiles import Check, Recompile, Recompiles
from tracelens.report import Finding, Report

__all__ = ["build", "checks"]


def build(finding: Finding, report: Report) -> Pair | None:
    """Return the recorded sequence of calls; None where the evidence does not tell the values."""
    del report
    found = list(checks(finding))
    make = _MAKERS.get(finding.code)
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


#: Rule -> what makes the calls whose guards failed as recorded.
_MAKERS: Mapping[str, Callable[[list[Check]], Calls | None]] = {
    "RCP002": _values.sizes,
    "RCP003": _values.first,
    "RCP004": _values.integers,
    "RCP005": _values.floats,
    "RCP006": _objects.names,
    "RCP007": _values.attribute,
    "RCP008": _objects.identities,
    "RCP009": _objects.classes,
    "RCP010": _objects.modes,
    "RCP011": _objects.kinds,
    "RCP012": _values.gradients,
    "RCP013": _values.dtypes,
    "RCP014": _values.ranks,
    "RCP015": _values.strides,
    "RCP016": _values.ones,
    "RCP017": _values.lengths,
    "RCP020": _objects.aliases,
    "RCP022": _objects.hyperparameters,
    "RCP023": _objects.branches,
    "RCP026": _objects.closures,
    "RCP027": _objects.keys,
    "RCP031": _objects.states,
}
