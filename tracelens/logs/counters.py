"""What Dynamo and Inductor count while they compile, printed by a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._literals import Evaluated
from tracelens.logs.explain import broken

__all__ = ["REASON", "CounterGroup", "Counters", "DynamoCounters", "EntryCount"]

#: How the reason of a graph break begins, as far as it tells one from a program's own text.
REASON = (
    r"(?:call_(?:function|method|module) |generic_jump |inline (?:in skipfiles|with __)"
    r"|builtin: \w{1,40} [\[(]|missing: (?:STORE|LOAD|DELETE|SETUP|WITH|IMPORT|YIELD|GET)_"
    r"|Tensor\.(?:item|numpy|tolist|backward)(?=['\"])|[Dd]ata[ -]dependent (?:operator|jump)"
    r"|[Dd]ynamic shape operator|Attempted to (?:call|inline) function |Failed to trace builtin )"
)

_GROUPS = "stats|frames|graph_break|inductor|aot_autograd|inline_call|unimplemented|unspec_call"
_COUNTED = (
    r"calls_captured|unique_graphs|fxgraph_cache_\w{1,40}|autograd_cache_\w{1,40}|async_compile_\w{1,40}"
    r"|pattern_matcher_\w{1,40}|extern_calls|benchmarking\.\w{1,40}|graph_break\w{0,20}"
)
#: How a program names the group that it prints.
_OF_GROUP = late(r"^[\w.]{1,60}\[['\"](\w{1,20})['\"]\](?: =|:) ?(?:Counter\()?(?=\{)")
#: A group of reasons that is printed by itself.
_REASONS = late(rf"(?:Counter\()?\{{['\"]{REASON}")


class Counters(Log):
    """``torch._dynamo.utils.counters``, or one of its groups."""

    name = "counters"
    switch = "print(torch._dynamo.utils.counters)"
    begins = re.compile(
        rf"(?:defaultdict\(<class 'collections\.Counter'>, )?\{{'(?:{_GROUPS})': Counter\("
        rf"|(?:Counter\()?\{{'(?:{_COUNTED})': \d"
        rf"|(?:Counter\()?\{{['\"]{REASON}[^\n]{{0,2000}}?['\"]: \d"
        rf"|[\w.]{{1,60}}\[['\"](?:{_GROUPS})['\"]\](?: =|:) ?(?:Counter\(\{{|\{{['\"])"
        rf"|(?:stats|inductor|aot_autograd) \[\('(?:{_COUNTED}|total|ok|not_ok)', \d"
        r"|frames \[\('total', \d|graph_break \[\(['\"]"
    )
    continues = re.compile(rf"(?:{_GROUPS}) \[(?:\]|\()|[ \t]{{1,40}}'(?:{_GROUPS})': Counter\(")

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the counters, and each reason of a graph break as the break that it is."""
        whole = f"{{'graph_break': Counter({text}" if _REASONS.match(text) else text
        records = super().parse(_OF_GROUP.sub(r"{'\1': Counter(", whole))
        told = (one for one in records if isinstance(one, DynamoCounters))
        return (*records, *(found for one in told for found in _breaks(one)))


class EntryCount(Record):
    """One counter."""

    name: Evaluated
    count: int


class CounterGroup(Record):
    """Counters of one part: ``stats``, ``inductor``, ``graph_break``, ..."""

    #: Empty where one group was printed by itself.
    group: Evaluated = ""
    entry_counts: tuple[EntryCount, ...] = ()


class DynamoCounters(Record):
    """All that was printed at once."""

    counter_groups: tuple[CounterGroup, ...] = ()

    def of(self, *groups: str) -> dict[str, int]:
        """Return the counters of these groups by their names."""
        return {
            entry.name: entry.count
            for one in self.counter_groups
            if one.group in groups
            for entry in one.entry_counts
        }


def _breaks(counters: DynamoCounters) -> Iterator[Record]:
    # Where an inlined function breaks the graph, its caller does so as well: one of them is told.
    for reason in counters.of("graph_break") or counters.of("inline_call"):
        first, *rest = reason.split("\n")
        yield from broken(first, [line.strip() for line in rest])
