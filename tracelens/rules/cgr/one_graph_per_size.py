"""CGR004 one-graph-per-size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tracelens.dynamo.settings import Setting
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.cudagraphs import CudagraphRecording, DynamicSkipped, ManyShapes
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import is_whole

__all__ = ["OneGraphPerSize"]

#: Recordings of one graph from which on torch itself warns (2.11 and later).
MANY = 9
#: Recordings for sizes that nobody chose, from which on they are worth a word.
SOME = 4
#: As many sizes are a list that somebody chose, if they are regular.
MAX_BUCKETS = 32
#: Sizes that are listed.
MAX_LISTED = 8


@dataclass
class _Recorded:
    """One graph, and the sizes that it was recorded for."""

    graph: str
    rows: list[Seen[CudagraphRecording]] = field(default_factory=list)

    @property
    def keys(self) -> list[tuple[int, ...]]:
        return sorted({_numbers(row.record.symints) for row in self.rows} - {()})

    @property
    def are_many(self) -> bool:
        """Whether there are many sizes, or some that nobody chose."""
        keys = self.keys
        return len(keys) >= MANY or (len(keys) >= SOME and not _are_regular(keys))


class OneGraphPerSize(Rule):
    """A graph with symbolic sizes is recorded as a new CUDA graph for each size.

    ## Why it matters
    The compiled code fits all sizes, a recording fits one. Each new size costs a warm-up, a
    recording and memory that it keeps; sizes that never come again are pure loss. A
    service whose inputs have lengths from 1 to 4096 never settles.

    ## What it looks like
    A warning that needs no switch, since torch 2.5 at 51 sizes of one graph and since 2.11 at 9:

        W1120 14:51:50.247000 14058 torch/_inductor/cudagraph_utils.py:516] [__cudagraphs] CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too many CUDAGraphs may lead to extra overhead. We have observed 9 distinct sizes. Please consider the following options for better performance: a) padding inputs to a few fixed number of shapes; or b) set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True.

    ``TORCH_LOGS="cudagraphs"`` shows each recording, ``Recording cudagraph tree for symint key``.

    ## When it is harmless
    Where the sizes are a short list that somebody chose: at most 32 of them, all powers of two, or
    one size that is a multiple of eight. Then the recordings end with the warm-up, and the finding has severity
    ``none``. Without the recordings the sizes are not known, and the confidence is medium. From four
    to eight sizes of no such list are a word of low confidence: the run may end with them.

    ## What to do
    Pad the inputs to a few sizes, and record them all in the warm-up. Or name the sizes that are
    worth recording, and let the others run without; or do not record graphs with symbolic sizes.

    ## How a live run confirms it
    The same calls with padded sizes: no recording after the warm-up.

    ## See also
    CGR005 (recorded again for the same size), RCP003 (how a size becomes symbolic).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CGR004"
    name = "one-graph-per-size"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """A graph, and the sizes that it was recorded for."""

        graph: str = ""
        sizes: int
        #: Regular and few, as a list that somebody chose.
        is_chosen: bool = False
        #: The program has such graphs skipped, and they are recorded all the same.
        is_skipped: bool = False

    remedies = (
        Remedy(
            id="pad",
            text="Pad the inputs to a few sizes, in the dimension that varies (here the last), and "
            "run each of them once at the start.",
            code="x = torch.nn.functional.pad(x, (0, -x.shape[-1] % 64))",
            basis="tested",
            proof="tests/advice/CGR004/pad.py",
        ),
        Remedy(
            id="capture-sizes",
            text="Record only the sizes that come often; the others run without CUDA graphs.",
            setting="torch._inductor.config.triton.cudagraph_capture_sizes = (1, 8, 64)",
            since="2.8",
            basis="tested",
            proof="tests/advice/CGR004/capture-sizes.py",
        ),
        Remedy(
            id="skip-dynamic",
            text="Or record no graph with symbolic sizes.",
            when="the program does not say so already",
            applies=lambda data: not data.is_skipped,
            setting="torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True",
            since="2.4",
            basis="tested",
            proof="tests/advice/CGR004/skip-dynamic.py",
        ),
        Remedy(
            id="no-graphs",
            text="Graphs with symbolic sizes are to be skipped here, and this one is recorded all "
            "the same: compile that function without CUDA graphs.",
            when="the program has such graphs skipped",
            applies=lambda data: data.is_skipped,
            code='torch.compile(fn, mode="max-autotune-no-cudagraphs")  # or mode="default"',
            since="2.1",
            basis="source",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
        ),
    )

    def check(
        self,
        *,
        warnings: Table[ManyShapes],
        recordings: Table[CudagraphRecording],
        skipped: Table[DynamicSkipped],
        settings: Table[Setting],
    ) -> Iterator[Finding]:
        """Yield one finding per graph; torch's warning does not say which graph it is about."""
        is_skipped = len(skipped) > 0 or any(_skips(row.record) for row in settings)
        graphs: dict[str, _Recorded] = {}
        for row in recordings:
            graph = row.record.graph or row.first.frame
            graphs.setdefault(graph, _Recorded(graph)).rows.append(row)
        many = [recorded for recorded in graphs.values() if len(recorded.keys) >= MANY]
        if not many and len(warnings):  # torch has counted more than the log shows
            yield self._warned(warnings, is_skipped=is_skipped)
            return
        for recorded in graphs.values():
            if recorded.are_many:
                yield self._recorded(recorded, warnings, is_skipped=is_skipped)

    def _recorded(
        self, recorded: _Recorded, warnings: Table[ManyShapes], *, is_skipped: bool
    ) -> Finding:
        keys = recorded.keys
        chosen = len(keys) <= MAX_BUCKETS and _are_regular(keys)
        listed = ", ".join(_written(key) for key in keys[:MAX_LISTED])
        more = ", ..." if len(keys) > MAX_LISTED else ""
        graph = f"graph {recorded.graph}" if recorded.graph else "one graph"
        why = "Each of them costs a warm-up, a recording and memory."
        data = self.Data(
            graph=recorded.graph, sizes=len(keys), is_chosen=chosen, is_skipped=is_skipped
        )
        return self.finding(
            recorded.graph,
            title=f"{graph} was recorded for {len(keys)} sizes",
            message=f"The sizes are {listed}{more}. {why}",
            harmless="they are regular and few, as a list that was chosen, and end with it"
            if chosen
            else None,
            severity=None if len(keys) >= MANY else Severity.INFO,
            confidence=Confidence.HIGH if len(keys) >= MANY else Confidence.LOW,
            count=len(keys),
            evidence=[
                *(row.quote() for row in list(warnings)[:1]),
                *(row.quote("recording", at=row.record.at) for row in recorded.rows[-2:]),
            ],
            advice=self.advise(data),
            data=data,
        )

    def _warned(self, warnings: Table[ManyShapes], *, is_skipped: bool) -> Finding:
        most = max(row.record.sizes for row in warnings)
        data = self.Data(sizes=most, is_skipped=is_skipped)
        lines: list[EvidenceLine] = [row.quote() for row in list(warnings)[-2:]]
        return self.finding(
            "warned",
            title=f"a graph was recorded for {most} sizes",
            message="Each of them costs a warm-up, a recording and memory. Which graph and which "
            'sizes they are, TORCH_LOGS="cudagraphs" would tell.',
            confidence=Confidence.MEDIUM,
            count=warnings.count,
            evidence=lines,
            advice=self.advise(data),
            data=data,
        )


def _skips(setting: Setting) -> bool:
    return setting.name.endswith(".cudagraph_skip_dynamic_graphs") and setting.is_on


def _numbers(symints: str) -> tuple[int, ...]:
    parts = (part.strip() for part in symints.strip("()").split(","))
    return tuple(int(part) for part in parts if is_whole(part.lstrip("-")))


def _written(key: tuple[int, ...]) -> str:
    return str(key[0]) if len(key) == 1 else f"({', '.join(map(str, key))})"


def _are_regular(keys: list[tuple[int, ...]]) -> bool:
    """Whether what varies is powers of two, or one number that is a multiple of eight.

    Sides of images are multiples of eight or sixteen, whoever chose them: networks that halve them
    several times take no others.
    """
    columns = list(zip(*keys, strict=False))
    varying = {tuple(column) for column in columns if len(set(column)) > 1}
    numbers = {n for column in varying for n in column}
    if all(n > 0 and n & (n - 1) == 0 for n in numbers):
        return True
    return len(varying) == 1 and all(n % 8 == 0 or n in {1, 2, 4} for n in numbers)
