"""RCP016 zero-one-specialisation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tracelens.dynamo.entry_guards import entry_of, is_token
from tracelens.dynamo.recompile_history import Step
from tracelens.dynamo.recompile_variants import subject_of
from tracelens.dynamo.run_facts import RunFacts
from tracelens.dynamo.token_caches import is_of_token_cache
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.rcp._batch import BATCH, BATCH_SIZE, Batch
from tracelens.rules.rcp._changes import Group, groups, is_more_than_once
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._last import is_trained, left_out
from tracelens.rules.rcp._tell import tell
from tracelens.rules.rcp._weight import Weight
from tracelens.words import plural

if TYPE_CHECKING:  # what a log has nothing of is not imported
    from tracelens.logs.output_code import OutputModule

__all__ = ["ZeroOneSpecialisation"]


#: Dimensions named in one message.
MAX_NAMED = 4
#: What held the size at 1: it is how many tokens a sequence grows by at a time.
NEXT = "token"
#: It is the length of a cache of keys and values, which a library makes and lets grow.
CACHE = "cache"


#: What must know whether a size is 1, or is not traced: tried with an unbacked size, in 2.13.
_KNOWS = re.compile(
    r"(?:batch_norm|instance_norm|logsumexp|_transformer_encoder_layer_fwd|\blstm|\bgru|rnn_\w+)\("
)


#: Products of batches. Inductor raises where it must know whether one has a batch of 1.
_BATCHED = frozenset({"bmm", "baddbmm"})


class SizeData(RecompileData):
    """A size of 0 or 1."""

    #: Whether a traced graph has an operation that an unbacked size breaks the graph at.
    must_know: bool = False
    #: Whether the calls are of training; None where the log does not say.
    is_trained: bool | None = None


def _is_last(data: RecompileData) -> bool:
    """Whether it is a batch that came after larger ones."""
    is_batch = data.dimension == 0 and data.held not in {NEXT, CACHE}
    return is_batch and all(one.kind == "size" and one.actual == "1" for one in data.guards)


#: What grows: the line appends to it along the dimension; a negative one is counted from the end.
_APPENDS = re.compile(r"\btorch\.(?:cat|concat)\([^#]{1,200}?(?:, ?|dim ?= ?)(-?\d)\)")


def _grows(data: RecompileData) -> bool:
    """Whether a line of the program's own appends to it, as to a cache of keys and values."""
    axes = {int(one) for one in _APPENDS.findall(data.code)}
    own = not (data.package or data.is_of_library) and data.held not in {NEXT, CACHE}
    grown = data.dimension in axes or any(one < 0 for one in axes)
    return own and bool(data.dimension) and grown


_PAD_ITEM = (
    "Do not call with a size of 0 or 1 there: repeat a single row where no result has a row for "
    "it, as for boxes that points are compared with, and where a row that is there twice changes "
    "nothing; else pad it with what the code masks."
)


_PAD_ROWS = (
    "Do not call with a size of 0 or 1 there: leave out an empty batch, and pad one of 1 to two "
    "rows, the second of which is cut off the results"
)
#: ... by whether the calls are of training.
_OR_DROP = {
    True: "; or drop it where it is last (`drop_last=True`).",
    False: ".",
    None: "; or, in training, drop it where it is last (`drop_last=True`).",
}


def _must_know(data: RecompileData) -> bool:
    return isinstance(data, SizeData) and data.must_know


def _or_let(data: RecompileData) -> str:
    return "Let" if data.is_of_library else "Or let"


def _dimension(data: RecompileData) -> str:
    if not data.is_of_library:
        return "the dimension"
    return (
        f"dimension {data.dimension} of what is passed as `{data.source}`, with "
        "`torch._dynamo.decorators.mark_unbacked`,"
    )


class ZeroOneSpecialisation(RecompileRule):
    """A size of 0 or 1 got an entry of its own, as it always does.

    ## Why it matters
    Dynamo makes sizes symbolic, but the symbols stand for 2 and more: 0 and 1 broadcast. A batch of
    one, a single token, a cache of length one each need an entry, per dimension where it occurs,
    and they multiply with other variants. A function has eight.

    ## What it looks like
    A symbolic size must be at least 2; later, an entry made for 1 does not fit:

        [0/3] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:937
        [0/3] [__recompiles]     triggered by the following guard failure(s):
        [0/3] [__recompiles]     - 0/2: 2 <= x.size()[0]
        [0/4] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:937
        [0/4] [__recompiles]     triggered by the following guard failure(s):
        [0/4] [__recompiles]     - 0/3: tensor 'x' size mismatch at index 0. expected 1, actual 2

    ## When it is harmless
    One such entry is by design: a note. So is that of one token after its prompt, however long it
    took: a prompt and a token are two programs. At most two come from each dimension. From the
    second in one function on it is a remark: what such entries took to compile, a warm-up can
    spare. It is a warning where recompiles for sizes took half of the measured compile time, and
    20 s at least; one entry that took three tenths is a remark, also by the clocks of a log, or a
    fifth where all that sizes took was four tenths. So is a batch of one, beside other sizes of it,
    that took a fifth, and 10 s at least.

    ## What to do
    Drop a last batch of one, or pad a single row to two; or let the dimension be unbacked, which
    covers 0 and 1 too, where no operation must know the size.

    The length of a key/value cache is its library's: nothing can be padded there.

    ## How a live run confirms it
    The same calls with a size of 2 instead of 1: the recompile is gone.

    ## See also
    RCP003 (the first change of a size), RCP002 (sizes that keep changing), RCP029.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP016"
    name = "zero-one-specialisation"
    severity = Severity.INFO
    Data = SizeData
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:ones",
        confirms="padded to 2 before the call, nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the log does not tell the dimension",
    )

    remedies = (
        Remedy(
            "one-cache",
            "Each call appends to it, from a length of 1 on. Allocate it once, before the first "
            "call, for the longest that will come, write into it at a position that is a tensor, "
            "and mask what is still empty.",
            when="a line of the program's own that concatenates along the dimension",
            applies=_grows,
            code=lambda data: f"cache.index_copy_({data.dimension}, position, new)",
            basis="tested",
            proof="tests/advice/RCP016/one-cache.py",
        ),
        Remedy(
            "pad",
            lambda data: (
                _PAD_ITEM
                if data.dimension == 0 and "[" in data.source
                else _PAD_ROWS + _OR_DROP[getattr(data, "is_trained", None)]
                if data.dimension == 0
                else "Pad: do not call with a batch or a length of 0 or 1."
            ),
            when="a size that is neither that of one token after its prompt nor a cache's, which "
            "no line appends to, of a function that is no package's",
            applies=lambda data: (
                data.held not in {NEXT, CACHE} and not (data.is_of_library or _grows(data))
            ),
            basis="tested",
            proof="tests/advice/RCP016/pad.py",
        ),
        Remedy(
            "drop-last",
            lambda data: left_out(getattr(data, "is_trained", None)),
            when="a batch of 1 after larger ones, of a function that is a package's",
            applies=lambda data: _is_last(data) and data.is_of_library,
            basis="tested",
            proof="tests/advice/RCP023/drop-last.py",
        ),
        Remedy(
            "unbacked",
            lambda data: (
                f"{_or_let(data)} {_dimension(data)} be unbacked: one entry then serves 0 and 1 "
                "too. Where an operation must know whether it is 1, the graph breaks there, and "
                "fullgraph=True raises. Mark every argument of that size: one alone gains nothing."
            ),
            when="an argument of the function, no token after its prompt, and no operation of its "
            "graphs is known to need the size, nor is a product of batches called",
            applies=lambda data: (
                data.is_variable
                and data.dimension is not None
                and data.held not in {NEXT, CACHE}
                and not (_must_know(data) or _grows(data))
            ),
            code=lambda data: (
                None
                if data.is_of_library
                else f"torch._dynamo.decorators.mark_unbacked({data.source}, {data.dimension})"
            ),
            since="2.5",
            basis="tested",
            proof="tests/advice/RCP016/unbacked.py",
        ),
        Remedy(
            "both-first",
            "Nothing, but to spare the first request the wait: generate a few tokens once before.",
            when="one token after its prompt",
            applies=lambda data: data.held == NEXT,
            basis="untestable",
            proof="there is nothing to change",
        ),
        Remedy(
            "cache-grows",
            "No change is named: the library makes this cache and lets it grow by the tokens of "
            "each call. Generate a few tokens once before the first request, so that it does not "
            "wait for these entries.",
            when="the length of a cache of keys and values",
            applies=lambda data: data.held == CACHE,
            basis="untestable",
            proof="there is nothing to change",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        seconds: Table[CompileSeconds],
        graphs: Table[FxGraph],
        facts: Table[RunFacts],
        modules: Table[OutputModule],
    ) -> Iterator[Finding]:
        """Yield one finding per function that the size reached first, whatever the dimension."""
        weight = Weight.of(recompiles, frames, seconds)
        batch = Batch.of(recompiles, frames, weight)
        of_functions = groups(self.code, recompiles, limits, by_function=True)
        for group, token in (part for one in of_functions for part in _parts(one, trees)):
            function, several = group.history.function, is_more_than_once(group) and not token
            spent = weight.heavy([step for _, step in group.steps], frames)
            heavy = bool(spent) and not group.is_hit
            spent = spent or weight.notable([step for _, step in group.steps], frames)
            if batch.is_part([step for _, step in group.steps]):
                spent = spent or weight.last_batch([step for _, step in group.steps], frames)
            loud = bool(spent) and not group.is_hit and not token
            told = batch.holds([step for _, step in group.steps])
            loud = loud or told
            subjects = _subjects(group)
            cache = all(is_of_token_cache(subject_of(step.check)[0]) for _, step in group.steps)
            named = ", ".join(f"dimension {axis} of `{name}`" for name, axis in subjects)
            named += _GROWS if cache else ""
            finding = tell(
                self,
                group,
                frames,
                trees,
                title=f"sizes of 0 or 1 took {plural(len(group.steps), 'entry', 'entries')} of "
                f"`{function}`"
                if several
                else f"a size of 0 or 1 got an entry of its own in `{function}`"
                + ("" if loud else ": expected"),
                message=f"It is {named}. Symbolic sizes are 2 and more, so 0 and 1 are compiled "
                f"apart: {group.times}" + (f", {spent}." if loud and spent else "."),
                severity=Severity.WARNING if heavy and loud else Severity.INFO,
                harmless=None if several or loud else _HARMLESS[token],
                held=NEXT if token else CACHE if cache else BATCH if told else "",
            )
            trained = is_trained([step for _, step in group.steps], trees, facts)
            knows = graphs.derived(_calls_what_knows) or modules.derived(_multiplies_batches)
            data = self.Data(**finding.data, must_know=knows, is_trained=trained)
            advice = self.advise(data)
            update = {"data": data.model_dump(mode="json"), "advice": advice}
            if not (advice or finding.harmless):
                update["message"] = finding.message + _USUAL
            yield finding.model_copy(update=update)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the other batch sizes, where most of the compile time went to those."""
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and data.held == BATCH:
            yield BATCH_SIZE
        yield from super().follows(finding)


_USUAL = (
    " The function is a package's, which may well be meant to be called like this; padded, each "
    "such call computes more. So no change is named."
)
_GROWS = ", the length of a cache of keys and values, which grows with each token"
_HARMLESS = {
    False: "one entry for 0 or 1 is by design",
    True: "a prompt and a token after it are compiled apart by design",
}


def _parts(group: Group, trees: Table[GuardTree]) -> Iterator[tuple[Group, bool]]:
    """Yield the entries for one token after its prompt, which are by design, and the others."""
    tokens = [_is_token(step, trees) for _, step in group.steps]
    for token in dict.fromkeys(tokens):
        steps = [one for one, is_one in zip(group.steps, tokens, strict=True) if is_one is token]
        yield msgspec.structs.replace(group, steps=steps), token


def _is_token(step: Step, trees: Table[GuardTree]) -> bool:
    """Whether the entry that was compiled is for one token of each sequence."""
    name, axis = subject_of(step.check)
    return axis == 1 and is_token(entry_of(step.place, trees), name)


def _calls_what_knows(graphs: Table[FxGraph]) -> bool:
    return any(row.record.traced and _KNOWS.search(row.record.body) for row in graphs)


def _multiplies_batches(modules: Table[OutputModule]) -> bool:
    """Whether code was generated that calls a product of batches: lowering one asks its sizes."""
    calls = (call.op for row in modules for _, call in row.record.extern_calls())
    return any(op in _BATCHED for op in calls)


def _subjects(group: Group) -> list[tuple[str, int]]:
    subjects = [subject_of(step.check) for _, step in group.steps]
    known = [(name, axis) for name, axis in subjects if axis is not None]
    return list(dict.fromkeys(known))[:MAX_NAMED]


def _named(tensor: str) -> str:
    return tensor if tensor.isidentifier() else "tensor"
