"""GRD002 guard-count-large."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.frames.guard_entries import PLAUSIBLE, GuardedEntry, by_function, root_line
from tracelens.logs.guards import GuardTree
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.grd._data import (
    MIN_US,
    GuardData,
    calls_of,
    guard_data,
    is_lost_in,
    modules_changed,
    slow_guards,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracelens.logs.recompiles import Recompile

__all__ = ["GuardCountLarge"]

#: Guards of one entry. Transformers of two layers have 500 to 800.
MANY = 1000
#: Kinds of guards, sources and modules that are listed.
MAX_LISTED = 3
#: A child on the way from the model to a value.
_CHILD = re.compile(r"\._modules\['([^'\]]{1,80})'\]")


def _matters(data: GuardData) -> bool:
    """Whether a check is known to take long."""
    return data.us is not None and data.us >= MIN_US


class GuardCountLarge(Rule):
    """A compiled function has thousands of guards.

    ## Why it matters
    Each guard is cheap, some tenths of a microsecond, and all of them are checked at every call.
    Thousands come from modules with many small parts and from configurations that are read in each
    of them; they also make a compilation slower, and each of them can fail.

    ## What it looks like
    A tree per compiled entry, with a manager for every object on the way to a value and below it
    the guards (torch 2.4 and later):

        [0/0] [__guards] TREE_GUARD_MANAGER:
        [0/0] [__guards] +- RootGuardManager
        [0/0] [__guards] | +- GuardManager: source=L['self'], accessed_by=FrameLocalsGuardAccessor(key='self', framelocals_idx=0), type=<class 'model.UNet'>, tag_safe=(True, False)
        [0/0] [__guards] | | +- TYPE_MATCH: ___check_type_id(L['self'], 94865264879952), type=<class 'model.UNet'>  # sample = self.conv_in(sample)  # proj/model.py:8 in forward

    ## When it is harmless
    When a call takes long. GRD001 tells how long one check takes, where torch measured it: below
    0.8 ms, or a fiftieth of a call where the log tells what that takes, it is a note. Fewer than
    1,000 guards in an entry are not reported; torch 2.11 and later count five more per tensor,
    which cost little.

    ## What to do
    Let modules read what they need from their configuration in ``__init__``; compile a larger
    region once instead of its parts. The settings of GRD001 leave guards out, and are unsafe.

    ## How a live run confirms it
    As for GRD001.

    ## See also
    GRD001 (what it costs), TRC004 (measured in a trace).
    <https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_guard_overhead.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "GRD002"
    name = "guard-count-large"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = GuardData
    remedies = (
        Remedy(
            "flat-configuration",
            "Read configurations in `__init__`, and keep what `forward` needs in plain "
            "attributes: each dictionary and each nested object on the way is guarded.",
            when="a fifth of the guards are on values and containers that lines of your own read, "
            "and a check is known to take 0.8 ms or more",
            applies=lambda data: (
                _matters(data)
                and not user_code.package(data.file or "")
                and (data.own_values or 0) >= data.guards / 5
            ),
            proof="tests/advice/GRD002/flat-configuration.py",
            basis="tested",
        ),
        Remedy(
            "skip-module-guards",
            "If no module changes after the first call, leave out the guards on modules. Unsafe: a "
            "change gives wrong results without a word. A `mode=` raises beside `options=`: put "
            "`**torch._inductor.list_mode_options(mode)` into the options in its place.",
            code="skip = torch.compiler.skip_guard_on_all_nn_modules_unsafe\n"
            'model = torch.compile(model, options={"guard_filter_fn": skip})',
            when="guards on modules, none of which failed, and a check is known to take 0.8 ms or "
            "more",
            applies=lambda data: _matters(data) and data.modules and not data.changed,
            since="2.8",
            basis="tested",
            proof="tests/advice/GRD002/skip-module-guards.py",
        ),
        Remedy(
            "measure",
            "See what one check takes: GRD001, or the lookups in a trace (TRC004).",
            when="torch did not measure the check",
            applies=lambda data: data.us is None,
            env='TORCH_LOGS="guards"',
            since="2.6",
            basis="untestable",
            proof="it records more",
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the time that they take, where torch measured it and it is much."""
        yield slow_guards(finding)

    def check(
        self,
        entries: Table[GuardedEntry],
        *,
        recompiles: Table[Recompile],
        frames: Table[Frame],
    ) -> Iterator[Finding]:
        """Yield one finding per function."""
        changed, calls = modules_changed(recompiles), calls_of(frames)
        large = [entry for entry in entries if entry.record.checks >= MANY]
        for group in by_function(large):
            yield self._finding(group, calls, changed=changed)

    def _finding(
        self,
        group: list[Seen[GuardedEntry]],
        calls: Mapping[tuple[str, str, str], float],
        *,
        changed: bool,
    ) -> Finding:
        largest = max(group, key=lambda seen: seen.record.checks)
        entry = largest.record
        tree = entry.tree
        kinds = f" Most are {_listed(_kinds(tree))}." if tree else ""
        modules = f" By origin: {_listed(_sources(tree))}." if tree else ""
        modules += _by_module(tree) if tree else ""
        several = f" {len(group)} entries of it have as many." if len(group) > 1 else ""
        times = [one.record.plausible_us for one in group]
        us = min((one for one in times if one is not None), default=None)
        data = guard_data(entry).model_copy(update={"us": us, "changed": changed})
        most = PLAUSIBLE * entry.checks if us is None else us
        harmless = None
        if us is not None and us < MIN_US:
            harmless = f"one check of them took {us / 1000:.2g} ms"
        elif us is None and entry.us is not None:
            harmless = "what a check takes is not known: the reading is too long for guards"
        elif is_lost_in(most, largest, calls):
            harmless = f"one check of them takes {most / 1000:.2g} ms at most, a call much longer"
        return self.finding(
            *entry.subject,
            title=f"{entry.label} has {entry.checks:,} guards",
            message=f"They are checked at each call.{kinds}{modules}{several}",
            count=len(group),
            where=entry.where,
            evidence=[
                largest.quote(f"{entry.checks} guards, entry {entry.id}", at=root_line(largest))
            ],
            severity=None if harmless is None else Severity.NONE,
            harmless=harmless,
            advice=() if harmless else self.advise(data),
            data=data,
        )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common(MAX_LISTED))


def _kinds(tree: GuardTree) -> Counter[str]:
    return Counter(f"`{guard.kind}`" for guard in tree.guards if not guard.is_manager)


def _sources(tree: GuardTree) -> Counter[str]:
    """Count the guards by the argument or global that their value comes from."""
    return Counter(f"on `{_root(source)}`" for source, _ in tree.checks() if source)


def _by_module(tree: GuardTree) -> str:
    """Tell which modules bring the most guards, those of a list together: ``layers.*.norm``."""
    guards: Counter[str] = Counter()
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for source, _ in tree.checks():
        path = _CHILD.findall(source)
        if path:
            name = ".".join("*" if child.isdecimal() else child for child in path)
            guards[name] += 1
            modules[name].add(".".join(path))
    if not guards:
        return ""
    told = (
        f"{count:,} in `{name}`"
        + (f" ({len(modules[name])} modules)" if len(modules[name]) > 1 else "")
        for name, count in guards.most_common(MAX_LISTED)
    )
    return f" By module: {', '.join(told)}."


def _root(source: str) -> str:
    head, bracket, _ = source.removeprefix("list(dict.keys(").partition("]")
    return head + bracket
