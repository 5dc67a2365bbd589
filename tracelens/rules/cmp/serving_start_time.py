"""CMP006 serving-start-time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import EMPTY_CACHES
from tracelens.logs.vllm_compile import ServerStage
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, EvidenceLine, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import is_whole, length

__all__ = ["ServingStartTime"]

#: Seconds of compiling, capturing and loading that are worth a word.
MIN_SECONDS = 30.0
#: Seconds of Inductor's that are long for the graphs of one model.
LONG_COMPILE = 60.0
#: Seconds of a start that no line names, and that are worth a word.
MIN_REST = 5.0
#: The part of a start that is most of it.
MOST = 0.5
#: Seconds between two lines for which no line accounts.
MIN_GAP = 20.0
#: Graphs loaded one by one that are worth a word.
MANY_GRAPHS = 20
#: A pause longer than this is between two starts, or the server at work.
MAX_GAP = 3600.0

_NAMES = {
    "dynamo": "Dynamo",
    "inductor": "Inductor",
    "cache": "loading compiled graphs",
    "capture": "capturing CUDA graphs",
    "weights": "loading weights",
}
Event = tuple[Place, Seen[ServerStage]]


class ServingStartTime(Rule):
    """A server took minutes to start, and its log says where a part of them went.

    ## Why it matters
    Every replica pays the start, and an autoscaler waits for it. What the server calls the total is
    that of Dynamo and Inductor alone; capturing graphs, loading graphs from the cache and what is
    done between the lines come on top. The times before the lines tell how much that is.

    ## What it looks like
        INFO 11-20 10:04:12 [backends.py:441] Dynamo bytecode transform time: 6.71 s
        INFO 11-20 10:04:40 [backends.py:148] Compiling a graph for general shape takes 27.52 s
        INFO 11-20 10:04:43 [monitor.py:34] torch.compile takes 34.23 s in total
        INFO 11-20 10:09:21 [gpu_model_runner.py:1774] Graph capturing finished in 23 secs, took 0.55 GiB

    ## When it is harmless
    For the first start with an empty cache, if the next ones find it. Below 30 s it is a note. Seconds
    between lines are an upper bound of what the server spent there: other work may be in them.

    ## What to do
    Keep the cache folder from start to start: on a volume, in the image. Capture and compile fewer
    sizes. Give the worker that compiles a core of its own.

    ## How a live run confirms it
    The server is started twice with one cache folder. Confirmed when the second start says that it
    loads the graphs, and takes a fraction of the time.

    ## See also
    CMP001 for compile times as torch tells them, CMP004 for one compile process.
    <https://docs.vllm.ai/en/latest/design/torch_compile.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CMP006"
    name = "serving-start-time"
    severity = Severity.INFO
    unconfirmable = EMPTY_CACHES

    class Data(FindingData):
        """Seconds of the steps, as the server says them; and those between its lines."""

        server: Literal["vllm", "sglang"] = "vllm"
        steps: dict[str, float] = {}
        total_s: float | None = None
        #: What setting up the engine took in all, without the weights.
        start_s: float | None = None
        wall_s: float | None = None
        unexplained_s: float = 0.0
        graphs_loaded: int = 0
        cached: bool = False

    remedies = (
        Remedy(
            "cache-volume",
            "Keep the cache of compiled graphs from start to start: it is `~/.cache/vllm`, or what "
            "VLLM_CACHE_ROOT says. Put that directory on a volume, or in the image after one "
            "start.",
            when="vLLM compiled something",
            applies=lambda data: (
                data.server == "vllm" and (data.steps.get("inductor", 0.0) > 0 or not data.cached)
            ),
            basis="source",
            proof="https://docs.vllm.ai/en/latest/design/torch_compile.html",
        ),
        Remedy(
            "own-core",
            "vLLM has Inductor compile in one process: it sets TORCHINDUCTOR_COMPILE_THREADS to 1 "
            "itself. See that each worker has a core that no limit of its container and no other "
            "process takes, and that the cache's folder is on a fast disk.",
            when="Inductor took a minute in vLLM",
            applies=lambda data: (
                data.server == "vllm" and data.steps.get("inductor", 0.0) >= LONG_COMPILE
            ),
            code="nproc; cat /sys/fs/cgroup/cpu.max; uptime",
            basis="source",
            proof="vllm/env_override.py",
        ),
        Remedy(
            "eager",
            "Until then, start it without compiling and without CUDA graphs: each token takes "
            "longer.",
            when="Inductor took five minutes in vLLM",
            applies=lambda data: (
                data.server == "vllm" and data.steps.get("inductor", 0.0) >= 5 * LONG_COMPILE
            ),
            code="vllm serve MODEL --enforce-eager",
            basis="source",
            proof="https://docs.vllm.ai/en/latest/configuration/engine_args.html",
        ),
        Remedy(
            "fewer-compile-sizes",
            "Every size in compile_sizes has graphs of its own, which are compiled or loaded one "
            "by one: leave the list empty, and the graph for all shapes serves.",
            when="vLLM loads graphs for single sizes",
            applies=lambda data: data.server == "vllm" and data.graphs_loaded > 0,
            code="vllm serve MODEL --compilation-config '{\"compile_sizes\": []}'",
            basis="source",
            proof="vllm-project/vllm#20342",
        ),
        Remedy(
            "fewer-captures",
            "Capture fewer batch sizes.",
            when="vLLM captured for 10 s",
            applies=lambda data: data.server == "vllm" and data.steps.get("capture", 0.0) >= 10.0,
            code="vllm serve MODEL --compilation-config "
            "'{\"cudagraph_capture_sizes\": [1, 2, 4, 8, 16, 32, 64]}'",
            basis="source",
            proof="vllm/config, CompilationConfig",
        ),
        Remedy(
            "fewer-captures-sglang",
            "Capture, and with --enable-torch-compile compile, fewer batch sizes.",
            when="sglang captured for 10 s",
            applies=lambda data: data.server == "sglang" and data.steps.get("capture", 0.0) >= 10.0,
            code="python -m sglang.launch_server --model-path MODEL --cuda-graph-max-bs 32",
            basis="source",
            proof="sglang/srt/server_args.py",
        ),
        Remedy(
            "cache-sglang",
            "Where torch compiles (--enable-torch-compile), keep its cache from start to start.",
            when="sglang captured for 10 s",
            applies=lambda data: data.server == "sglang" and data.steps.get("capture", 0.0) >= 10.0,
            env='TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"',
            basis="source",
            proof="docs.sglang.ai, torch.compile cache",
        ),
        Remedy(
            "more-lines",
            "See what happens between the lines.",
            when="seconds are between lines of vLLM",
            applies=lambda data: data.server == "vllm" and data.unexplained_s >= MIN_GAP,
            env="VLLM_LOGGING_LEVEL=DEBUG",
            basis="source",
            proof="vllm/envs.py",
        ),
    )

    def check(self, *, stages: Table[ServerStage]) -> Iterator[Finding]:
        """Yield one finding for the start: of several ranks, the slowest counts."""
        events = [(place, row) for place, row in stages.events() if _tells(row.record)]
        if not events:
            return
        data, quotes = self._measure(events)
        seconds = max(sum(data.steps.values()), data.total_s or 0.0)
        started = (data.start_s or 0.0) + data.steps.get("weights", 0.0)
        whole = max(seconds + data.unexplained_s, started)
        long = whole >= MIN_SECONDS or data.graphs_loaded >= MANY_GRAPHS
        yield self.finding(
            "start",
            title=_title(data, seconds),
            message=_message(data),
            severity=None if long else Severity.NONE,
            confidence=Confidence.HIGH if not data.unexplained_s else Confidence.MEDIUM,
            count=len(events),
            evidence=quotes,
            cost=_cost(whole, data) if whole else None,
            advice=self.advise(data),
            data=data,
        )

    def _measure(self, events: Sequence[Event]) -> tuple[Data, list[EvidenceLine]]:
        longest: dict[tuple[str, str], Seen[ServerStage]] = {}
        for _, row in events:
            key = (row.record.step, row.record.subject)
            held = longest.get(key)
            if held is None or (row.record.seconds or 0.0) > (held.record.seconds or 0.0):
                longest[key] = row
        steps: dict[str, float] = {}
        for (step, _), row in longest.items():
            if step in _NAMES:
                steps[step] = round(steps.get(step, 0.0) + (row.record.seconds or 0.0), 2)
        totals = [row.record.seconds for (step, _), row in longest.items() if step == "total"]
        starts = [row.record.seconds for (step, _), row in longest.items() if step == "start"]
        gap, before, after = _gap([row.record for _, row in events])
        stamps = [row.record.stamp for _, row in events if row.record.stamp is not None]
        single = [subject for step, subject in longest if step == "cache" and "-th" in subject]
        data = self.Data(
            server="sglang" if any("cuda graph" in row.text for _, row in events) else "vllm",
            steps={step: seconds for step, seconds in steps.items() if seconds},
            total_s=max((seconds for seconds in totals if seconds), default=None),
            start_s=max((seconds for seconds in starts if seconds), default=None),
            wall_s=max(stamps) - min(stamps) if stamps else None,
            unexplained_s=gap,
            graphs_loaded=max((_number(subject) for subject in single), default=0),
            cached="cache" in steps or bool(single),
        )
        rows = sorted(longest.values(), key=lambda row: -(row.record.seconds or 0.0))
        rows = [row for row in rows if row.record.seconds][:4] or rows[:2]
        ends = _ends(events, before, after)
        told = {line.text for line in ends}
        return data, [*[q for row in rows if (q := row.quote()).text not in told], *ends]


def _cost(seconds: float, data: ServingStartTime.Data) -> Cost:
    basis: Literal["measured", "upper_bound"]
    basis = "upper_bound" if data.unexplained_s else "measured"
    return Cost(ms=1000 * seconds, basis=basis, of="time to start")


def _tells(stage: ServerStage) -> bool:
    return stage.step != "other"


def _number(subject: str) -> int:
    """Return how many graphs there are when the ``28-th`` is loaded."""
    digits = subject.partition("-")[0]
    return int(digits) if is_whole(digits) else 1


def _gap(stages: Sequence[ServerStage]) -> tuple[float, int, int]:
    """Return the seconds between lines that no line accounts for, and where the longest are.

    Lines follow each other in time; where they do not, parts of several logs were put together.
    """
    stamped = [(row.stamp, at) for at, row in enumerate(stages) if row.stamp is not None]
    total, longest, ends = 0.0, 0.0, (-1, -1)
    for (before, first), (after, second) in pairwise(stamped):
        rest = after - before - (stages[second].seconds or 0.0)
        if MIN_GAP <= rest <= MAX_GAP and stages[second].step != "begins":
            total += rest
            if rest > longest:
                longest, ends = rest, (first, second)
    return round(total, 1), *ends


def _ends(events: Sequence[Event], before: int, after: int) -> list[EvidenceLine]:
    if before < 0:
        return []
    (_, first), (_, second) = events[before], events[after]
    return [first.quote("then no line until"), second.quote("this one")]


def _title(data: ServingStartTime.Data, seconds: float) -> str:
    if data.unexplained_s:
        whole = length(1000 * (seconds + data.unexplained_s))
        if not seconds:
            return f"the server took {whole} by its clock, which no line accounts for"
        return f"the server's lines add up to {length(1000 * seconds)}, and its clock to {whole}"
    if data.graphs_loaded >= MANY_GRAPHS:
        return f"the server loads {data.graphs_loaded} compiled graphs for each size"
    step, took = _largest(data)
    most = f", {length(1000 * took)} of it {_NAMES[step]}" if took else ""
    if _is_sum(data):
        return f"the server's engine took {length(1000 * (data.start_s or 0.0))} to set up{most}"
    if not seconds:
        return "the server's log names steps, without their seconds"
    return f"the server spent {length(1000 * seconds)} on steps that its log names"


def _is_sum(data: ServingStartTime.Data) -> bool:
    """Tell whether the line with the whole is there, and says no less than the steps."""
    steps = sum(took for step, took in data.steps.items() if step != "weights")
    return data.start_s is not None and data.start_s >= steps


def _largest(data: ServingStartTime.Data) -> tuple[str, float]:
    """Return the longest step of setting up the engine, and its seconds."""
    steps = {step: took for step, took in data.steps.items() if step != "weights"}
    return max(steps.items(), key=lambda one: one[1], default=("", 0.0))


def _message(data: ServingStartTime.Data) -> str:
    parts = [f"{_NAMES[step]} {length(1000 * took)}" for step, took in data.steps.items()]
    said = [f"{', '.join(parts)}." if parts else ""]
    if data.total_s is not None:
        said.append(
            f"What the server calls the total of torch.compile is {length(1000 * data.total_s)}."
        )
        step, took = _largest(data)
        if MOST * data.total_s < took <= data.total_s:
            said.append(f"Most of that is {_NAMES[step]}.")
    if data.cached and not data.steps.get("inductor"):
        said.append("Its cache of compiled graphs works: it compiled none.")
    if _is_sum(data) and not data.unexplained_s:
        named = sum(took for step, took in data.steps.items() if step != "weights")
        rest = (data.start_s or 0.0) - named
        if rest >= MIN_REST:
            said.append(f"No line names the other {length(1000 * rest)} of setting up the engine.")
    if data.unexplained_s:
        said.append(
            f"Another {length(1000 * data.unexplained_s)} pass between its lines, for which none "
            "of them accounts."
        )
    if data.graphs_loaded:
        said.append(
            f"{data.graphs_loaded} graphs are read from the cache one by one, and again for every "
            "size in compile_sizes."
        )
    text = " ".join(part for part in said if part)
    return text[0].upper() + text[1:] if text else "The steps are named, without their seconds."
