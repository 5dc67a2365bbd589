"""What a short log is in which no rule finds anything: what was seen, and what would settle it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tracelens.report import Advice
from tracelens.rules.log._parts import Part
from tracelens.words import and_more, few, length, listed, number, plural

if TYPE_CHECKING:
    from tracelens.evidence import Evidence, Seen
    from tracelens.logs import Record
    from tracelens.logs.autotune import AutotuneTable, Choice

__all__ = ["of"]

_WHOLE = "Record the run into one file."


class _Words(NamedTuple):
    """What records of a kind are and mean, what is not in them, and how to get that."""

    what: str
    means: str
    rest: str
    env: str
    text: str = _WHOLE
    code: str | None = None


_WORDS: Mapping[str, _Words] = {
    "guards": _Words(
        "guards of a compiled frame",
        "They list what must hold for it to be used again, which is no failure.",
        "Whether one of them fails, and how often, is told with the recompile.",
        'TORCH_LOGS="recompiles,guards"',
        "Record recompiles.",
    ),
    "dynamic": _Words(
        "what became of single sizes",
        "A symbol is a size that may change; that is no failure.",
        "Which function, and whether it is compiled again, is not in them.",
        'TORCH_LOGS="dynamic,recompiles"',
        "Record sizes with the recompiles.",
    ),
    "cudagraphs": _Words(
        "lines about CUDA graphs",
        "Functions run once to warm up, are recorded, and are replayed from then on; nothing in "
        "the lines was skipped.",
        "Whether they are recorded again and again is in the rest of the run.",
        'TORCH_LOGS="cudagraphs,recompiles"',
        "Record at least ten steps.",
    ),
    "key_averages": _Words(
        "the head or the foot of the profiler's table",
        "",
        "The rows, which tell where the time goes, are not in it.",
        "",
        "Print the table again, sorted by what matters.",
        'print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=30))',
    ),
    "compile_times": _Words(
        "Dynamo's table of compile times",
        "Phases contain one another, so that they do not add up.",
        "How long the program ran besides, and how often it compiled, is not in it.",
        'TORCH_LOGS="recompiles,graph_breaks"',
        "If the first call is too slow, see what is compiled, and how often.",
    ),
    "output_code": _Words(
        "a part of generated code",
        "It is what Inductor made of a graph, and no error.",
        "The whole module has the calls, the sizes and what runs beside it.",
        'TORCH_LOGS="output_code,fusion"',
        "Record the whole generated module.",
    ),
    "kernel_code": _Words(
        "a generated kernel",
        "It is what Inductor made of a part of a graph, and no error.",
        "The whole module has the calls, the sizes and what runs beside it.",
        'TORCH_LOGS="output_code,fusion"',
        "Record the whole generated module.",
    ),
    "onednn_verbose": _Words(
        "lines of oneDNN",
        "",
        "What share of a step that is, and what oneDNN refused before, is not in them.",
        "ONEDNN_VERBOSE=profile,dispatch",
        "Record all executions and refusals.",
    ),
    "mkl_verbose": _Words(
        "calls of MKL",
        "They name the routine, its sizes and its time.",
        "What share of a step that is, is not in them.",
        "ONEDNN_VERBOSE=profile,dispatch MKL_VERBOSE=1",
    ),
    "nsys_stats": _Words(
        "a table of Nsight Systems",
        "",
        "Which kernels ran, and whether the device waited, is in other tables.",
        "",
        "Print the kernels and CUDA's calls.",
        "nsys stats --report cuda_gpu_kern_sum,cuda_api_sum report.nsys-rep",
    ),
    "autotune": _Words(
        "a search for kernels",
        "Max-autotune times candidates, which is no error.",
        "How long all searches took, and whether they come again, is in the rest of the run.",
        'TORCH_LOGS="+inductor"',
        "Record all searches.",
    ),
    "benchmarking": _Words(
        "times of candidates for kernels",
        "Inductor measures them to choose, which is no error.",
        "Which was chosen, and for what, stands in the AUTOTUNE tables.",
        'TORCH_LOGS="+inductor"',
        "Record all searches.",
    ),
    "perf_hints": _Words(
        "hints of Inductor's about a kernel",
        "They say what it could not do better; most of them cost nothing.",
        "Whether the kernel matters is told by a profile.",
        'TORCH_LOGS="perf_hints,output_code"',
        "Record the hints with the generated code.",
    ),
    "fusion": _Words(
        "what Inductor fused, and what not",
        "Most pairs that it keeps apart are better apart.",
        "What the nodes compute is in the generated code.",
        'TORCH_LOGS="fusion,output_code"',
        "Record the generated code with the fusion log.",
    ),
    "schedule": _Words(
        "nodes of Inductor's schedule",
        "Each is a kernel, or a part of one; that is no error.",
        "What they compute is in the generated code.",
        'TORCH_LOGS="fusion,output_code"',
        "Record the generated code with the fusion log.",
    ),
    "inductor_debug": _Words(
        "what Inductor notes while it compiles",
        "It is no error.",
        "What became of it is in the generated code.",
        'TORCH_LOGS="output_code,graph_breaks,recompiles"',
    ),
    "inductor_metrics": _Words(
        "Inductor's own counts of a kernel",
        "They tell how many bytes a kernel moves, which is no error.",
        "What the kernel computes is in the generated code.",
        'TORCH_LOGS="output_code"',
    ),
    "dynamo_debug": _Words(
        "what Dynamo notes while it traces",
        "It steps through the program's bytecode; that is no error.",
        "Where it left the graph, and why, is told apart.",
        'TORCH_LOGS="graph_breaks,recompiles"',
        "Record breaks and recompiles only.",
    ),
    "trace_source": _Words(
        "the lines that Dynamo traces",
        "They are the program's, one after the other; that is no error.",
        "Where it left the graph, and why, is told apart.",
        'TORCH_LOGS="graph_breaks,recompiles"',
        "Record breaks and recompiles only.",
    ),
    "bytecode": _Words(
        "the bytecode that Dynamo made",
        "It calls the compiled graph; that is no error.",
        "Why a graph ends where it does is told with the graph break.",
        'TORCH_LOGS="graph_breaks"',
        "Record every break, with its place.",
    ),
    "graph_code": _Words(
        "a traced FX graph",
        "It is what Dynamo made of the program, one operation a line: what is compiled, not how "
        "fast it is.",
        "Graph breaks, recompiles and the generated code tell how it runs.",
        'TORCH_LOGS="graph_breaks,recompiles,output_code"',
    ),
    "aot_graphs": _Words(
        "a graph of AOTAutograd",
        "It is what is compiled, one operation a line, not how fast it is.",
        "Graph breaks, recompiles and the generated code tell how it runs.",
        'TORCH_LOGS="graph_breaks,recompiles,output_code"',
    ),
    "compiled_autograd": _Words(
        "what compiled autograd traced",
        "It compiles the backward pass as one graph; that is no error.",
        "Whether it is compiled again at each step is told with the recompile.",
        'TORCH_LOGS="compiled_autograd_verbose,recompiles"',
    ),
    "ddp": _Words(
        "how DDP's optimizer split the graph",
        "Each bucket of gradients is a graph of its own, so that they can be sent early.",
        "How long a step waits for them is in a trace.",
        'TORCH_LOGS="ddp_graphs,graph_breaks"',
    ),
    "miopen": _Words(
        "lines of MIOpen, AMD's library of convolutions",
        "They are no error of torch's.",
        "Which solvers ran is told with its commands.",
        "MIOPEN_LOG_LEVEL=5 MIOPEN_ENABLE_LOGGING_CMD=1",
    ),
    "vllm_compile": _Words(
        "lines of a server's start",
        "They are steps of loading, compiling and capturing, and no error.",
        "How long the start takes in all is told by its last line.",
        "VLLM_LOGGING_LEVEL=DEBUG",
        "Give the log from the first line to `init engine`.",
    ),
    "recompiles": _Words(
        "a recompile",
        "A compiled function did not fit a call, and was compiled again. Once or twice is usual.",
        "How often that happens is in the rest of the run.",
        'TORCH_LOGS="recompiles"',
        "Record every recompile.",
    ),
    "graph_breaks": _Words(
        "a graph break",
        "Dynamo left the graph.",
        "How often, and what it costs, is in the rest of the run.",
        'TORCH_LOGS="graph_breaks"',
        "Record every break, with its place.",
    ),
}


def of(evidence: Evidence) -> Part | None:
    """Return what the log is, told by the kind that it holds most of; None where none is known."""
    known = [kind for kind in evidence.kinds if kind in _WORDS]
    if not known:
        return None
    kind = max(known, key=lambda one: (evidence.kinds[one], one))
    words = _WORDS[kind]
    held = [row for row in evidence.rows() if _home(type(row.record)) == kind]
    told = _TOLD[kind](held) if kind in _TOLD else ""
    return Part(
        words.what,
        " ".join(filter(None, (told, words.means))),
        words.rest,
        Advice(
            id=f"more-{kind}",
            text=words.text,
            env=words.env or None,
            code=words.code,
            basis="source",
        ),
        evidence.kinds[kind],
        [row.quote() for row in few(held)],
    )


def _home(kind: type[Record]) -> str:
    return kind.__module__.rpartition(".")[2]


#: Share of reorders in the time shown, from which they are worth a word.
MUCH_MOVED = 0.2


def _onednn(rows: list[Seen[Record]]) -> str:
    """Tell which primitives took the time, by how they are implemented."""
    from tracelens.logs.onednn_verbose import PrimitiveExec  # noqa: PLC0415 -- of few logs

    spent: dict[str, float] = {}
    for row in rows:
        if isinstance(row.record, PrimitiveExec):
            name = f"`{row.record.primitive}` on `{row.record.impl}`"
            spent[name] = spent.get(name, 0.0) + (row.ms or 0.0)
    if not spent:
        return "They tell what oneDNN made or checked, and no execution."
    names = sorted(spent, key=lambda name: -spent[name])
    moved = sum(ms for name, ms in spent.items() if name.startswith("`reorder`"))
    total = sum(spent.values())
    if len(names) > 1 and moved >= MUCH_MOVED * total:
        return (
            f"They show {length(total)}, {100 * moved / total:.0f} % of it reorders, which copy a "
            "tensor into another layout and compute nothing. Around activations, one memory format "
            "throughout (channels_last) avoids them; of weights, freezing or packing them once."
        )
    most = ", ".join(f"{name} {length(spent[name])}" for name in names[:3])
    return (
        f"They show {most}{and_more(len(names), 3)}; none of it is a reference implementation, "
        "and nothing in so few lines is out of place."
    )


def _dynamic(rows: list[Seen[Record]]) -> str:
    from tracelens.logs.dynamic import CreateSymbol  # noqa: PLC0415 -- of few logs

    made = [row.record for row in rows if isinstance(row.record, CreateSymbol)]
    if not made:
        return ""
    sources = [one.source for one in made if one.source]
    return f"{plural(len(made), 'symbol')} for {listed(sources, 3)}."


def _compile_times(rows: list[Seen[Record]]) -> str:
    """Tell the longest phase that holds others, and the longest that does not hold half of it."""
    from tracelens.logs.compile_times import PhaseTimes  # noqa: PLC0415 -- of few logs

    tables = [row.record for row in rows if isinstance(row.record, PhaseTimes)]
    phases = sorted((p for table in tables for p in table.phases), key=lambda p: -p.total)
    return _phases([(phase.name, phase.total) for phase in phases])


def _phases(ranked: list[tuple[str, float]]) -> str:
    if not ranked:
        return ""
    most = ", ".join(f"`{name}` {number(seconds)} s" for name, seconds in ranked[:4])
    return f"Longest are {most}{and_more(len(ranked), 4)}."


def _nsys(rows: list[Seen[Record]]) -> str:
    from tracelens.logs.nsys_stats import NsysTable  # noqa: PLC0415 -- of few logs

    tables = [row.record for row in rows if isinstance(row.record, NsysTable)]
    named = sorted((one for table in tables for one in table.typed()), key=lambda one: -one.ms)
    if not named:
        return ""
    first = named[0]
    waits = first.name in _WAITS
    why = ": a thread that waits, which costs nothing" if waits else ""
    return f"Most of its time is `{first.name}`, {length(first.ms)} in {first.calls:,} calls{why}."


#: Calls in which threads of every process sleep.
_WAITS = frozenset(
    {
        "sem_wait",
        "sem_timedwait",
        "sem_clockwait",
        "poll",
        "ppoll",
        "epoll_wait",
        "select",
        "nanosleep",
        "clock_nanosleep",
        "futex",
        "pthread_cond_wait",
        "pthread_cond_timedwait",
        "pthread_cond_clockwait",
        "pthread_join",
        "waitpid",
    }
)


def _autotune(rows: list[Seen[Record]]) -> str:
    from tracelens.logs.autotune import AutotuneTable  # noqa: PLC0415 -- of few logs

    tables = (row.record for row in few(rows) if isinstance(row.record, AutotuneTable))
    return " ".join(
        f"For `{one.op}` ({one.shape}) `{ran[0].kernel}` was the fastest of {len(ran)}."
        for one, ran in _ranked(tables)
    )


def _ranked(tables: Iterator[AutotuneTable]) -> Iterator[tuple[AutotuneTable, list[Choice]]]:
    for table in tables:
        ran = sorted((c for c in table.choices if c.ran), key=lambda choice: choice.ms)
        if ran:
            yield table, ran


def _recompiles(rows: list[Seen[Record]]) -> str:
    """Tell which functions, and by which guards."""
    from tracelens.logs.recompiles import Recompile  # noqa: PLC0415 -- of few logs

    again = [row.record for row in rows if isinstance(row.record, Recompile)]
    said = [
        f"`{one.function}` in {one.file}:{one.line} did not fit since `{one.newest.check}`."
        for one in again
        if one.newest is not None and one.newest.check is not None
    ]
    return " ".join(dict.fromkeys(said[:3]))


def _key_averages(rows: list[Seen[Record]]) -> str:
    """Tell the totals below a table, of the host and of the device."""
    from tracelens.logs.key_averages import KeyAverages  # noqa: PLC0415 -- of few logs

    totals = {
        total.total: total.duration
        for row in rows
        if isinstance(row.record, KeyAverages)
        for total in row.record.totals
        if total.duration
    }
    if not totals:
        return ""
    said = ", ".join(f"{name} {length(ms or 0.0)}" for name, ms in totals.items())
    host, device = totals.pop("Self CPU", None), next(iter(totals.values()), None)
    if host and device and host >= LAUNCH_BOUND * device:
        return (
            f"Its foot says {said}: the host took {host / device:.0f} times as long as the device, "
            "which waited for it. Larger batches, or CUDA graphs (mode='reduce-overhead'), help."
        )
    return f"Its foot says {said}."


#: Times of the host for one of the device's, from which kernels are too short for their launches.
LAUNCH_BOUND = 3.0

_TOLD: Mapping[str, Callable[[list[Seen[Record]]], str]] = {
    "onednn_verbose": _onednn,
    "dynamic": _dynamic,
    "compile_times": _compile_times,
    "key_averages": _key_averages,
    "nsys_stats": _nsys,
    "recompiles": _recompiles,
    "autotune": _autotune,
}
