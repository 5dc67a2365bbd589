"""What pasted parts of a log are, what they most likely mean, and what would tell the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.report import Advice, EvidenceLine
from tracelens.words import and_more, few, length

if TYPE_CHECKING:
    from tracelens.logs.autotune import AutotuneTable, LooseChoices
    from tracelens.logs.dynamic import GuardAdded, Replaced
    from tracelens.logs.fragments import Fragment
    from tracelens.logs.fusion import FusionRefused
    from tracelens.logs.key_averages import KeyAverages
    from tracelens.logs.nsys_stats import NsysTable
    from tracelens.logs.onednn_verbose import LibraryVersion, PrimitiveExec
    from tracelens.logs.recompiles import LooseFailures, Recompile

__all__ = ["Part", "heads", "of", "of_nsys", "of_tables"]

#: Lines of oneDNN, without its header, that are a quotation and no log.
FEW_LINES = 5


class Part(NamedTuple):
    """A part of a log."""

    what: str
    means: str
    rest: str
    advice: Advice
    seen: int
    quotes: list[EvidenceLine]
    #: It is a log of its own, not a part of one of torch's.
    whole: bool = False
    #: What the title says instead of ``what`` alone.
    title: str = ""


class _Words(NamedTuple):
    """What a kind of part is and means, what the rest of the log would tell, and how to get it."""

    what: str
    means: str
    rest: str
    text: str
    env: str


_WORDS = {
    "recompiles": _Words(
        what="reasons of a recompile",
        means="A compiled function did not fit a call for these reasons: it is compiled again, "
        "unless a stance or a limit forbids it.",
        rest="Which function, where, and how often, stands above them in the log.",
        text="Record every recompile, with its function.",
        env='TORCH_LOGS="recompiles"',
    ),
    "breaks": _Words(
        what="a graph break",
        means="Dynamo left the graph for this reason.",
        rest="Where in the program, and how often, is not in it.",
        text="Record every break, with its place.",
        env='TORCH_LOGS="graph_breaks"',
    ),
    "frame": _Words(
        what="a function that is not compiled",
        means="Dynamo could not compile it, and it runs eagerly. That is as good as a graph break, "
        "unless errors are suppressed.",
        rest="The lines below it in the log hold the error.",
        text="Record breaks, and what Dynamo does.",
        env='TORCH_LOGS="graph_breaks,dynamo"',
    ),
    "shapes": _Words(
        what="what became of single sizes",
        means="A symbol `s` is a size that may change, a condition with a symbol a guard on it, "
        "and `u` a number that is only known when the graph runs.",
        rest="Which function, and whether it is compiled again, is not in them.",
        text="Record sizes with the recompiles.",
        env='TORCH_LOGS="dynamic,recompiles"',
    ),
    "guards": _Words(
        what="a part of a guard tree",
        means="It lists what must hold for a compiled frame to be used again. That is no failure: "
        "the guard that fails is named with the recompile.",
        rest="The rest of the tree tells how many guards there are and what a check costs.",
        text="Record recompiles, and whole trees.",
        env='TORCH_LOGS="recompiles,guards"',
    ),
    "cpp": _Words(
        what="a generated C++ kernel",
        means="Its loops and threads are judged; how often it runs is not known.",
        rest="The whole module has the calls, the sizes and what runs beside it.",
        text="Record the whole generated module.",
        env='TORCH_LOGS="output_code"',
    ),
    "triton": _Words(
        what="a generated Triton kernel",
        means="Its name lists the operators that were fused into it, some of which may be computed "
        "elsewhere.",
        rest="The whole module has the calls, the sizes and what runs beside it.",
        text="Record the whole generated module.",
        env='TORCH_LOGS="output_code"',
    ),
    "graph": _Words(
        what="a traced FX graph",
        means="It is what Dynamo or AOTAutograd made of the program, one operation a line: what is "
        "compiled, not how fast it is or why something failed.",
        rest="If it was printed with an error, the error stands above or below it: its last lines "
        "are what matters. Else graph breaks, recompiles and the generated code tell how it runs.",
        text="Give the whole output of the run, with what became of the graph.",
        env='TORCH_LOGS="graph_breaks,recompiles,output_code"',
    ),
    "calls": _Words(
        what="calls of a generated module",
        means="What begins with `extern_kernels` or `torch.ops` runs in a library; the other calls "
        "are generated kernels.",
        rest="The whole module tells what could be fused, and the fusion log why it was not.",
        text="Record the whole module, and fusion.",
        env='TORCH_LOGS="output_code,fusion"',
    ),
}


def of(
    fragments: Table[Fragment],
    failures: Table[LooseFailures],
    rows: Table[LooseChoices],
    execs: Table[PrimitiveExec],
    versions: Table[LibraryVersion],
    *,
    kinds: Mapping[str, int],
    shapes: Iterable[GuardAdded | Replaced] = (),
    nameless: Iterable[Recompile] = (),
    told: Iterable[str] = (),
) -> Iterator[Part]:
    """Yield the parts; a graph that is printed beside other records is none.

    ``kinds`` says how many records of each kind there are, ``shapes`` what sizes became,
    ``nameless`` are recompiles without their function; ``told`` are kinds that an error tells of.
    """
    by_kind: dict[str, list[Seen[Fragment] | Seen[LooseFailures]]] = {}
    if len(failures):
        by_kind["recompiles"] = list(failures)
    for seen in fragments:
        by_kind.setdefault(seen.record.what, []).append(seen)
    if kinds.keys() - {"fragments"}:
        by_kind.pop("graph", None)
    for other in ("rest", "limit", *told):  # `_rests` has the one, RCP001 the other
        by_kind.pop(other, None)
    for kind, held in by_kind.items():
        words = _WORDS[kind]
        advice = Advice(id=f"whole-{kind}", text=words.text, env=words.env, basis="source")
        quotes = [seen.quote() for seen in few(held)]
        means, title = words.means, ""
        if kind == "shapes":
            from tracelens.rules.log import _sizes  # noqa: PLC0415 -- of few logs

            if about := _sizes.about(shapes):
                title, means = about.title, about.means
                advice = advice.model_copy(update={"text": about.do})
        if kind == "recompiles":
            from tracelens.rules.log import _reasons  # noqa: PLC0415 -- of few logs

            loose: list[LooseFailures | Recompile] = [row.record for row in failures]
            loose = loose or list(nameless)  # the same ones
            means = f"{means} {_reasons.told(loose)}".rstrip()
            title = _reasons.named(loose)
        yield Part(words.what, means, words.rest, advice, _count(held), quotes, title=title)
    if len(rows):
        yield _choices(list(rows))
    few_runs = 0 < execs.count <= FEW_LINES and not len(versions)
    timed = any(row.ms for row in execs)  # of these ONE019 tells
    if few_runs and not timed:
        yield from _lines(list(execs))


def of_tables(averages: Table[KeyAverages]) -> Iterator[Part]:
    """Yield the rows of the profiler's tables whose head is missing."""
    held = [row for row in averages if row.record.rows and not row.record.header]
    if not held:
        return
    from tracelens.rules.log import _profiles  # noqa: PLC0415 -- of few logs

    rows = [one for seen in held for one in seen.record.averages()]
    yield Part(
        "rows of the profiler's table",
        _profiles.told(rows, held[0].record.whole() if len(held) == 1 else (None, None)),
        "The columns are taken as those that torch prints; totals and the other rows are missing.",
        Advice(
            text="Print the whole table, sorted by what matters.",
            code='print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=30))',
        ),
        sum(seen.count for seen in held),
        [seen.quote() for seen in few(held)],
    )


#: Records without what belongs to them, more of which are a log and no quotation.
FEW_HEADS = 5


def heads(
    tables: Table[AutotuneTable],
    again: Table[Recompile],
    refused: Table[FusionRefused],
    kinds: Mapping[str, int],
) -> Iterator[Part]:
    """Yield first lines whose rest was not pasted, where nothing else is in the log.

    ``kinds`` says how many records of each kind there are.
    """
    if len(kinds) != 1:
        return
    first = next((row.record for row in tables if row.record.op), None)
    if first and len(tables) <= FEW_HEADS and not any(row.record.choices for row in tables):
        yield Part(
            "the head of an AUTOTUNE table",
            f"Inductor times kernels for `{first.op}` ({first.shape}), which max-autotune does. "
            "That is no error.",
            "Which kernel won, and what the search took, stands in the lines below it.",
            Advice(
                id="whole-search",
                text="Record the searches with their tables.",
                env='TORCH_LOGS="+inductor"',
                basis="source",
            ),
            tables.count,
            [row.quote() for row in few(tables)],
        )
    if 0 < len(again) <= FEW_HEADS and not any(row.record.failures for row in again):
        one = next(iter(again)).record
        yield Part(
            "that a function was compiled again",
            f"A call of `{one.function}` did not fit what was compiled before. Once or twice is "
            "usual; at each call it is slow.",
            "Which guard failed stands in the lines below it.",
            Advice(
                id="whole-recompiles",
                text="Record every recompile, with its reasons.",
                env='TORCH_LOGS="recompiles"',
                basis="source",
            ),
            again.count,
            [row.quote() for row in few(again)],
        )
    if 0 < refused.count <= FEW_HEADS and sum(kinds.values()) == refused.count:
        no = next(iter(refused)).record
        yield Part(
            "why two nodes were not fused",
            f"Inductor kept `{no.first}` and `{no.second}` apart: {no.reason or 'see the line'}. "
            "It says so of most pairs, and most of them are better apart.",
            "What the nodes compute, and whether it costs something, is in the generated code.",
            Advice(
                id="with-code",
                text="Record the generated code with the fusion log.",
                env='TORCH_LOGS="fusion,output_code"',
                basis="source",
            ),
            refused.count,
            [row.quote() for row in few(refused)],
        )


def of_nsys(tables: Table[NsysTable], launches: Sized) -> Iterator[Part]:
    """Yield what took most time in tables of kernels that no rule judges."""
    kernels = [row for row in tables if row.record.of_kernels]
    rows = sorted((one for row in kernels for one in row.record.typed()), key=lambda one: -one.ms)
    total = sum(row.ms for row in rows)
    if not total or len(launches) or rows[0].name.startswith("[CUDA "):
        return  # of copies TRC014 tells
    first = rows[0]
    told = first.percent if len(kernels) == 1 else None
    percent = 100 * first.ms / total if told is None else told
    made = "Inductor generated it" if first.name.startswith("triton_") else "a library brings it"
    yield Part(
        "a table of kernels of Nsight Systems",
        f"`{first.name}` takes {percent:.0f} % of the kernels' time "
        f"({length(first.ms)} in {first.calls:,} calls; {made}).",
        "Whether the device waited for the host is in the table of CUDA's calls.",
        Advice(
            id="api-sum",
            text="Print the calls beside the kernels.",
            code="nsys stats --report cuda_api_sum,cuda_gpu_kern_sum report.nsys-rep",
            basis="source",
        ),
        sum(row.count for row in kernels),
        [row.quote() for row in few(kernels)],
        whole=True,
    )


def _count(rows: Iterable[Seen[Fragment] | Seen[LooseFailures]]) -> int:
    return sum(row.count for row in rows)


def _choices(rows: list[Seen[LooseChoices]]) -> Part:
    if not any(row.record.choices for row in rows):
        return _searched(rows)
    ran = sorted((c for c in rows[0].record.choices if c.ran), key=lambda choice: choice.ms)
    means = "No candidate in them ran."
    if ran:
        means = f"Of those in it, `{ran[0].kernel}` was the fastest, with {length(ran[0].ms)}."
    library = next((choice for choice in ran if not choice.is_template), None)
    if library is not None and ran[0].is_template and ran[0].ms:
        means += f" The library's `{library.kernel}` took {library.ms / ran[0].ms:.3g} times that."
    if ran and len(ran) < len(rows[0].record.choices):
        means += (
            " That a candidate has no time (`inf`) is no error: most often it needs more shared "
            "memory than the GPU has, and is left out."
        )
    if any("ALLOW_TF32=False" in choice.parameters for choice in ran):
        means += (
            " They are timed without TF32; if the product is of float32, "
            "torch.set_float32_matmul_precision('high') lets it use tensor cores."
        )
    spent = _spent(rows)
    if spent:
        means += f" The search took {length(1e3 * spent)}; its choice is kept in Inductor's cache."
    what = "rows of an AUTOTUNE table"
    won = f"{what}: `{ran[0].kernel}` is the fastest of {len(ran)}" if len(ran) > 1 else ""
    return Part(
        what,
        means,
        "The operator and its shapes stand in the line above them, and a faster candidate may.",
        Advice(
            id="whole-table",
            text="Post the tables from their first line on, the one that begins with AUTOTUNE.",
            basis="source",
        ),
        sum(row.count for row in rows),
        [row.quote() for row in few(rows)],
        title=won,
    )


def _spent(rows: list[Seen[LooseChoices]]) -> float:
    """Return the seconds that searches took."""
    held = [(row.record, row.count) for row in rows]
    return sum(n * ((one.seconds or 0.0) + (one.precompiling or 0.0)) for one, n in held)


def _searched(rows: list[Seen[LooseChoices]]) -> Part:
    """Tell what searches took whose tables are not there."""
    return Part(
        "what searches for kernels took",
        f"{length(1e3 * _spent(rows))} of timing candidates and of compiling them, which is no"
        " error: the choices are kept, and the next start with the same cache does not search"
        " again.",
        "Which kernels they compared, and how long the other searches took, is not in it.",
        Advice(
            id="searches",
            text="Record the searches; keep the cache from start to start; or leave max-autotune"
            " out where the time matters.",
            env='TORCH_LOGS="+inductor" TORCHINDUCTOR_CACHE_DIR=/var/tmp/inductor',
            basis="source",
        ),
        sum(row.count for row in rows),
        [row.quote() for row in few(rows)],
    )


def _lines(rows: list[Seen[PrimitiveExec]]) -> Iterator[Part]:
    from tracelens.rules.log import _references  # noqa: PLC0415 -- of few logs

    if _references.has_own_finding(rows):
        return
    shown = dict.fromkeys(_references.named(row.record) for row in rows)
    means = f"They show {', '.join(shown)}{_references.told(row.record for row in rows)}."
    if 2 * sum(row.record.primitive == "reorder" for row in rows) > len(rows):
        means += (
            " A reorder copies a tensor into another layout, and computes nothing: of weights,"
            " freezing or prepacking does it once; of activations, one memory format throughout"
            " avoids it."
        )
    if any(not row.record.impl for row in rows):
        means = (
            "They show `gemm_api`, oneDNN's BLAS-like interface: a product that is called without "
            "a matmul primitive, so that its implementation and its packed weights are not told."
        )
    what, names = "single lines of oneDNN", list(shown)
    yield Part(
        what,
        means,
        "What share of a step that is, and what oneDNN refused before, is not in them.",
        Advice(
            id="executions",
            text="Record all executions and refusals.",
            env="ONEDNN_VERBOSE=profile,dispatch",
            basis="source",
        ),
        sum(row.count for row in rows),
        [row.quote() for row in few(rows)],
        title=f"{what}: {', '.join(names[:2])}{and_more(len(names), 2)}",
    )
