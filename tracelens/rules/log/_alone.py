"""What a short log is in which no rule finds anything: what was seen, and what would settle it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tracelens.report import Advice
from tracelens.rules.log import _cuts, _nsys, _profiles, _references, _warned
from tracelens.rules.log._alone_words import WORDS
from tracelens.rules.log._parts import Part
from tracelens.words import and_more, few, length, listed, number, plural

if TYPE_CHECKING:
    from tracelens.evidence import Evidence, Seen
    from tracelens.logs import Record
    from tracelens.logs.autotune import AutotuneTable, Choice
    from tracelens.logs.key_averages import Average
    from tracelens.rules.log._sizes import About

__all__ = ["of"]


def of(evidence: Evidence) -> Part | None:
    """Return what the log is, told by the kind that it holds most of; None where nothing tells."""
    known = [kind for kind in evidence.kinds if kind in WORDS]
    most = not known or evidence.unread_lines > evidence.understood_lines
    if most and ((cut := _cuts.of(evidence)) is not None or not known):
        return cut
    kind = max(known, key=lambda one: (one not in _NOTES, evidence.kinds[one], one))
    if kind == "torch_trace" and any(True for _ in evidence.rows()):
        return None  # the payloads are there, and are of other kinds
    held = [row for row in evidence.rows() if _home(type(row.record)) == kind]
    foot = kind == "key_averages" and not _averages(held)
    words = WORDS["foot of key_averages" if foot else _told_as(kind, held)]
    told = _TOLD[kind](held) if kind in _TOLD else ""
    about = _ABOUT[kind](held) if kind in _ABOUT else None
    if about:
        told = about.means
        words = words._replace(means="", text=about.do)
    part = Part(
        words.what,
        " ".join(filter(None, (told, words.means))),
        words.rest,
        Advice(
            id=f"more-{kind}",
            text=words.text,
            env=words.env or None,
            code=_sorted_by(held) if foot else words.code,
            basis="source",
        ),
        evidence.kinds[kind],
        [row.quote() for row in few(held)],
        whole=words.whole,
        title=about.title if about else "",
    )
    return _warned.of(" ".join(row.text for row in held), part) if kind == "warnings" else part


#: Kinds whose records accompany those of others.
_NOTES = frozenset({"dynamo_debug", "inductor_debug", "torch_notes"})


def _told_as(kind: str, held: list[Seen[Record]]) -> str:
    """Return the kind whose words tell it: up to torch 2.2 fusion had no artifact of its own."""
    apart = sum("cannot fuse" in row.text for row in held)
    return "fusion" if kind in _WITH_FUSION and 2 * apart > len(held) else kind


_WITH_FUSION = frozenset({"inductor_debug", "schedule"})


def _home(kind: type[Record]) -> str:
    return kind.__module__.rpartition(".")[2]


#: Share of reorders in the time shown, from which they are worth a word.
MUCH_MOVED = 0.2


def _onednn(rows: list[Seen[Record]]) -> str:
    """Tell which primitives took the time, by how they are implemented."""
    from tracelens.logs.onednn_verbose import (  # noqa: PLC0415 -- of few logs
        PrimitiveCreate,
        PrimitiveExec,
    )

    spent: dict[str, float] = {}
    runs = [row.record for row in rows if isinstance(row.record, PrimitiveExec)]
    for row in rows:
        if isinstance(row.record, PrimitiveExec):
            name = _references.named(row.record)
            spent[name] = spent.get(name, 0.0) + (row.ms or 0.0)
    if not spent:
        made = [_references.named(r.record) for r in rows if isinstance(r.record, PrimitiveCreate)]
        told = f", {made[0]}{and_more(len(set(made)), 1)}" if made else ""
        return f"They tell what oneDNN made or checked{told}, and no execution that can be read."
    if any(not run.impl for run in runs):
        return (
            "`gemm_api` is oneDNN's BLAS-like interface: a product that is called without a matmul "
            "primitive, so that its implementation and its packed weights are not told."
        )
    names = sorted(spent, key=lambda name: -spent[name])
    moved = sum(ms for name, ms in spent.items() if name.startswith("`reorder`"))
    total = sum(spent.values())
    if not total:
        most = f"{', '.join(sorted(names)[:3])}{and_more(len(names), 3)}"
        return f"They show {most}, without times{_references.told(runs)}."
    if len(names) > 1 and moved >= MUCH_MOVED * total:
        return (
            f"They show {length(total)}, {100 * moved / total:.0f} % of it reorders, which copy a "
            "tensor into another layout and compute nothing. Around activations, one memory format "
            "throughout (channels_last) avoids them; of weights, freezing or packing them once."
        )
    most = ", ".join(f"{name} {length(spent[name])}" for name in names[:3])
    if moved == total:
        return (
            f"They show {most}{and_more(len(names), 3)}. A reorder copies a tensor into another "
            "layout, and computes nothing: of weights, freezing or prepacking does it once; of "
            "activations, one memory format throughout avoids it."
        )
    return f"They show {most}{and_more(len(names), 3)}{_references.told(runs)}."


def _dynamic(rows: list[Seen[Record]]) -> str:
    from tracelens.logs.dynamic import CreateSymbol  # noqa: PLC0415 -- of few logs

    made = [row.record for row in rows if isinstance(row.record, CreateSymbol)]
    sources = list(dict.fromkeys(one.source.strip() for one in made if one.source))
    return f"{plural(len(made), 'symbol')} for {listed(sources, 3)}." if sources else ""


def _guarded(rows: list[Seen[Record]]) -> About | None:
    """Return what conditions on sizes the lines tell of."""
    from tracelens.logs.dynamic import CreateSymbol, GuardAdded, Replaced  # noqa: PLC0415
    from tracelens.rules.log._sizes import about, noted  # noqa: PLC0415 -- of few logs

    if noted_alone := noted(row.text for row in rows):
        return noted_alone
    records = [row.record for row in rows]
    sources = {one.symbol: one.source.strip() for one in records if isinstance(one, CreateSymbol)}
    return about((one for one in records if isinstance(one, GuardAdded | Replaced)), sources)


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
    totals = _totals(rows)
    if averages := _averages(rows):
        return _profiles.told(averages)
    if not totals:
        return ""
    said = ", ".join(f"{name} {length(ms or 0.0)}" for name, ms in totals.items())
    host, device = totals.pop("Self CPU", None), next(iter(totals.values()), None)
    if host and device and host >= _profiles.LAUNCH_BOUND * device:
        graphs = ", or CUDA graphs (mode='reduce-overhead')," if "Self CUDA" in totals else ""
        return (
            f"Its foot says {said}. The host's operators sum up to {host / device:.0f} times the "
            "device's time: if no compilation and no data loading is in it, launches are the "
            f"limit, and larger batches{graphs} help."
        )
    return f"Its foot says {said}."


def _averages(rows: list[Seen[Record]]) -> list[Average]:
    """Return the rows of the tables."""
    from tracelens.logs.key_averages import KeyAverages  # noqa: PLC0415 -- of few logs

    tables = [row.record for row in rows if isinstance(row.record, KeyAverages)]
    return [one for table in tables for one in table.averages()]


def _totals(rows: list[Seen[Record]]) -> dict[str, float]:
    from tracelens.logs.key_averages import KeyAverages  # noqa: PLC0415 -- of few logs

    return {
        total.total.strip(): total.duration
        for row in rows
        if isinstance(row.record, KeyAverages)
        for total in row.record.totals
        if total.duration
    }


def _sorted_by(rows: list[Seen[Record]]) -> str:
    """Return the call that prints the table sorted by what its foot tells of, the device first."""
    totals = _totals(rows)
    device = next((name for name in ("CUDA", "XPU") if f"Self {name}" in totals), "CPU")
    key = f"self_{device.lower()}_time_total"
    return f'print(prof.key_averages().table(sort_by="{key}", row_limit=30))'


def _counters(rows: list[Seen[Record]]) -> str:
    """Tell how many graphs were compiled, and whether caches were used."""
    from tracelens.logs.counters import DynamoCounters  # noqa: PLC0415 -- of few logs

    said = []
    for one in (row.record for row in rows if isinstance(row.record, DynamoCounters)):
        count = one.of("stats", "inductor", "aot_autograd", "")
        if graphs := count.get("unique_graphs"):
            said.append(f"{plural(graphs, 'graph')} were compiled." if graphs > 1 else _ONE_GRAPH)
        said += [what for name, what in _CACHES.items() if count.get(name)]
    return " ".join(dict.fromkeys(said))


_ONE_GRAPH = "One graph was compiled."
_CACHES = {
    "fxgraph_cache_bypass": "A graph could not be kept in Inductor's cache, and is compiled again "
    'in each process: TORCH_LOGS="+torch._inductor.codecache" says why.',
    "autograd_cache_bypass": "A graph could not be kept in AOTAutograd's cache: "
    'TORCH_LOGS="+torch._functorch._aot_autograd.autograd_cache" says why.',
    "fxgraph_cache_hit": "A graph came out of Inductor's cache.",
    "fxgraph_cache_miss": "A graph was not in Inductor's cache, as in every first run.",
}


#: Words of warnings that many see, and what they mean.
_WARNED = {
    "new API settings to control TF32": "It is about the names of settings, which torch 2.9 "
    "changed: nothing is slower by it. Use the old names or the new ones, not both.",
}


def _warnings(rows: list[Seen[Record]]) -> str:
    from tracelens.logs.warnings import TorchWarning  # noqa: PLC0415 -- of few logs

    texts = [row.text for row in rows if isinstance(row.record, TorchWarning)]
    known = (means for text in texts for words, means in _WARNED.items() if words in text)
    return next(known, "")


def _hints(rows: list[Seen[Record]]) -> str:
    if any(row.text.startswith("make_fallback(") for row in rows):
        return (
            "That an operator has a decomposition, and is not decomposed, is harmless: eager's "
            "kernel runs it. Torch wrote it for its own developers, up to 2.0."
        )
    return ""


def _inductor(rows: list[Seen[Record]]) -> str:
    if any("device mismatch" in row.text for row in rows):
        return (
            "A device mismatch is a tensor of another device in the graph: what computes it there "
            "is no part of the others' kernel. Create or move it where the others are."
        )
    if any("unable to load compiled graph" in row.text for row in rows):
        return (
            "A graph in Inductor's cache could not be loaded, most likely as another process was "
            "writing it or a kernel of it is gone; it is compiled again."
        )
    return ""


def _explain(rows: list[Seen[Record]]) -> str:
    """Tell into how many graphs the calls fell."""
    from tracelens.logs.explain import Explanation  # noqa: PLC0415 -- of few logs

    made = [row.record for row in rows if isinstance(row.record, Explanation)]
    return " ".join(dict.fromkeys(_of_graphs(one.graphs, bool(one.break_reasons)) for one in made))


def _of_graphs(graphs: int, has_reasons: bool) -> str:
    if graphs <= 0:
        return "The call was not traced at all."
    if graphs == 1:
        return "The call was traced as one graph."
    of_them = "its reason is" if graphs == 2 else "their reasons are"
    reasons = "" if has_reasons else f"; {of_them} not in it"
    return f"The call fell into {graphs:,} graphs, by {plural(graphs - 1, 'break')}{reasons}."


#: Lines that say that a graph, or a part of one, is run without CUDA graphs.
_UNRECORDED = re.compile(
    r"(?:skipping|disabling) cudagraph|cudagraph partition due to ", re.IGNORECASE
)


def _cudagraphs(rows: list[Seen[Record]]) -> str:
    """Tell whether something was not recorded."""
    from tracelens.logs import cudagraphs as logged  # noqa: PLC0415 -- of few logs

    skips = (logged.CudagraphSkip, logged.CudagraphPartition, logged.RerecordLimit)
    notes = (row.record.note for row in rows if isinstance(row.record, logged.CudagraphNote))
    if any(isinstance(row.record, skips) for row in rows) or any(map(_UNRECORDED.search, notes)):
        return "Inductor did not record a graph, or a part of one, for the reason in the line."
    return "Functions run once to warm up, are recorded, and are replayed from then on."


#: Sizes of one graph, from which on a list of recordings is about them.
SOME_SIZES = 3


def _recorded_sizes(rows: list[Seen[Record]]) -> About | None:
    """Tell for how many sizes graphs were recorded."""
    from tracelens.logs.cudagraphs import CudagraphRecording  # noqa: PLC0415 -- of few logs
    from tracelens.rules.log._addresses import moved  # noqa: PLC0415
    from tracelens.rules.log._sizes import About  # noqa: PLC0415

    if told := moved("\n".join(dict.fromkeys(row.text for row in rows))):
        return told
    records = (row.record for row in rows)
    keys = [one.symints for one in records if isinstance(one, CudagraphRecording) and one.symints]
    sizes = list(dict.fromkeys(keys))
    if len(sizes) < SOME_SIZES:
        return None
    return About(
        f"CUDA graphs for {len(sizes)} sizes: {', '.join(sizes[:4])}{and_more(len(sizes), 4)}",
        "A graph with symbolic sizes is recorded anew for each of them, which costs a warm-up, a "
        "recording, and memory that it keeps.",
        "Pad the inputs to a few sizes, and run each of them once at the start; or record no graph "
        "with symbolic sizes (torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True).",
    )


_ABOUT: Mapping[str, Callable[[list[Seen[Record]]], About | None]] = {
    "cudagraphs": _recorded_sizes,
    "dynamic": _guarded,
}


def _errors(rows: list[Seen[Record]]) -> str:
    """Tell of errors of a search, which goes on without what failed."""
    return _SEARCHED if all("autotuning" in row.text for row in rows) else ""


_SEARCHED = (
    "A candidate kernel of a search did not compile, or did not run. Inductor leaves it out and "
    "goes on with the others: it is no error by itself."
)

_TOLD: Mapping[str, Callable[[list[Seen[Record]]], str]] = {
    "onednn_verbose": _onednn,
    "dynamic": _dynamic,
    "counters": _counters,
    "warnings": _warnings,
    "inductor_debug": _inductor,
    "perf_hints": _hints,
    "schedule": _inductor,
    "explain": _explain,
    "cudagraphs": _cudagraphs,
    "compile_times": _compile_times,
    "key_averages": _key_averages,
    "nsys_stats": _nsys.told,
    "recompiles": _recompiles,
    "autotune": _autotune,
    "compile_errors": _errors,
}
