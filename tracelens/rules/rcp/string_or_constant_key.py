"""RCP006 string-or-constant-key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tracelens.dynamo.apart import elsewhere
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, ValueCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._branched import branches
from tracelens.rules.rcp._changes import Group, about, groups
from tracelens.rules.rcp._data import (
    BY_MODE,
    USUAL_LIMIT,
    ManyData,
    RecompileData,
    RecompileRule,
)
from tracelens.rules.rcp._flags import FLAGS, FLAGS_TO_PYTHON, joined
from tracelens.rules.rcp._state import is_made_by_the_first_call, is_set_in_the_config
from tracelens.rules.rcp._structure import COMPILE_PARTS, STRUCTURE, structure_of, told
from tracelens.rules.rcp._tell import MAX_GUARDS, listed, tell
from tracelens.rules.rcp._texts import is_text

__all__ = ["StringOrConstantKey"]


def _is_of_config(data: RecompileData) -> bool:
    return ".config." in data.source and data.most == 1 and data.values[:1] == ("None",)


def _is_chosen(data: RecompileData) -> bool:
    given = not (_is_of_config(data) or data.is_of_library or data.held in {STRUCTURE, FLAGS})
    return given and not _selects(data)


def _selects(data: RecompileData) -> bool:
    """Whether it selects what is called: ``self.adapters[name](x)``, ``getattr(F, name)(x)``."""
    return _is_selected(data.source, data.code)


def _is_selected(source: str, code: str) -> bool:
    name = re.escape(source)
    called = rf"\w\[{name}\]\(|\bgetattr\([^()]{{1,200}}, ?{name}\)\("
    return bool(source) and re.search(called, code) is not None


def _is_attribute(data: RecompileData) -> bool:
    """Whether a module holds it, and all its values are strings, of which None may be one."""
    names = [value for value in data.values if value != "None"]
    held = re.match(r"self\.[^(]{1,400}$", data.source) is not None
    return held and bool(names) and all(value[:1] in "'\"" for value in names)


#: Values from which on it is no mode of a few: the log names three, and a fourth came.
MANY = 3
#: Values from which on, where none came twice, a string looks as if each call had its own.
UNLIKE = 4


def _is_unlike(data: RecompileData) -> bool:
    """Whether it is a variable, and a string that no two entries of a function have in common."""
    values = data.values
    once = len(values) >= UNLIKE and min(data.most, MAX_GUARDS) <= len(values)
    return once and data.is_variable and all(value[:1] in "'\"" for value in values)


def _looks_up(data: RecompileData) -> bool:
    """Whether the line looks something up by it, or compares it: ``FACTORS[name]``."""
    name = re.escape(data.source)
    uses = (
        rf"\w\[{name}\]|\.get\({name}\b|\bgetattr\([^()]{{1,200}}, {name}\b"
        rf"|\b{name} (?:[!=]=|in|not in|is)(?: |$)|[!=]= {name}\b|^match {name}\b"
    )
    return re.search(uses, data.code.strip()) is not None


def _may_be_an_id(data: RecompileData) -> bool:
    return _is_chosen(data) and _is_unlike(data) and not _looks_up(data)


def _outside(data: RecompileData) -> str:
    if not _may_be_an_id(data):
        return "Look up or branch before the compiled function is called, and pass on the result."
    return (
        "Or, where the function looks something up by it, look that up before the call, and pass "
        "on the result as a tensor."
    )


def _has_names(data: RecompileData) -> bool:
    """Whether the entries were used up by names, or the like, and by nothing beside."""
    used_up = bool(data.limit) and len(data.values) >= data.limit - 1
    return used_up and not (is_text(data.source, data.values) or _has_others(data))


def _has_others(data: RecompileData) -> bool:
    """Whether each entry is for another number as well: there is no end of those."""
    return isinstance(data, ManyData) and bool(data.others)


class StringOrConstantKey(RecompileRule):
    """A string, ``None`` or ``True`` that a function gets is part of its guards, and it changed.

    ## Why it matters
    Dynamo compiles for the value of everything that is not a tensor or a number. A layer name, a
    mode or a key makes one entry per value, times the entries for sizes, and a function has eight.
    A value that the model itself sets in its first call makes every run compile twice.

    ## What it looks like
    The entry fails on ``==`` or ``is`` with a constant:

        [0/1] [__recompiles] Recompiling function get_loss in /home/ana/proj/loss.py:230
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: loss == 'labels'  # if loss not in loss_map:  #\
 proj/loss.py:237 in get_loss
        [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/bert.py:94
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: args[0].config.problem_type is None

    ## When it is harmless
    A flag or an optional argument with two values needs two entries: prefill and decode, with a
    mask and without. That is a note, unless the function has used up its entries. Two strings, and
    three values of any kind, are a remark.

    ## What to do
    Keep names and modes out of compiled code: look up or branch outside, or write one function
    per mode, each with a ``def`` of its own; leave out a name of the call's that is only logged or
    returned. Where the model sets a value of its config in the first call, set it before compiling.

    ## How a live run confirms it
    The same calls with the value looked up outside, or set before: the recompile is gone.

    ## See also
    RCP031 (attributes of the model that its first call sets), RCP019 (``training``), RCP001,
    RCP029.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP006"
    by_caller = True
    Data = ManyData
    name = "string-or-constant-key"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:names",
        confirms="the same calls with a tensor for what the string selects compile nothing again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "set-config",
            "Set the value of the config before the first call.",
            when="a value of the config that the first call sets",
            applies=_is_of_config,
            code=lambda data: (
                "model.config.problem_type = 'single_label_classification'"
                if "problem_type" in data.source
                else None
            ),
            basis="tested",
            proof="tests/advice/RCP006/set-config.py",
        ),
        COMPILE_PARTS,
        FLAGS_TO_PYTHON,
        Remedy(
            "entry-each",
            "It selects what is called, so that each value needs an entry of its own: raise the "
            "limit above their number, and each is compiled once.",
            when="a value that selects the module or function that is called, and used up the "
            "entries",
            applies=lambda data: _selects(data) and data.is_hit,
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 8}",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP006/entry-each.py",
        ),
        Remedy(
            "compile-chosen",
            "Compile what it selects from, each by itself, and what comes before and after, and "
            "leave the choice to Python.",
            when="a value that selects the module or function that is called",
            applies=lambda data: _selects(data) and not data.is_of_library,
            basis="tested",
            proof="tests/advice/RCP006/compile-chosen.py",
        ),
        Remedy(
            "keep-chosen",
            lambda data: (
                f"Where the program sets `{data.source}`, look up the tensors that it selects, "
                "keep them in attributes of the module, and use these in `forward`: tensors of one "
                "size and dtype need one entry, whatever was chosen."
            ),
            when="a name that an attribute of a module of the program's holds, at a line that is "
            "no branch",
            applies=lambda data: (
                _is_chosen(data) and _is_attribute(data) and not branches(data.code.strip())
            ),
            basis="tested",
            proof="tests/advice/RCP006/keep-chosen.py",
        ),
        Remedy(
            "keep-beside",
            lambda data: (
                f"Do not pass `{data.source}` in, where the compiled function only logs or "
                "returns it: each call seems to have its own. Keep it beside the call, and join it "
                "with the result there."
            ),
            when="a string that is a variable of the function's, four values or more and none "
            "twice, and the line looks nothing up by it",
            applies=_may_be_an_id,
            basis="tested",
            proof="tests/advice/RCP006/keep-beside.py",
        ),
        Remedy(
            "look-up-outside",
            _outside,
            when="strings and flags that a function of the program's gets",
            applies=lambda data: _is_chosen(data) and not _is_attribute(data),
            basis="tested",
            proof="tests/advice/RCP006/look-up-outside.py",
        ),
        Remedy(
            "one-per-value",
            "Or, where the values are few and known, write one function per value, each with a "
            "`def` of its own and without the branch: it has entries of its own then. To compile "
            "the same function, or a closure, once more shares them.",
            when="strings and flags that a function of the program's gets, other than strings of "
            "which each call may have its own, and than texts; no number has another value in each "
            "entry as well",
            applies=lambda data: (
                _is_chosen(data)
                and not (
                    _may_be_an_id(data) or is_text(data.source, data.values) or _has_others(data)
                )
            ),
            basis="tested",
            proof="tests/advice/RCP006/one-per-value.py",
        ),
        Remedy(
            "raise-limit",
            "Or, where the program has a fixed number of such values, raise the limit above it: "
            "each is compiled once.",
            when="names that used up the entries of the function, which looks something up by "
            "them; no number has another value in each as well",
            applies=lambda data: (
                data.is_hit
                and data.held != STRUCTURE
                and _has_names(data)
                and not (_selects(data) or _may_be_an_id(data))
            ),
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 8}",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP001/raise-limit.py",
        ),
        *elsewhere(
            lambda data: data.is_of_library and not _is_of_config(data),
            when="strings and flags that a library's function gets",
            proof="tests/advice/RCP017/compile-inner.py",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
    ) -> Iterator[Finding]:
        """Yield one finding per function and value, but for what RCP031 tells."""
        for group, flags in joined(groups(self.code, recompiles, limits)):
            if is_made_by_the_first_call(group):
                continue
            name, function = group.cause.what, group.history.function
            if walked := structure_of(group):
                yield told(self, group, walked, frames, trees)
                continue
            line = group.history.code(group.first, trees).code
            selects = _is_selected(name.strip("`"), line)
            severity = _severity(group, len(group.steps) if flags else 0, selects=selects)
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{function}` is compiled twice: {name} changes after the first call"
                if is_set_in_the_config(group)
                else f"`{function}` is compiled for each combination of the flags in `{flags}`"
                if flags
                else f"`{function}` is compiled for each value of {name}",
                message=_told(group, severity, flags),
                held=FLAGS if flags else "",
                severity=severity,
                harmless=_ONCE_EACH
                if severity is Severity.NONE and selects
                else _harmless(group, severity),
            )


def _is_flag(group: Group) -> bool:
    check = group.first.check
    return not isinstance(check, ValueCheck) or check.constant is not None


_ONCE_EACH = "each value selects what is called, and is compiled once: the limit was raised"


def _is_beside(group: Group) -> bool:
    """Whether it is None in some calls, and another value makes more of the entries than that."""
    checks = [step.check for _, step in group.steps]
    optional = all(isinstance(one, ValueCheck) and one.constant == "None" for one in checks)
    if not optional or group.most > BY_MODE:
        return False
    name = about(group.first)
    others = Counter(
        what for step in group.history.steps if not (what := about(step)).startswith(name)
    )
    return max(others.values(), default=0) > group.most


def _severity(group: Group, combinations: int, *, selects: bool) -> Severity:
    if selects and group.most >= USUAL_LIMIT and not group.is_hit:
        return Severity.NONE
    told = combinations or len(group.values)  # the last one that came is not among them
    is_crowded = group.is_crowded and not _is_beside(group)
    if is_set_in_the_config(group) or is_crowded or told >= MANY:
        return Severity.WARNING
    return Severity.NONE if _is_flag(group) and told == 1 else Severity.INFO


def _harmless(group: Group, severity: Severity) -> str | None:
    if severity is not Severity.NONE:
        return None
    return f"two values of {group.cause.what} need two entries"


def _told(group: Group, severity: Severity, flags: str = "") -> str:
    text = f"{group.cause.what} was {listed(group.values)}; a call with another value needed an "
    text += f"entry of its own: {group.times}."
    if flags:
        text = f"Dynamo compiles for the value of each flag in `{flags}` that is asked: "
        text += f"{group.times}, the first for {group.cause.what}."
    if is_set_in_the_config(group):
        text += " A value of the config that is set after the first call was most often set by the "
        text += "model itself, so that every run compiles twice."
    elif group.is_crowded and severity is not Severity.NONE:
        text += f" The function has {group.entries} entries of {group.limit}, which each further "
        text += "size or mode is multiplied by."
    elif severity is Severity.NONE:
        text += " Two values need two entries: expected."
    return text
