"""Compiled entries and their guards: how many there are, and how long torch took to check them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, SkipValidation

from tracelens.dynamo import user_code
from tracelens.evidence import Place, Seen, Table
from tracelens.frames import Frame
from tracelens.late import late
from tracelens.logs import Joined
from tracelens.logs._stack import StackFrame
from tracelens.logs.guards import GuardLatency, GuardTree
from tracelens.report import Where

if TYPE_CHECKING:
    from tracelens.logs.torch_trace import CompilationMetrics

__all__ = ["PLAUSIBLE", "GuardedEntry", "by_function", "root_line"]

Key = tuple[str, str, str]

#: What ``self.conv`` is, in the guards of a method of the module that holds it; ``fn`` is what
#: torch's own wrapper calls.
_PART = late(r"L\['(?:self|fn)'\](?:\._modules\['\w{1,80}'\]|\.\w{1,80})")

#: Microseconds per guard that only a busy machine or cold memory explains.
PLAUSIBLE = 1.5


class GuardedEntry(Joined):
    """One compiled entry, from the text log or from the structured one."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    #: ``0/1``; empty where the log does not say.
    id: str
    #: How many guards check something.
    checks: int
    #: Microseconds of one check of them all, right after the compilation.
    us: float | None = None
    function: str | None = None
    file: str | None = None
    line: int | None = None
    tree: SkipValidation[GuardTree | None] = None

    @property
    def plausible_us(self) -> float | None:
        """The same, unless only a busy machine or cold memory explains it: torch checks once."""
        likely = self.us is not None and self.us <= PLAUSIBLE * self.checks
        return self.us if likely else None

    @property
    def label(self) -> str:
        """The function, or the number of its frame."""
        return f"`{self.function}`" if self.function else f"frame {self.number or '?'}"

    @property
    def number(self) -> str:
        """The number of the function: ``0`` of ``0/1``."""
        return self.id.partition("/")[0]

    @property
    def subject(self) -> tuple[str, str]:
        """What a finding is about: the function and its file, else the frame."""
        if self.function and self.file:
            return self.function, user_code.short(self.file)
        return "", self.number

    @property
    def where(self) -> Where | None:
        """The function."""
        if not self.file:
            return None
        return Where(file=self.file, line=self.line, function=self.function)

    @classmethod
    def join(
        cls,
        trees: Table[GuardTree],
        *,
        latencies: Table[GuardLatency],
        metrics: Table[CompilationMetrics],
        frames: Table[Frame],
    ) -> Iterator[Seen[GuardedEntry]]:
        """Yield one entry per compilation whose guards any log knows."""
        names = _names(frames)
        times = _times(trees, latencies)
        known = set()
        for place, seen in trees.events():
            known.add(_key(place))
            line = _line(names.get(_number(place)), seen.record)
            entry = _entry(place, seen.record.count, times.get(place), line, seen.record)
            yield seen.about(entry, [place])
        for place, row in metrics.events():
            count = row.record.guard_count
            if _key(place) not in known and count is not None:
                line = names.get(_number(place))
                entry = _entry(place, count, row.record.guard_latency_us, line)
                yield Seen(entry, 1, [place], f"guard_count: {count}")


def _times(trees: Table[GuardTree], latencies: Table[GuardLatency]) -> dict[Place, float]:
    """Return the time of each tree: torch prints it after the tree, under the same compile id."""
    events: list[tuple[Place, float | None]] = [(place, None) for place, _ in trees.events()]
    events += [(place, seen.record.us) for place, seen in latencies.events()]
    last: dict[Key, Place] = {}
    found: dict[Place, float] = {}
    for place, us in sorted(events, key=lambda event: (event[0].input, event[0].line)):
        if us is None:
            last[_key(place)] = place
        elif _key(place) in last:
            found[last[_key(place)]] = us
    return found


def _names(frames: Table[Frame]) -> dict[Key, StackFrame]:
    """Return the functions by the number of their frame, where all of its entries agree."""
    found: dict[Key, set[StackFrame]] = {}
    for row in frames:
        frame = row.record
        if frame.function and frame.file:
            line = StackFrame(file=frame.file, line=frame.line or 0, function=frame.function)
            key = (*row.first.process, frame.id.partition("/")[0])
            found.setdefault(key, set()).add(line)
    return {key: next(iter(lines)) for key, lines in found.items() if len(lines) == 1}


def _line(own: StackFrame | None, tree: GuardTree) -> StackFrame | None:
    """Return the function; where it only wraps another, a line of that one.

    The guards are about code of all depths. The first ``forward`` among them is mostly the model's
    own, as those of its parts come later; without any, it is the first line.
    """
    if own is None:
        return _of_module(tree)
    if user_code.distance(own.file, own.function) == 0:
        return own
    comments = [
        guard.comment
        for guard in tree.guards
        if guard.comment
        and guard.comment.file
        and not user_code.distance(guard.comment.file, guard.comment.function)
    ]
    forward = (comment for comment in comments if comment.function == "forward")
    first = next(forward, comments[0] if comments else None)
    return user_code.located(first, own.function, [own.file]) if first else own


def _of_module(tree: GuardTree) -> StackFrame | None:
    """Return a line of the function that nothing names, without a name.

    It is where ``forward`` takes a part of the module that it is called on: an argument is first
    used in another function, mostly, and so are parts of parts. Where there is no module, it is a
    line of the only function that the guards name.
    """
    has_module = any(source.startswith(("L['self']", "L['fn']")) for source, _ in tree.checks())
    lines: dict[tuple[str, str], StackFrame] = {}
    for source, guard in tree.checks():
        one = guard.comment
        if not one or not one.file or user_code.distance(one.file, one.function):
            continue
        if one.function.startswith("<"):  # <listcomp>
            continue
        if has_module and (one.function != "forward" or not _PART.fullmatch(source)):
            continue
        if line := user_code.located(one, "", []):
            at = line.file, one.function
            lines.setdefault(at, line.model_copy(update={"function": ""}))
    return next(iter(lines.values())) if len(lines) == 1 else None


def _key(place: Place) -> Key:
    return place.compilation


def _number(place: Place) -> Key:
    return (*place.process, place.frame.partition("/")[0])


def _entry(
    place: Place,
    checks: int,
    us: float | None,
    line: StackFrame | None,
    tree: GuardTree | None = None,
) -> GuardedEntry:
    return GuardedEntry(
        id=place.frame,
        checks=checks,
        us=us,
        function=line.function or None if line else None,
        file=line.file if line else None,
        line=line.line or None if line else None,
        tree=tree,
    )


def by_function(entries: Iterable[Seen[GuardedEntry]]) -> list[list[Seen[GuardedEntry]]]:
    """Return the entries of each function, by the number of its frame where it has no name."""
    groups: dict[tuple[str, str, str], list[Seen[GuardedEntry]]] = {}
    for entry in entries:
        key = (entry.first.writer, *entry.record.subject)
        groups.setdefault(key, []).append(entry)
    return list(groups.values())


def root_line(seen: Seen[GuardedEntry]) -> int:
    """Return the line of the record's text at which the tree begins."""
    lines = seen.text.split("\n")
    return next((at for at, line in enumerate(lines) if "RootGuardManager" in line), 0)
