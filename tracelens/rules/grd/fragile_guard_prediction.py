"""GRD003 fragile-guard-prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo import user_code
from tracelens.dynamo.guard_values import Number, failed, lengths, numbers
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames.guard_entries import GuardedEntry
from tracelens.logs._stack import StackFrame
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import few

if TYPE_CHECKING:
    from tracelens.logs.recompiles import Recompile

__all__ = ["FragileGuardPrediction"]

#: Attributes that count, by their usual names.
COUNTERS = frozenset(
    {
        "call_count", "counter", "cur_step", "current_epoch", "current_step", "epoch",
        "global_step", "iteration", "n_calls", "n_iter", "num_batches_seen", "num_calls",
        "num_steps", "num_updates", "step", "step_count", "steps_done",
    }
)  # fmt: skip
#: Attributes that tell the layers of a model apart.
POSITIONS = frozenset({"block_idx", "block_index", "layer_id", "layer_idx", "layer_index"})


class FragileData(FindingData):
    """A number that an entry was compiled for, and that is bound to change."""

    #: ``counter``, ``rate``, ``position`` or ``length``.
    kind: str
    source: str
    values: tuple[str, ...]


class FragileGuardPrediction(Rule):
    """A guard holds a number that is bound to change, though the log does not show it yet.

    ## Why it matters
    Numbers that a compiled function reads from objects are constants of the entry. A counter, a
    learning rate with a scheduler or the index of a layer changes, and then the function is
    compiled again: after minutes, in the middle of a training run, where the first steps looked
    fine. The log of the first step already says so.

    ## What it looks like
    A guard on an attribute with the value of the first call:

        [0/0] [__guards] TREE_GUARD_MANAGER:
        [0/0] [__guards] +- RootGuardManager
        [0/0] [__guards] | | +- EQUALS_MATCH: L['self'].step == 0                                           # if self.step < 100:  # proj/model.py:27 in forward

    Four kinds are reported, and nothing else: integers of modules whose name says that they count
    and that are 0, or that the guarded line itself counts up; the float ``lr`` of an optimizer
    whose parameter groups have an ``initial_lr``, which a scheduler leaves there; indices of
    layers, where two entries of one function differ in them; and lengths of lists of modules, where
    the guarded line itself appends or takes away. Other floats, other lengths and the identity of
    objects are guarded by the dozen and stay what they are: they would be false alarms.

    ## When it is harmless
    When the number never changes in this program: hence a remark of medium confidence. Integer and
    float arguments are not reported, since torch makes them symbols at their first change. What
    has failed already is left to RCP007 and RCP022.

    ## What to do
    Keep counters in a buffer, or count outside of the compiled function; give the optimizer a
    tensor as learning rate; compile the model and not each layer.

    ## How a live run confirms it
    A few more steps are run. Confirmed when a recompile names this guard.

    ## See also
    RCP007 (integers of modules), RCP022 (hyperparameters of optimizers), RCP001 (the limit).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "GRD003"
    name = "fragile-guard-prediction"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = FragileData
    remedies = (
        Remedy(
            "buffer",
            "Count outside of the compiled function, or in a buffer of the module that it assigns "
            "anew: changed in place, gradients were computed with a later number.",
            when="a counter",
            applies=lambda data: data.kind == "counter",
            basis="tested",
            proof="tests/advice/RCP007/buffer.py",
        ),
        Remedy(
            "collect-outside",
            "Return what is to be kept, and append it outside of the compiled function.",
            when="a list that grows",
            applies=lambda data: data.kind == "length",
            proof="https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html",
        ),
        Remedy(
            "unspec-int",
            "Or let integers of modules become symbols.",
            when="a counter",
            applies=lambda data: data.kind == "counter",
            setting="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP007/unspec-int.py",
        ),
        Remedy(
            "tensor-lr",
            "Keep the learning rate in a tensor.",
            when="a learning rate",
            applies=lambda data: data.kind == "rate",
            code="lr=torch.tensor(1e-3)",
            basis="tested",
            proof="tests/advice/RCP022/tensor-lr.py",
        ),
        Remedy(
            "compile-model",
            "Compile the whole model instead of its layers.",
            when="the index of a layer",
            applies=lambda data: data.kind == "position",
            basis="tested",
            proof="tests/advice/RCP007/compile-model.py",
        ),
    )

    def check(
        self, entries: Table[GuardedEntry], *, recompiles: Table[Recompile]
    ) -> Iterator[Finding]:
        """Yield one finding per function and value."""
        known = {_path(str(source)) for row in recompiles for source in failed(row.record)}
        found: dict[tuple[object, ...], list[_Seen]] = {}
        for seen in _numbers(entries):
            if _path(str(seen.number.source)) not in known:
                key = (*seen.entry.record.subject, str(seen.number.source))
                found.setdefault(key, []).append(seen)
        rates = set()
        for group in found.values():
            kind = _kind(group)
            subject = group[0].entry.record.subject
            if kind is None or (kind is _RATE and subject in rates):
                continue  # the groups of one optimizer are one cause
            if kind is _RATE:
                rates.add(subject)
            yield self._finding(kind, group)

    def _finding(self, kind: _Kind, group: list[_Seen]) -> Finding:
        first = group[0]
        number, entry = first.number, first.entry
        values = list(dict.fromkeys(str(seen.number.value) for seen in group))
        frame = _line(first)
        source = str(number.source)
        held = f"`{number}`" if len(values) == 1 else f"each value of `{source}`"
        data = FragileData(kind=kind.name, source=source, values=tuple(values))
        return self.finding(
            *entry.record.subject,
            source,
            title=f"{entry.record.label} is compiled for {held}: {kind.fear}",
            message=f"{kind.why} So far it was {', '.join(values)}. {kind.price}",
            confidence=Confidence.MEDIUM,
            where=user_code.where(frame) or entry.record.where,
            evidence=[
                seen.entry.quote(
                    f"entry {seen.entry.record.id}", at=seen.number.line_in(seen.entry.text)
                )
                for seen in few(group)
            ],
            advice=self.advise(data),
            data=data,
        )


class _Seen(NamedTuple):
    """A number, and the entry that guards it."""

    number: Number
    entry: Seen[GuardedEntry]
    #: All the numbers of the entry, by what holds them.
    sources: dict[str, Number]


class _Kind(NamedTuple):
    """Why a number will change, in words."""

    name: str
    fear: str
    why: str
    price: str


def _numbers(entries: Table[GuardedEntry]) -> Iterator[_Seen]:
    for entry in entries:
        if entry.record.tree is None:
            continue
        found = [*numbers(entry.record.tree), *lengths(entry.record.tree)]
        sources = {str(number.source): number for number in found}
        for number in found:
            yield _Seen(number, entry, sources)


def _kind(group: list[_Seen]) -> _Kind | None:
    """Return what kind of fragile value it is; None for all others."""
    number = group[0].number
    own = number.source.path == f".{number.name}" and number.source.name == "self"
    if number.name == "lr" and isinstance(number.value, float):
        held = str(number.source).removesuffix("['lr']")
        scheduled = f"{held}['initial_lr']" in group[0].sources
        return _RATE if ".param_groups[" in held and scheduled else None
    if not isinstance(number.value, int):
        return None
    if number.name in POSITIONS and own and len({seen.number.value for seen in group}) > 1:
        return _POSITION
    comment = number.guard.comment
    if number.is_length:
        return _LENGTH if own and comment and _changes(number.name, comment.code) else None
    hinted = bool(comment and comment.hint)
    counted = bool(comment and f".{number.name} +=" in comment.code)
    if number.name in COUNTERS and (own or hinted) and (number.value == 0 or counted):
        return _COUNTER
    return None


def _line(seen: _Seen) -> StackFrame | None:
    comment, record = seen.number.guard.comment, seen.entry.record
    if comment is None:
        return None
    return user_code.located(comment, record.function or "", [record.file] if record.file else [])


def _path(source: str) -> str:
    """Return a source without the number of a parameter group: all groups change together."""
    head, group, tail = source.partition(".param_groups[")
    return f"{head}{group}{tail.partition(']')[2]}" if group else source


def _changes(name: str, code: str) -> bool:
    """Whether a line adds to a container, or takes from it."""
    return any(f".{name}.{method}(" in code for method in _METHODS)


_METHODS = ("append", "appendleft", "extend", "insert", "pop", "popleft")
_COUNTER = _Kind(
    "counter",
    "a counter",
    "An integer of a module is a constant of the entry, and this one counts.",
    "Each new value is compiled again, up to the limit of eight entries; after it the function "
    "runs eagerly.",
)
_RATE = _Kind(
    "rate",
    "a learning rate with a scheduler",
    "The learning rate is a Python float, and the guards show that a scheduler is attached "
    "(initial_lr).",
    "Its first change costs a compilation of the optimizer in the middle of the training; up to "
    "torch 2.5 each change does.",
)
_POSITION = _Kind(
    "position",
    "the index of a layer",
    "The function is compiled once per layer, because each layer knows its index.",
    "With more than eight layers the others run eagerly.",
)
_LENGTH = _Kind(
    "length",
    "a list that the function itself changes",
    "The number of items of a list is a constant of the entry, and the guarded line adds to the "
    "list or takes from it.",
    "Each new length is compiled again, up to the limit of eight entries; after it the function "
    "runs eagerly.",
)
