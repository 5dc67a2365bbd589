"""The first change of a size or a number, and what may be marked for it before the first call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracelens.experiment import Knob
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._last import left_out
from tracelens.rules.rcp._marks import Mark, dimensions, is_gathered
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.logs.recompiles import Recompile

__all__ = [
    "FirstChangeData",
    "also",
    "can_mark",
    "dropped",
    "is_last",
    "is_smaller_batch",
    "lines",
    "mark",
    "marked",
    "of_config",
    "padded",
    "set_first",
    "strided",
]

_VALIDATED = " Validation that calls the same function has a last batch of its own: pad that."
_MADE = " What the library makes itself on the way there cannot be marked from outside."
_OTHERS = " Mark other arguments of that size, too: one that is not marked holds it constant."


class FirstChangeData(RecompileData):
    """The first change of a value."""

    #: Whether its recompiles are a part of where most of the compile time went, as measured.
    is_heavy: bool = False
    #: Whether the guards of the new entry hold the size: the program's settings or a line do that.
    is_constant: bool = False
    #: Whether it is a number of a list that was read out of a tensor, each a constant.
    is_listed: bool = False
    #: Later entries, for conditions on the symbol. One is for the other side of a condition.
    conditions: int = 0
    #: The sizes that the new entry fits, where that before is not among them: ``2 to 15``.
    fits: str = ""
    #: How many times as long as the first entry it took, where nothing but its symbol differs.
    times_longer: float = 0.0
    #: Whether it came with fewer rows than before, as a last batch has.
    is_smaller: bool = False
    #: Whether it is about the batch, and tells of all functions that other sizes of it compiled.
    is_batch: bool = False
    #: Whether other dimensions of what is passed changed as well, such as the lengths.
    has_lengths: bool = False
    #: Whether more than two sizes of it came: none is that of a last batch.
    has_more: bool = False
    #: Whether the calls are of training; None where the log does not say.
    is_trained: bool | None = None
    #: Whether the finding about the batch tells it.
    in_batch: bool = False
    #: Whether the function has variants, for other modes or types: other loops call it, too.
    is_varied: bool = False
    #: Whether it was compiled again later, for reasons that are cut off.
    is_followed: bool = False
    #: Whether the function is compiled again for strides as well: no symbol stands for those.
    has_strides: bool = False
    #: What is a symbol in the entry that was compiled then: every argument of that size. Empty
    #: where the log has no guards.
    symbols: tuple[Mark, ...] = ()
    #: What of the module was None in the entry before, and is a constant in the new one: for it
    #: alone the function would have been compiled again.
    since: dict[str, str] = {}
    #: Whether the tensor is an argument, or an entry of one.
    is_passed: bool = False
    #: What is a symbol behind a graph break of the function as well: arguments of it, or not.
    behind: tuple[str, ...] = ()
    #: Where it is behind a break: what changed alike in functions before.
    alike: tuple[Mark, ...] = ()
    #: The dimensions of the function's arguments that changed.
    changed: tuple[Mark, ...] = ()

    @property
    def is_conditional(self) -> bool:
        """Whether conditions on the symbol ask for more entries than one."""
        return self.conditions > 1 or bool(self.fits)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All that must be marked: one argument that is not holds the size of the others."""
        own = Mark(name=self.source, dimension=self.dimension or 0)
        return tuple(dict.fromkeys((own, *self.symbols, *self.changed)))


def mark(data: FirstChangeData) -> str:
    rest = "" if data.symbols else _OTHERS
    several = len({one.dimension for one in data.marks}) > 1
    least = "at least " if data.recompiles > 1 else ""  # other functions may be spared theirs, too
    less = f"{least}one compilation less" + (" for each of them that changes" if several else "")
    loops = ", in every loop that calls it" if data.is_varied else ""
    if _by_caller(data):
        return (
            f"Mark {dimensions(data.marks)}, with `torch._dynamo.maybe_mark_dynamic`, before the "
            f"first call{loops}: {less}.{rest}{_behind(data)}"
            f"{_MADE if data.is_of_library else ''}"
        )
    return (
        f"Mark {dimensions(data.marks)} before the first call, in every loop that calls it: "
        f"{less}. A slice or a copy of a marked tensor is not marked. "
        f"`maybe_mark_dynamic` does not raise where the code needs a constant.{rest}{_behind(data)}"
    )


def _behind(data: FirstChangeData) -> str:
    """Name what is compiled for the same change behind a break: the log shows no signature."""
    alike = (
        f" Mark {dimensions(data.alike)} as well, which changed alike: one that stays a constant "
        "makes constants of the others."
        if data.alike
        else ""
    )
    if not data.behind:
        return alike
    names = few([f"`{name}`" for name in data.behind])
    return alike + (
        f" Mark those of {', '.join(names)} that are passed in, too: the graph breaks, and what "
        "comes behind it is compiled for their sizes."
    )


def dropped(data: FirstChangeData) -> str:
    valid = data.is_varied and data.is_trained is not False
    return left_out(data.is_trained) + (_VALIDATED if valid else "")


def is_smaller_batch(data: FirstChangeData) -> bool:
    """Whether leaving that batch out, or padding it, spares the recompile: symbols cost more."""
    return data.is_smaller and data.dimension == 0


def is_last(data: FirstChangeData) -> bool:
    """Whether that took much of the compile time."""
    return is_smaller_batch(data) and data.is_heavy


def padded(data: FirstChangeData) -> str:
    return (
        f"Pad {dimensions(data.marks)} to the largest size that occurs, or to one of a few, and "
        "cut what was added off the results: where they do not depend on it, or a mask leaves it "
        f"out. The code for a symbol took {data.times_longer:.1f} times as long to compile, and "
        "may be slower."
    )


def lines(data: FirstChangeData) -> str | None:
    if _by_caller(data):
        return None
    return "\n".join(
        f"torch._dynamo.maybe_mark_dynamic({one.name}, {one.dimension})" for one in data.marks
    )


def _by_caller(data: FirstChangeData) -> bool:
    """Whether the names are not those of the code that calls: a library's, or a wrapper's."""
    return data.is_of_library or any(is_gathered(one.name) for one in data.marks)


def marked(data: FirstChangeData) -> Knob | None:
    if not all(one.name.isidentifier() for one in data.marks):
        return None
    return Knob(
        f"{dimensions(data.marks)} marked dynamic before each call",
        call={"mark_dynamic": "; ".join(f"{m.name}, {m.dimension}" for m in data.marks)},
    )


def can_mark(data: FirstChangeData) -> bool:
    return (
        data.is_passed
        and data.dimension is not None
        and not (data.is_constant or data.is_conditional)
        and (data.has_lengths or not data.is_batch)
        and not data.source.startswith("___")
    )


def of_config(data: FirstChangeData) -> dict[str, str]:
    """Return what to set of the model's config; empty where more than that was set."""
    found = {name.partition(".")[2]: value for name, value in data.since.items()}
    return found if all(name.startswith("config.") for name in found) else {}


def set_first(data: FirstChangeData) -> str:
    names = few([f"`model.{name}`" for name in of_config(data)])
    return (
        f"Set {' and '.join(names)} before the first call, and mark {dimensions(data.marks)}, with "
        "`torch._dynamo.maybe_mark_dynamic`, before each call: one compilation less."
    )


def also(since: dict[str, str]) -> str:
    """Say what else would have asked for the entry."""
    if not since:
        return ""
    (name, value), *_ = since.items()
    return (
        f" `{name}` was None in the entry before, and is {value} in this one: for that alone it "
        "would have been compiled again."
    )


def strided(recompiles: Iterable[Recompile]) -> set[tuple[str, str, int]]:
    """Return the functions that are compiled again for another stride of what they are given."""
    return {
        (one.function, one.file, one.line)
        for one in recompiles
        if any(getattr(reason.check, "what", "") == "stride" for reason in one.failures)
    }
