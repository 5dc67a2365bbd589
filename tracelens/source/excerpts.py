"""Hand over what may tell why a program failed: excerpts of an input, in bare lines."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.evidence import Evidence, Place
from tracelens.grammars import Unreadable
from tracelens.late import late
from tracelens.logs import kind
from tracelens.logs.torch_log import read_site
from tracelens.source.prefixes import TORCH, undressed
from tracelens.source.undress import Bare, ended_by_worker, undress
from tracelens.source.watch import MAX_BRIEF, Excerpt, Watch

__all__ = ["hand_over_excerpts", "prepare"]

KIND = "failures"
#: Lines after a traceback with which a program ended; the excerpt holds some of them.
MAX_AFTER = 40
#: How the error of a function that Dynamo leaves out begins; it warns of other things, too.
_TELLS = late(
    r"Traceback \(most recent|WON'T CONVERT|\s{0,8}File \"[^\"\n]{0,300}torch[/\\\\]_"
    r"|[A-Za-z_][\w.]{0,120}(?:Error|Exception|Failed|Unsupported)(?::|$)"
)
#: How a break of the graph begins, and the line with its reason; lines of one.
_BREAK = late(r"Graph break: (?:skip: )?from user code at:")
_REASON = late(r"torch\._dynamo\.exc\.\w{1,40}: ")
MAX_BREAK = 200
#: What names a GPU of AMD's, or its software, and what one of NVIDIA's. Every report of the machine
#: has `ROCM used to build PyTorch: N/A`, and a CPU of AMD's says nothing.
_AMD = late(
    rb"(?m)^(?![^\n]*\bN/A)[^\n]*(?:\b[Rr]adeon\b|\b[Rr][Oo][Cc][Mm]|\bgfx\d{3}|\bhip[A-Z_]"
    rb"|\bRX \d{4}|\bInstinct\b|\bMI\d{3}X?\b)"
)
_NVIDIA = late(rb"GeForce|\bRTX\b|\bGTX\b|\bTesla\b|\bJetson\b|\bNVIDIA [A-Z]{0,2}\d|\b[ABH]\d00\b")
#: Kinds that a program fills which has nothing to do with torch.compile.
_OF_PROGRAMS = frozenset({"compile_errors", KIND, "warnings"})


def prepare(watch: Watch) -> None:
    """Import what reads excerpts, where there is one so far."""
    if watch.has_excerpts:
        from tracelens.failures.causes import hits  # noqa: PLC0415 -- costly, seldom needed
        from tracelens.failures.reading import told  # noqa: F401, PLC0415

        hits("")  # makes the patterns


def hand_over_excerpts(watch: Watch, name: str, lines: int, evidence: Evidence) -> None:
    """Add the excerpts of the input ``name``, which has ``lines`` lines, to the evidence."""
    excerpts = watch.finish()
    of_torch = bool(evidence.kinds.keys() - _OF_PROGRAMS) or bool(evidence.known)
    of_torch = of_torch or bool({one.kind for one in evidence.unread} - _OF_PROGRAMS)
    latest = watch.latest
    if (
        latest is not None
        and latest not in excerpts
        and (of_torch or (not excerpts and lines - latest.lines[-1][0] <= MAX_AFTER))
    ):
        excerpts.append(latest)
    if lines <= MAX_BRIEF:
        if not of_torch and _hand_over_lone(watch, name, evidence):
            return
        if not excerpts and (watch.hot or not of_torch):
            excerpts = [Excerpt(watch.brief)]
    if not excerpts or not excerpts[0].lines:
        return
    from tracelens.failures.reading import told  # noqa: PLC0415 -- costly, seldom needed
    from tracelens.logs.failures import Episode  # noqa: PLC0415

    log = kind(KIND)
    beside = _beside(watch) if lines <= MAX_BRIEF else ""
    for excerpt in excerpts:
        for rank, every in undress(excerpt.lines).items():
            if not (bare := _without_breaks(every)):
                continue
            bare = ended_by_worker(bare, lines)
            marks = ("t" if of_torch else "") + ("s" if lines <= MAX_BRIEF else "")
            text = _text(bare, lines - bare[-1].number, marks, beside)
            place = Place(name, bare[0].number, rank, jumps=_jumps(bare))
            understood = sum(one.number in watch.orphans for one in bare)
            try:
                records = log.parse(text)
            except Unreadable:
                evidence.add(log, text, place, lines=understood)
                continue
            # The program's other troubles are the program's own.
            if any(isinstance(one, Episode) and told(one) is not None for one in records):
                understood += _claimed(excerpt, evidence) if lines <= MAX_BRIEF else 0
                evidence.add(log, text, place, lines=understood, records=records)


def _without_breaks(bare: list[Bare]) -> list[Bare]:
    """Leave out the tracebacks with which torch 2.2 to 2.5 tell why a graph broke: none is raised.

    Nothing is left where nothing else in the lines tells of a failure.
    """
    kept, at = [], 0
    while at < len(bare):
        end = _end_of_break(bare, at) if _BREAK.match(bare[at].text) else at
        kept += bare[at : end + 1] if end == at else []
        at = end + 1
    if len(kept) == len(bare) or any(_TELLS.match(one.text) for one in kept):
        return kept
    return []


def _end_of_break(bare: list[Bare], at: int) -> int:
    """Return the line with the reason; ``at`` where it is not there."""
    inside = False
    for n in range(at + 1, min(len(bare), at + MAX_BREAK)):
        inside = inside or bare[n].text.startswith("Traceback (most recent")
        if _REASON.match(bare[n].text):
            return n if inside else at
    return at


def _claimed(excerpt: Excerpt, evidence: Evidence) -> int:
    """Return how many lines of a failure that is told were noted as of places nobody reads."""
    claimed = 0
    for _, raw in excerpt.lines:
        match = TORCH.match(undressed(raw)[0])
        site = match and (match["site"] or match["site21"])
        label = read_site(site.decode("utf-8", "replace")).label if site else ""
        if label in evidence.known:
            claimed += 1
            evidence.known[label][0] -= 1
            if not evidence.known[label][0]:
                del evidence.known[label]
    return claimed


def _hand_over_lone(watch: Watch, name: str, evidence: Evidence) -> bool:
    """Add what is nothing but a name or a warning of torch's; tell whether there is any."""
    from tracelens.source.lone import lone  # noqa: PLC0415 -- seldom needed

    found = list(lone(watch.brief))
    for one in found:
        place = Place(name, one.number)
        evidence.add(kind(one.kind), one.text, place, lines=1, records=one.records)
    return bool(found)


def _beside(watch: Watch) -> str:
    """Return the marks of what a few lines in all name beside a failure.

    A GPU of AMD's, and none of NVIDIA's; Unsloth, which compiles models by itself.
    """
    text = b"".join(line for _, line in watch.brief)
    amd = _AMD.search(text) is not None and _NVIDIA.search(text) is None
    return ("a" if amd else "") + ("u" if b"unsloth" in text.lower() else "")


def _text(bare: Sequence[Bare], after: int, marks: str, beside: str) -> str:
    """Return the lines as the grammar has them, and what stands around them."""
    lines = [_mark(one) + _safe(one.text) for one in bare]
    if any(one.leaves_out and _TELLS.match(one.text) for one in bare):
        marks += "l"
    return "\n".join([*lines, f"\x04{after}{marks}{beside}"])


def _mark(one: Bare) -> str:
    return ("!\x05" if one.leaves_out else "!") if one.logged else ""


def _jumps(bare: Sequence[Bare]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (offset, one.number)
        for offset, one in enumerate(bare)
        if offset and one.number != bare[offset - 1].number + 1
    )


def _safe(text: str) -> str:
    return " " + text if text.startswith("!") else text.replace("\x04", " ").replace("\x05", " ")
