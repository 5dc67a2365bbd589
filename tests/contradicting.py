"""What a reader of a report would hold against its advice, looked for by script."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.advice.knobs import OLDEST, first_release, named
from tracelens.judging.fitting import assigned
from tracelens.report import Advice, Finding, Report
from tracelens.report.programs import is_library

__all__ = ["against", "not_yet_there"]

#: What the code of an advice may name without defining it.
_KNOWN = {"model", "torch", "compiled", "optimizer"} | set(dir(builtins))
#: A Python file, or a folder of packages, that somebody is to edit.
_EDIT = re.compile(r"(?:site|dist)-packages/\S+\.py")
#: The same thing asked for and asked not to be.
_OPPOSITES = (
    (re.compile(r"\bdynamic=True\b"), re.compile(r"\bdynamic=False\b")),
    (re.compile(r"\brecord_shapes=True\b"), re.compile(r"\brecord_shapes=False\b")),
    (re.compile(r"\bmark_static\("), re.compile(r"\bmark_dynamic\(")),
)


def against(report: Report, log: str) -> Iterator[str]:
    """Yield what the advice of a report gets wrong.

    Args:
        report: Of one log, or of those of one run.
        log: Their text.
    """
    shown = [finding for finding in report.findings if not finding.suppressed_by]
    yield from _undone(shown)
    for finding in shown:
        for advice in finding.advice:
            label = f"{finding.code}/{advice.id}"
            for reason in (
                *_lacking(advice, log),
                *_applied(advice, log),
                *_of_a_library(finding, advice),
            ):
                yield f"{label}: {reason}"


def not_yet_there(advice: Advice) -> Iterator[str]:
    """Yield the settings that the first torch of an advice does not have."""
    first = tuple(int(part) for part in re.findall(r"\d+", advice.since or "")[:2]) or OLDEST
    # A variable beside a setting is another way to the same.
    for text in (advice.setting or advice.env or "", advice.code or ""):
        for knob in named(text):
            begins = first_release(knob)
            if not begins:
                yield f"`{knob}` is in no torch"
            elif begins > max(first, OLDEST):
                yield f"`{knob}` is in torch {'.'.join(map(str, begins))} and later"


def _lacking(advice: Advice, log: str) -> Iterator[str]:
    """Yield what is not there, unless the log itself names it."""
    lower = log.lower()
    # What is to be switched off, or is called as this torch calls it, stands there.
    words = re.findall(r"[a-z]\w{9,}", f"{advice.setting or ''} {advice.code or ''}")
    if not any(word in lower for word in words if "config" not in word):
        yield from not_yet_there(advice)


def _applied(advice: Advice, log: str) -> Iterator[str]:
    """Yield what an advice sets and the log shows to be set."""
    given = assigned(advice)
    if all(_shows(log, name, value) for name, value in given.items()) and given:
        yield f"the log shows {given}"
    freezes = given.get("torch._inductor.config.freezing") == "True"
    if freezes and "_frozen_param" in log:
        yield "the log shows frozen weights"


def _shows(log: str, name: str, value: str) -> bool:
    """Tell whether a log begins a line with a variable, or holds a setting in a configuration."""
    if name.isupper():
        line = rf"^(?:export |declare -x |\+ )?{name}=[\"']?{re.escape(value)}\b"
        return re.search(line, log, re.MULTILINE) is not None
    name = name.partition(".config.")[2]
    told = value.lower() if value in {"True", "False"} else value
    held = rf'\\"{re.escape(name)}\\": {re.escape(told)}\b'
    return bool(name) and re.search(held, log) is not None


def _of_a_library(finding: Finding, advice: Advice) -> Iterator[str]:
    """Yield what only an edit of a library's code could do."""
    if finding.where is None or not is_library(finding.where.file):
        return
    if found := _EDIT.search(advice.text):
        yield f"edit {found[0]}"
    if free := sorted(_free_names(advice.code or "")):
        yield f"the program has no {free}: the finding is in {finding.where.file}"


def _free_names(code: str) -> set[str]:
    """Return the names that a snippet uses and neither defines nor imports."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return set()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    # `value = value.clone()`: what it stores was there before.
    first = {node.id for node in names if isinstance(node.ctx, ast.Load) and _is_own(node, tree)}
    return (used - made - _KNOWN) | (first - _KNOWN)


def _is_own(name: ast.Name, tree: ast.Module) -> bool:
    """Tell whether a name is read by the statement that first stores it."""
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        targets = {node.id for node in statement.targets if isinstance(node, ast.Name)}
        if name.id in targets:
            return any(node is name for node in ast.walk(statement.value))
    return False


def _undone(findings: list[Finding]) -> Iterator[str]:
    """Yield what two findings of one run want otherwise."""
    wanted: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    sides: defaultdict[tuple[str, int], dict[bool, str]] = defaultdict(dict)
    for finding in findings:
        for advice in finding.advice:
            if advice.text.startswith("Not together with "):
                continue
            label = f"{finding.code}/{advice.id}"
            for name, value in assigned(advice).items():
                wanted[finding.run, name].setdefault(value, finding.code)
            told = f"{advice.code or ''} {advice.setting or ''}"
            for number, (one, other) in enumerate(_OPPOSITES):
                for side, pattern in ((True, one), (False, other)):
                    if pattern.search(told):
                        sides[finding.run, number].setdefault(side, label)
    for (_, name), values in wanted.items():
        if len(set(values.values())) > 1:
            yield f"{name}: {values}"
    for pair in sides.values():
        if len(pair) > 1 and len({label.partition("/")[0] for label in pair.values()}) > 1:
            yield f"opposites: {pair}"
