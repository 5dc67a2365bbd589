"""What the rules about graph breaks say of a break that is an error under ``fullgraph=True``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache

from tracelens.dynamo.breaks import sites
from tracelens.evidence import Place, Seen, Table
from tracelens.grammars import Unreadable
from tracelens.logs import Record, kind
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.report import Advice
from tracelens.rules import Rule, gbr
from tracelens.rules.err._failure_rule import FailureData, Traced
from tracelens.rules.gbr._break_data import break_data
from tracelens.rules.gbr._drawn import DRAW_OUTSIDE
from tracelens.rules.gbr._values import VALUES
from tracelens.rules.gbr.break_count_summary import hints_of

__all__ = ["same_break"]

#: Rules about breaks as a whole, which have nothing to say of one.
_OF_ALL = frozenset({"GBR012", "GBR013", "GBR020", "GBR021", "GBR022"})

#: A function that is skipped is torch's own: the file behind it says so.
_OF_TORCH = re.compile(r"in (?:skip_files|file) \S{0,300}[\\/]torch[\\/]\S{1,300}\.py")


def same_break(data: FailureData) -> tuple[Advice, ...]:
    """Return the advice of the rule that knows the break; none where no rule does."""
    row = _as_break(data)
    if row is None:
        return ()
    table = Table([row])
    if row.record.family == "other":
        return _of_value(table)
    for rule in _about_breaks():
        wanted = list(inspect.signature(rule.check).parameters.values())
        if rule.code in _OF_ALL or not wanted or wanted[0].name != "breaks":
            continue
        rest: dict[str, Table[Record]] = {
            one.name: Table() for one in wanted[1:] if one.name != "evidence"
        }
        if len(rest) < len(wanted) - 1:
            continue
        for finding in rule.check(table, **rest):
            if _OF_TORCH.search(data.message):
                return tuple(one for one in finding.advice if "custom-op" not in one.id)
            return finding.advice
    return ()


def _of_value(table: Table[GraphBreak]) -> tuple[Advice, ...]:
    """Return what is known of what a graph cannot hold, else what torch hints at."""
    site = next(iter(sites(table)), None)
    if site is None:
        return ()
    told = break_data(site)
    found = [one.advice(told) for one in (*VALUES, DRAW_OUTSIDE) if one.applies(told)]
    hints = () if found or told.package else hints_of(site)
    return (*found, *(Advice(id="hint", text=f"Torch says: {hint}") for hint in hints))


@cache
def _about_breaks() -> tuple[Rule, ...]:
    """Return the rules about graph breaks, by code."""
    names = (f"{gbr.__name__}.{info.name}" for info in pkgutil.iter_modules(gbr.__path__))
    classes = (cls for name in names for cls in vars(importlib.import_module(name)).values())
    rules = {cls for cls in classes if isinstance(cls, type) and issubclass(cls, Rule) and cls.code}
    return tuple(sorted((rule() for rule in rules), key=lambda rule: rule.code))


def _as_break(data: FailureData) -> Seen[GraphBreak] | None:
    """Return the exception's message as the record of the same break in the log of breaks."""
    alone = Traced(file=data.file or "model.py", line=data.line, function=data.function)
    stack = data.stack or (alone,)
    last = stack[-1]
    text = (
        f"Graph break in user code at {last.file}:{last.line}\n"
        f"Graph Break Reason: {_indented(data.message)}{_context(data)}\nUser code traceback:"
    )
    for one in stack:
        text += f'\n  File "{one.file}", line {one.line}, in {one.function or "forward"}'
        text += f"\n    {one.code.strip()}" if one.code.strip() else ""
    try:
        records = kind("graph_breaks").parse(text)
    except Unreadable:
        return None
    found = [one for one in records if isinstance(one, GraphBreak)]
    return Seen(found[0], 1, [Place("", 1)], text) if found else None


def _context(data: FailureData) -> str:
    context = data.facts.get("context", "")
    return f"\n  Developer debug context: {context}\n" if context not in data.message else ""


def _indented(message: str) -> str:
    """Give what belongs to the first line its indent back."""
    first, *rest = message.split("\n")
    return "\n".join([first, *(f"  {line.strip()}" for line in rest), ""])
