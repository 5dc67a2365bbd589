"""From the lines of an excerpt to what they say together."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from tracelens.failures.causes import GENERAL, hits, squeeze
from tracelens.failures.cut import (
    explained,
    function_cause,
    is_cut,
    is_end,
    last_words,
    named,
    raising,
    without_stub,
)
from tracelens.failures.debugged import context_of
from tracelens.failures.elsewhere import built_by_pip, exported, lone, quoted, refusal, whole
from tracelens.failures.fitting import misfits
from tracelens.failures.guarding import guarding
from tracelens.failures.home import is_own_name, line_of
from tracelens.failures.launching import launching
from tracelens.failures.messages import is_break
from tracelens.failures.pasted import LAST_LINES, STOPS, alone, is_pasted, refused_line
from tracelens.failures.program_lines import above, is_twice, own_facts, traced, user_line
from tracelens.failures.recording import recording
from tracelens.failures.stages import is_compiler, is_generated
from tracelens.failures.standing import item_at, stands
from tracelens.failures.way import asserted, reached
from tracelens.failures.words import spoken
from tracelens.late import late
from tracelens.logs._stack import StackFrame
from tracelens.logs.failures import Diagnostic, Episode, Raised, Traced

__all__ = ["Told", "told"]

#: Causes that the way there tells more of.
_BY_COMPILER = frozenset({"internal-compiler", "lost-size", "unknown"})
#: Causes whose words are the whole error, wherever in a few lines they stand.
_COMPLETE = frozenset({"out-of-resources"})
#: Lines of a message that goes on below its first.
MAX_LINES = 14
#: Exceptions of the compiler's, and words of those that are about it.
_OWN = late(r"torch\.(?:_subclasses|_dynamo|_inductor|_functorch|_export|fx)\.|triton\.")
_SPEAKS = late(
    r"torch\.compile\b|torch\._(?:dynamo|inductor|functorch)|[Tt]orch ?[Ii]nductor|TorchDynamo"
    r"|[Aa][Oo][Tt][_ ]?[Aa]utograd|CUDAGraphs?\b|cudagraph|Triton Error|CompiledFunction"
    r"|FakeTensor"
)
#: That an engine did not start, or died, which says nothing where the reason is there as well.
ENGINE = frozenset({"engine-died", "engine-start"})
_ENGINE_SAYS = ("Engine core init", "Engine process failed", "WorkerProc init")
#: What follows the error of a choice that the search for kernels leaves out.
_LEFT = "Ignoring this choice"
#: ... and how it names one in whose preparation something was raised.
_CHOICE = " for benchmark choice "
_LEFT_OUT = late(r"WON'?T CONVERT (<graph break in \w{1,200}>|\S{1,200}) (\S{1,400}) line \d")
#: How programs end that meant to.
_MEANT = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration"})
_TRACEBACK = "Traceback (most recent call last)"
#: Exceptions of code that is wrong, and the parts of torch that make graphs and kernels.
_BUGS = frozenset({"AttributeError", "IndexError", "KeyError", "NameError", "UnboundLocalError"})
_MAKES = late(
    r"/torch/(?:_inductor/(?!runtime/|(?:cpp_builder|codecache|config|utils)\.py)"
    r"|_functorch/_aot_autograd/(?!runtime_wrappers)|fx/experimental/symbolic_shapes)"
)
#: Kernels that Inductor writes; the text has no blanks.
_WRITTEN = late(r"triton_(?:poi|red|per|tem|for|unk)_|deftriton_\(")
#: Exceptions whose names tell which part of the compiler failed.
_STAGED = frozenset({"CompilationError", "InductorError", "LoweringException"})
#: Frames that record CUDA graphs.
_CAPTURES = late(r"[/\\]torch[/\\](?:cuda[/\\]graphs|_inductor[/\\]cudagraph_trees)\.py")
#: Where a model is exported.
_EXPORTS = late(r"[/\\]torch[/\\]_?export[/\\]")
#: What stands before the name in the record of a graph break, which is no failure.
_RECORDED = "Reason: "
#: How generated code launches a kernel of Triton.
_LAUNCHED = late(r"(\w+)\.run\(")
#: A key of a dict as Python prints it, and the number behind it.
_KEY = late(r"[{(,] ?['\"]$")
_COUNT = late(r"['\"][:,] \d{1,9}\s*[,})]")


class Told(msgspec.Struct):
    """What an excerpt says."""

    cause: str
    facts: dict[str, str] = msgspec.field(default_factory=dict)
    chain: tuple[str, ...] = ()
    message: str = ""
    output: str = ""
    generated: str = ""
    user: StackFrame | None = None
    #: The code that was traced, with its lines, the outermost first.
    stack: tuple[StackFrame, ...] = ()
    paths: tuple[str, ...] = ()
    #: The line of the excerpt that says it.
    at: int = 0
    #: Whether torch wrote it to its log and went on.
    logged: bool = False
    own: bool = False


def told(episode: Episode) -> Told | None:
    """Return what ``episode`` is about; None where nothing of the compiler failed."""
    if all(isinstance(item, Raised) and _is_counted(item) for item in episode.items):
        return None
    whole, episode = episode, without_stub(episode)
    lines = [line_of(item) for item in episode.items]
    text, ends = squeeze(lines)
    raised = [
        one
        for one in episode.items
        if isinstance(one, Raised) and not one.lead.endswith(_RECORDED) and not _is_counted(one)
    ]
    frames = [item for item in episode.items if isinstance(item, Traced)]
    found = [(cause, bisect_right(ends, at), facts) for cause, at, facts in hits(text)]
    cut = is_cut(episode, raised, frames) or episode is not whole
    found = [one for one in found if cut or stands(one[0], one[1], episode, raised, frames)]
    cut = (cut or (not found and is_end(episode, raised))) and refused_line(episode, raised) < 0
    engine = [one for one in found if one[0] in ENGINE]
    found = [one for one in found if one[0] not in ENGINE]
    own = False
    facts: dict[str, str] = {}
    if (index := _unprepared_choice(episode, raised)) >= 0:
        cause, cut = "choice-left-out", False
    elif found:
        cause, index, facts = found[0]
        cut = cut and not (cause in _COMPLETE and facts)
        # Its name alone wraps whatever else failed: a compiler that is missing, a kernel.
        wraps = cut and cause == "internal-compiler"
        cause = function_cause(frames) if wraps else cause
        cause = "triton-mismatch" if cause in GENERAL and misfits(episode) else cause
        cause = "internal-compiler" if cause == "kernel-code" and _WRITTEN.search(text) else cause
    elif cut:
        cause, index, facts = function_cause(frames), last_words(lines), {}
    elif (last := _last(episode, raised)) is not None and _is_break(last, episode):
        cause, index, facts = "fullgraph", episode.items.index(last), {}
    elif last is not None and (_is_ours(last, episode, frames)):
        cause = "internal-compiler" if _is_bug(last, frames) else "unknown"
        cause = "triton-mismatch" if misfits(episode) else cause
        index, facts = episode.items.index(last), {}
    elif engine:
        cause, index, facts = engine[0]
    elif last is not None and is_pasted(last, episode, frames):
        cause, index, own = "unknown", episode.items.index(last), bool(frames)
        facts = own_facts(episode, frames) if own else lone(lines[:index])
    elif (index := alone(episode, raised, frames)) >= 0:
        cause, facts = "unknown", lone(lines[:index])
    elif last is not None and episode.after is not None and _ended_by_itself(episode, last, lines):
        cause, index, own = "unknown", episode.items.index(last), True
        facts = own_facts(episode, frames)
    elif (index := _left_out_choice(episode)) >= 0:
        cause, facts = "choice-left-out", {}
    else:
        return None
    index = min(index, len(episode.items) - 1)
    item = item_at(episode, index)
    start = explained(episode, _message_start(episode, index, cause))
    return Told(
        cause=cause,
        facts=facts
        | _met(cause, frames, raised)
        | recording(cause, frames)
        | ({} if own else above(cause, episode, frames))
        | (reached(episode) if cause in _BY_COMPILER else {})
        | asserted(episode, start)
        | guarding(cause, episode, frames)
        | launching(cause, frames)
        | built_by_pip(lines, frames)
        | quoted(cause, index, episode, frames)
        | context_of(cause, lines)
        | _kernel(episode)
        | ({"cut": raising(episode) or "yes"} if cut else {})
        | ({"headless": "yes"} if _is_let_go(episode) else _left_out(lines)),
        chain=_chain(raised, episode.items[start]),
        message="" if cut else exported(cause, lines) or _message(episode, start),
        output=refusal(episode),
        generated=_generated(episode),
        user=user_line(episode, frames),
        stack=traced(episode, frames),
        paths=tuple(frame.place for frame in frames),
        at=episode.items[start].at,
        logged=all(one.logged for one in raised) if raised else item.logged,
        own=own,
    )


def _is_counted(one: Raised) -> bool:
    """Tell whether it is a key of a counter, as Python prints that, and was not raised here."""
    return _KEY.search(one.lead) is not None and _COUNT.search(one.message) is not None


def _left_out_choice(episode: Episode) -> int:
    """Return the item that says that the search for kernels went on without one; below 0: none."""
    said = (n for n, one in enumerate(episode.items) if _LEFT in line_of(one))
    return next(said, -1)


def _unprepared_choice(episode: Episode, raised: list[Raised]) -> int:
    """Return the item that logs what was raised for one kernel of a search; below 0: none."""
    lines = [line_of(one) for one in episode.items]
    said = next((n for n, line in enumerate(lines) if _CHOICE in line), -1)
    if not raised or said < 0:
        return -1
    first, line = episode.items[said], lines[said]
    if not (first.logged or line.startswith("Exception ")):
        return -1
    # Without torch's prefix: what ends its traceback says the same again.
    same = (one.logged or one is first or (one.message or line) in line[:-1] for one in raised)
    return said if all(same) else -1


def _left_out(lines: list[str]) -> dict[str, str]:
    """Return the function that runs eagerly because of the error, and its file."""
    found = next(filter(None, map(_LEFT_OUT.search, lines)), None)
    return {"frame": found[1], "frame_file": found[2]} if found else {}


def _last(episode: Episode, raised: list[Raised]) -> Raised | None:
    """Return the last exception that was not only logged, and no choice that was left out."""
    left = [n for n, one in enumerate(episode.items) if _LEFT in line_of(one)]
    behind = set(map(id, episode.items[left[-1] :])) if left else None
    bare = [
        one
        for one in raised
        if (not one.logged or (one.left and _is_let_go(episode)))
        and one.errors[-1] not in _MEANT
        and (behind is None or id(one) in behind)
    ]
    return bare[-1] if bare else None


def _is_let_go(episode: Episode) -> bool:
    """Tell whether it is why torch left a function out, and the line that says so is cut off."""
    return episode.leaves_out and not any("T CONVERT " in line_of(one) for one in episode.items)


def _is_unknown(frames: list[Traced]) -> bool:
    """Tell whether the innermost frames are the compiler's, or of what it generated."""
    return any(is_compiler(frame.place) for frame in frames[-3:])


def _is_bug(last: Raised, frames: list[Traced]) -> bool:
    """Tell whether Python code that makes graphs or kernels raised what only a bug raises."""
    place = frames[-1].place.replace("\\", "/") if frames else ""
    made = _MAKES.search(place) if frames else spoken(last.message) == "inductor"
    return last.errors[-1] in _BUGS and bool(made)


def _is_ours(last: Raised, episode: Episode, frames: list[Traced]) -> bool:
    """Tell whether the exception is torch.compile's own, or speaks of it, or of its frames."""
    if _is_unknown(frames):
        return True
    named = any(_OWN.match(e) or is_own_name(e, episode) for e in last.errors)
    said = f"{last.message}{last.bare}"
    return named or bool(_SPEAKS.search(said)) or spoken(said) is not None


def _is_break(last: Raised, episode: Episode) -> bool:
    """Tell whether the exception says no more than the name of one of Dynamo's graph breaks."""
    named = last.errors[-1].rpartition(".")[2] == "Unsupported"
    return named and episode.short and is_break(last.message)


def _ended_by_itself(episode: Episode, last: Raised, lines: list[str]) -> bool:
    """Tell whether an exception of the program's own ends the log of a compiled one."""
    after = episode.after
    if after is None or not episode.torch or after > LAST_LINES:
        return False
    rest = len(lines) - 1 - episode.items.index(last)
    return any(_TRACEBACK in line for line in lines) and rest <= LAST_LINES


def _met(cause: str, frames: list[Traced], raised: list[Raised]) -> dict[str, str]:
    """Return what the frames tell of the cause: a model exported, a graph captured, eager code."""
    if cause == "internal-compiler" and not frames:
        names = {name.rpartition(".")[2] for one in raised for name in one.errors}
        return {} if names & _STAGED else {"frameless": "yes"}
    if cause == "out-of-memory" and any(_CAPTURES.search(one.place) for one in frames):
        return {"captures": "yes"}
    if cause == "fullgraph" and any(_EXPORTS.search(one.place) for one in frames):
        return {"exports": "yes"}
    if cause == "donated-buffer":
        return {"create_graph": "yes"} if any(map(is_twice, frames)) else {}
    eager = cause == "inference-tensor" and not any(is_compiler(one.place) for one in frames)
    return {"eager": "yes"} if eager else {}


def _message_start(episode: Episode, index: int, cause: str) -> int:
    """Return the item that begins the message to quote: the exception or the compiler's line."""
    if "LLVM ERROR:" in line_of(item_at(episode, index)):
        return index
    if cause == "size-stride":  # of an input the line that checks it is read, too
        below = range(index, min(index + 6, len(episode.items)))
        index = next((at for at in below if isinstance(episode.items[at], Raised)), index)
    if cause in GENERAL or cause in {"fullgraph", "fake-tensors"} | ENGINE:
        telling = [
            at
            for at, one in enumerate(episode.items)
            if isinstance(one, Raised) and not one.logged and _says(episode, at)
        ]
        if telling:
            return telling[-1]
        if all(one.logged for one in episode.items if isinstance(one, Raised)) and (
            telling := [
                n
                for n, one in enumerate(episode.items)
                if _says(episode, n) and (one.left or not _is_let_go(episode))
            ]
        ):
            return telling[-1]
    for at in range(index, max(-1, index - 12), -1):
        item = episode.items[at]
        if isinstance(item, Raised | Diagnostic):
            return at
        if isinstance(item, Traced):
            break
    return index


def _says(episode: Episode, at: int) -> bool:
    item = episode.items[at]
    if not isinstance(item, Raised):
        return False
    last = item.errors[-1].rpartition(".")[2]
    if item.message.startswith(_ENGINE_SAYS):
        return False
    return last not in Raised.WRAPPERS or bool(item.message)


def _message(episode: Episode, start: int) -> str:
    """Return the message from ``start`` on in full, lines below it and all."""
    item = episode.items[start]
    if said := whole(item):
        return said
    first = item.message or item.bare if isinstance(item, Raised) else line_of(item)
    parts = named(first.strip())
    for one in episode.items[start + 1 : start + MAX_LINES]:
        if isinstance(one, Traced) or one.at - item.at > MAX_LINES or one.logged != item.logged:
            break
        if one.at - item.at > len(parts) + (0 if parts[-1] or len(parts) > 1 else 1):
            break  # a blank line between
        text = line_of(one)
        if STOPS.match(text):
            break
        parts.append(text.strip())
    return "\n".join(part for part in parts if part)


def _chain(raised: list[Raised], item: object) -> tuple[str, ...]:
    """Return the names of the exceptions, the outermost first, each once."""
    wrappers = [
        error
        for one in raised
        for error in one.errors
        if error.rpartition(".")[2] in Raised.WRAPPERS
    ]
    own = (
        list(item.errors)
        if isinstance(item, Raised)
        else [e for r in raised[-1:] for e in r.errors]
    )
    return tuple(dict.fromkeys((*wrappers, *own)))


def _kernel(episode: Episode) -> dict[str, str]:
    """Return the generated kernel that was called last, where a line of generated code names it."""
    found = [
        n
        for n, one in enumerate(episode.items)
        if isinstance(one, Traced) and is_generated(one.place)
    ]
    after = episode.items[found[-1] + 1 :][:1] if found else []
    called = _LAUNCHED.match(line_of(after[0]).strip()) if after else None
    return {"kernel": called[1]} if called else {}


def _generated(episode: Episode) -> str:
    """Return the last place in a generated file: ``/tmp/torchinductor_ana/us/cus67.py:12``."""
    places = [
        f"{item.place}:{item.number}"
        for item in episode.items
        if isinstance(item, Traced) and is_generated(item.place)
    ]
    return places[-1] if places else ""
