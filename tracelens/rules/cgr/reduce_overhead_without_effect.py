"""CGR011 reduce-overhead-without-effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.inductor.autotune_untuned import asks_by_mode, asks_by_setting, asks_for_search
from tracelens.inductor.cudagraph_skips import is_cpu_only
from tracelens.logs.output_code import OutputModule
from tracelens.onednn.stories import SKIPPED_GRAPHS
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.aot_graphs import AotGraph
    from tracelens.logs.cudagraphs import (
        CudagraphNote,
        CudagraphRecording,
        CudagraphSkip,
        FunctionRun,
        Partitions,
    )
    from tracelens.logs.inductor_debug import CompileStep, HashDetails
    from tracelens.logs.recording import Asked

__all__ = ["ReduceOverheadWithoutEffect"]

#: The part of a cache key that holds the setting which the mode makes.
SETTING = "inductor_config[triton.cudagraphs]"
#: Modes of ``torch.compile`` that make it.
MODES = frozenset({"reduce-overhead", "max-autotune"})
#: Settings that ask for CUDA graphs in the whole program.
SWITCHES = frozenset({"torch._inductor.config.triton.cudagraphs", "TORCHINDUCTOR_CUDAGRAPHS"})
#: Causes that are listed.
MAX_CAUSES = 3


class ReduceOverheadWithoutEffect(Rule):
    """CUDA graphs were requested, and no graph is recorded as one.

    ## Why it matters
    ``mode="reduce-overhead"`` and ``mode="max-autotune"`` ask for CUDA graphs. On a CPU there are
    none, and on a GPU each graph may be left out for a reason of its own: then the mode costs
    longer compilations and buys nothing, and nothing says so at the end.

    ## What it looks like
    On a CPU the recording of ``tracelens run`` tells what was asked for, or the cache key
    (``TORCH_LOGS="+inductor"``):

        # tracelens: asked torch.compile(Net, mode=reduce-overhead) at /home/ana/proj/train.py:12: 30 calls, 2 compilations in all

        V1120 14:58:01.120000 23420 torch/_inductor/codecache.py:1643] [0/0] FX graph cache hash details for key fcyl3wkkcdy2hjppmrl4xbk5lh2yeqy3ahdpatw2hsxuyfx5pkrn:
        V1120 14:58:01.120000 23420 torch/_inductor/codecache.py:1646] [0/0] [cev5uo2jlwdhw2uyzcm7vr6cl23azjfw437f5r5lskm7spucos6] inductor_config[triton.cudagraphs]: True

    On a GPU, as many lines ``skipping cudagraphs due to`` as there are graphs, and none that begins
    with ``Recording``.

    ## When it is harmless
    When launches are no part of the time: on a CPU, or with long kernels. It is a note.

    ## What to do
    Use the default mode on a CPU, or ``mode="max-autotune-no-cudagraphs"``, which tunes as well. On a
    GPU remove the reasons, or let torch stop at the first one, to find them all.

    ## How a live run confirms it
    The default mode: the step takes the same time. Refuted when it is slower.

    ## See also
    CGR001, CGR002, CGR003, CGR008 (the reasons one by one).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CGR011"
    name = "reduce-overhead-without-effect"
    severity = Severity.INFO
    moved_by: ClassVar = {"details": (), "settings.name": SWITCHES, "given": (), "skips": ()}
    experiment = Experiment(
        Knob("no CUDA graphs", config={"torch._inductor.config.triton.cudagraphs": False}),
        structure="stays",
        time="any",
    )

    class Data(FindingData):
        """What was asked for, and why there is nothing of it."""

        #: ``cpu`` alone, every graph ``skipped``, or ``nothing`` recorded.
        why: Literal["cpu", "skipped", "nothing"]
        graphs: int = 0
        #: A search for kernels was asked for, too, which another mode keeps.
        tunes: bool = False
        causes: tuple[str, ...] = ()

    remedies = (
        Remedy(
            id="default-mode",
            text="Use the default mode.",
            when="everything runs on the CPU, and no search was asked for",
            applies=lambda data: data.why == "cpu" and not data.tunes,
            code="model = torch.compile(model)",
            basis="tested",
            proof="tests/advice/CGR011/default-mode.py",
        ),
        Remedy(
            id="no-cudagraphs",
            text="Use the mode that tunes without CUDA graphs.",
            when="everything runs on the CPU, and a search was asked for",
            applies=lambda data: data.why == "cpu" and data.tunes,
            code='model = torch.compile(model, mode="max-autotune-no-cudagraphs")',
            since="2.1",
            basis="tested",
            proof="tests/advice/CGR011/no-cudagraphs.py",
        ),
        Remedy(
            id="cudagraph-or-error",
            text="Let torch stop at the first graph that it leaves out.",
            when="graphs on a GPU are left out",
            applies=lambda data: data.why != "cpu",
            setting="torch._inductor.config.triton.cudagraph_or_error = True",
            env="TORCHINDUCTOR_CUDAGRAPH_OR_ERROR=1",
            since="2.9",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of."""
        return [SKIPPED_GRAPHS] if finding.data.get("why") == "skipped" else ()

    def check(
        self,
        *,
        skips: Table[CudagraphSkip],
        details: Table[HashDetails],
        modules: Table[OutputModule],
        graphs: Table[AotGraph],
        steps: Table[CompileStep],
        recordings: Table[CudagraphRecording],
        runs: Table[FunctionRun],
        partitions: Table[Partitions],
        settings: Table[Setting],
        notes: Table[CudagraphNote],
        given: Table[Asked],
    ) -> Iterator[Finding]:
        """Yield one finding about the whole log."""
        parts = any(row.record.recorded for row in partitions)
        if parts or len(recordings) or any("ecording" in row.record.run for row in runs):
            return
        asked = [quote for row in details for quote in _asked(row)]
        asked += [row.quote() for row in settings if _switches_on(row.record)]
        asked += [row.quote() for row in given if row.record.mode in MODES and row.record.calls]
        if asked and is_cpu_only(modules, graphs):
            tunes = (
                any(asks_for_search(row.record) for row in details)
                or any(asks_by_setting(row.record) for row in settings)
                or asks_by_mode(row.record for row in given)
            )
            yield self._on_cpu(asked, tunes=tunes)
        elif len(skips):
            yield from self._skipped(skips, modules, steps)
        elif asked and len(notes):
            yield self._nothing(asked, [row.quote() for row in notes][:1])

    def _nothing(self, asked: list[EvidenceLine], silent: list[EvidenceLine]) -> Finding:
        data = self.Data(why="nothing")
        return self.finding(
            "nothing",
            title="CUDA graphs were requested, and none was recorded",
            message="The log of CUDA graphs is on, and shows neither a recording nor a graph that "
            "was left out: the function may have been called too seldom, twice at least.",
            confidence=Confidence.LOW,
            count=len(asked),
            evidence=[*asked[:2], *silent],
            advice=self.advise(data),
            data=data,
        )

    def _on_cpu(self, asked: list[EvidenceLine], *, tunes: bool) -> Finding:
        data = self.Data(why="cpu", graphs=len(asked), tunes=tunes)
        return self.finding(
            "cpu",
            title="CUDA graphs were requested, and everything runs on the CPU",
            message='The compilation asks for CUDA graphs, as mode="reduce-overhead" and '
            'mode="max-autotune" do. All graphs of this log run on the CPU, where there are none.',
            count=len(asked),
            evidence=asked[:2],
            advice=self.advise(data),
            data=data,
        )

    def _skipped(
        self,
        skips: Table[CudagraphSkip],
        modules: Table[OutputModule],
        steps: Table[CompileStep],
    ) -> Iterator[Finding]:
        """Yield a finding when every graph whose compilation is in the log was left out."""
        rows = (*modules, *steps)
        compiled = {frame for row in rows for frame in row.frames if frame}
        left_out = {frame for row in skips for frame in row.frames if frame}
        if len(compiled) < 2 or not compiled <= left_out:  # one graph has a finding of its own
            return
        causes = list(dict.fromkeys(row.record.cause or row.record.unknown for row in skips))
        data = self.Data(why="skipped", graphs=len(compiled), causes=tuple(causes))
        yield self.finding(
            "skipped",
            title=f"all {len(compiled)} graphs run without CUDA graphs",
            message=f"Each of them was left out: {'; '.join(causes[:MAX_CAUSES])}.",
            count=len(compiled),
            evidence=[row.quote() for row in list(skips)[:MAX_CAUSES]],
            advice=self.advise(data),
            data=data,
        )


def _switches_on(setting: Setting) -> bool:
    """Whether a setting, or a variable, asks for CUDA graphs in the whole program."""
    return setting.is_on and setting.name in SWITCHES


def _asked(row: Seen[HashDetails]) -> Iterator[EvidenceLine]:
    """Yield the line of a cache key that asks for CUDA graphs."""
    if SETTING in row.record.switched_on:
        lines = row.text.split("\n")
        at = next((i for i, line in enumerate(lines) if SETTING in line), 0)
        yield row.quote(f"the key holds {SETTING}: True", at=at)
