"""One failure, with all that the log says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from tracelens.evidence import Seen, Table
from tracelens.late import late
from tracelens.logs import Joined
from tracelens.logs._stack import StackFrame

if TYPE_CHECKING:
    from tracelens.failures.reading import Told
    from tracelens.logs.failures import Episode

__all__ = ["Failure", "Stage"]

#: The result that generated code checks, and what tells that operators of others are called.
_CHECKED = late(r"\bassert_size_stride\((buf\d{1,6}),")
_CUSTOM = late(
    r"torch\.ops\.(?!(?:aten|prims|prim|mkl|mkldnn|onednn|quantized|inductor|c10d\w*|_c10d\w*)\.)\w"
    r"|torch\.library|custom_op\b|triton_op\b|TORCH_LIBRARY|register_(?:fake|kernel)|_C\.\w+\.default"
)
#: A size as a symbol among what Triton is to compile as a constant.
_CONSTEXPR = late(r"'constants': \{[^}\n]{0,400}: s\d{1,6}\b")
#: What Triton has a C compiler build, how a program launches a kernel of its own, and what tells
#: that torch compiles.
_TOOLS = late(r"\b(?:cuda|hip|spirv)_utils\.c|\b__triton_launcher\b|[/\\]tmp\w+[/\\]main\.c")
_BUILT = frozenset({"cuda-headers", "python-headers", "toolchain", "triton-launcher"})
_LAUNCHED = late(r"(?m)^\s*(?:\w+ = )?\w{1,80}\[[^\]\n]{0,80}grid[^\]\n]{0,80}\]\(")
_COMPILES = late(r"nductor|_dynamo|torch\.compile|BackendCompilerFailed")
#: An operator that freezing runs on a weight, which its class has not.
_FROZEN = late(r"dispatch: attempting to run unimplemented[^\x00]{0,4000}%_frozen_param\d")
#: What names the part of a compiled model in names of weights, and is no code that takes it off.
_PREFIX = late(
    r"(?m)^(?![^\n]*(?:replace|remove|getattr|_orig_mod\.\w{0,20}state_dict))[^\n]*_orig_mod\b"
)
#: How torch says that a compiler failed, and what a compiler that refuses something says below.
_RAN = late(r"CppCompileError: C\+\+ compile error")
_REFUSES = late(
    r"(?i)\berror ?:|\berror (?:c|lnk|d8)\d|\b(?:c[1-3]|lnk[12])\d{3}\b|undefined reference"
    r"|cannot find|not found|no such file|killed|internal compiler error|cannot execute"
    r"|segmentation fault"
)
#: Words of texts that are of an AMD GPU.
_HIP = late(r"\bHIP(?:_|\b)|hip[A-Z]\w|amdhip|\bgfx\d|[Rr][Oo][Cc]m|backends[/\\]amd\b")

#: Where it happened. ``backend``: in one that is not torch's own; ``program``: outside of
#: everything compiled; ``unknown``: nothing tells.
Stage = Literal[
    "dynamo",
    "aot",
    "inductor",
    "triton",
    "toolchain",
    "autotune",
    "backend",
    "runtime",
    "collective",
    "program",
    "unknown",
]


class Failure(Joined):
    """Something that ended the program, a compilation or a search, and why."""

    #: As :data:`tracelens.failures.phrases.PHRASES` calls it; ``unknown`` where no phrase fits.
    cause: str
    stage: Stage
    #: The innermost exception, and the whole chain, the outermost first.
    exception: str = ""
    chain: tuple[str, ...] = ()
    #: What the innermost exception says, in full.
    message: str = ""
    #: The first line in which a compiler refuses something.
    output: str = ""
    #: The last place in generated code.
    generated: str = ""
    #: The program's innermost line.
    file: str = ""
    line: int = 0
    function: str = ""
    #: The code that Dynamo traced, with its lines, the outermost first.
    stack: tuple[StackFrame, ...] = ()
    #: What the phrase caught: ``needed``, ``limit``, ``arch``, ``missing``.
    facts: tuple[tuple[str, str], ...] = ()
    #: Whether it ended the program, as far as the log shows.
    ended: bool = False
    #: Whether torch logged it and went on.
    suppressed: bool = False
    #: Whether no frame and no word of the compiler is in it.
    own: bool = False
    #: The line of the excerpt that says it.
    at: int = 0
    #: Words in the text that tell about the machine.
    platform: str = ""

    def fact(self, name: str) -> str:
        """Return what the phrase caught under that name; empty for nothing."""
        return dict(self.facts).get(name, "")

    @classmethod
    def join(cls, episodes: Table[Episode]) -> Iterator[Seen[Failure]]:
        """Make one record per excerpt that tells of a failure.

        What says little is left out where the same input tells more.
        """
        if not len(episodes):
            return
        from tracelens.failures.causes import GENERAL  # noqa: PLC0415 -- most logs hold no failure
        from tracelens.failures.debugged import shown  # noqa: PLC0415 -- the same
        from tracelens.failures.reading import told  # noqa: PLC0415 -- the same
        from tracelens.failures.wrapped import unwrapped  # noqa: PLC0415 -- the same

        rows = []
        for seen in episodes:
            about = told(shown(unwrapped(seen.record)))
            if about is not None:
                record = cls._made(about, seen.record, seen.text)
                rows.append(seen.about(record, seen.places, seen.count))
        telling = {row.first.input for row in rows if row.record.cause not in GENERAL}
        for row in rows:
            if row.record.cause not in GENERAL or row.first.input not in telling:
                yield row

    @classmethod
    def _made(cls, about: Told, episode: Episode, text: str) -> Failure:
        from tracelens.failures import stages  # noqa: PLC0415 -- most logs hold no failure
        from tracelens.failures.pasted import LAST_LINES  # noqa: PLC0415 -- the same

        user = about.user
        after = episode.after
        said = " ".join((*about.chain, about.message))
        found = stages.stage(about.cause, about.paths, said, about.message)
        found = stages.backend_stage(found, about.chain, about.facts.get("backend", ""))
        compiled = _is_of_compiled(about, text)
        own = about.own and not compiled
        return cls(
            cause="compiled-keys"
            if compiled
            else "double-backward"
            if _is_twice(about)
            else about.cause,
            stage=stages.own_stage(about.paths, about.message)
            if own or _is_eager(about, found)
            else found,
            exception=about.chain[-1] if about.chain else "",
            chain=about.chain,
            message=about.message,
            output=about.output,
            generated=about.generated,
            file=user.file if user else "",
            line=user.line if user else 0,
            function=user.function if user else "",
            stack=about.stack,
            facts=tuple(sorted((about.facts | _beside(about.cause, text, episode)).items())),
            ended=not about.logged
            and "quoted" not in about.facts
            and (after is None or after <= LAST_LINES),
            suppressed=about.logged,
            own=own,
            at=about.at,
            platform=_platform(text),
        )


def _is_of_compiled(about: Told, text: str) -> bool:
    """Tell whether names of weights that are missing are those of a compiled model, by the text.

    Where the names themselves say so, a phrase has told it.
    """
    missing = about.cause == "unknown" and "Missing key(s) in state_dict" in about.message
    return missing and "_orig_mod" not in about.message and _PREFIX.search(text) is not None


def _is_twice(about: Told) -> bool:
    """Tell whether AOTAutograd itself changed a leaf in place, in the backward pass of a graph.

    It copies a gradient there that has another layout than the graph was compiled for. Autograd
    records that where the gradient is differentiated again, which compiled code does not support.
    """
    around = about.cause == "unknown" and {"around", "backward"} <= about.facts.keys()
    return around and "a leaf Variable that requires grad is being used in" in about.message


def _is_eager(about: Told, found: Stage) -> bool:
    """Tell whether memory ran out at a line of the program, with no compiler in the traceback."""
    return about.cause == "out-of-memory" and found == "unknown" and about.user is not None


def _beside(cause: str, text: str, episode: Episode) -> dict[str, str]:
    """Return what the text around a message tells of it.

    An AMD GPU, whose result was checked, or that a compiler's own error is not there.
    """
    found: dict[str, str] = {}
    if cause == "cpu-pointer" and _HIP.search(text):
        found["hip"] = "yes"
    elif cause == "ptxas" and episode.of_amd:
        found["amd"] = "yes"
    elif cause == "fullgraph" and episode.unsloth:
        found["compiles"] = "unsloth"
    elif cause == "internal-compiler" and _FROZEN.search(text):
        found["frozen"] = "yes"
    elif cause in {"lost-size", "internal-compiler"} and _CONSTEXPR.search(text):
        found["constexpr"] = "yes"
    elif cause == "generated-cpp" and (ran := _RAN.search(text)):
        found |= {} if _REFUSES.search(text, ran.end()) else {"unsaid": "yes"}
    elif cause == "size-stride" and (checked := _CHECKED.search(text)):
        found |= {} if _CUSTOM.search(text) else {"result": checked[1]}
    elif cause in _BUILT and _is_direct(text):
        found["direct"] = "yes"
    return found


def _is_direct(text: str) -> bool:
    """Tell whether the program launches a kernel of its own, and torch compiles nothing there."""
    launched = _TOOLS.search(text) is not None and _LAUNCHED.search(text) is not None
    return launched and _COMPILES.search(text) is None


def _platform(text: str) -> str:
    """Return on what kind of system the text was written; empty where it does not tell."""
    if "python_embed" in text:
        return "embedded"
    if any(
        mark in text
        for mark in (":\\", "\\Lib\\", ".pyd", "WinError", "MSVC", "cl.exe", "cl.EXE", " cl is ")
    ):
        return "windows"
    if any(mark in text for mark in ("/Users/", "darwin", "macosx", "/opt/homebrew", ".dylib")):
        return "macos"
    if any(mark in text for mark in ("conda", "mamba", "micromamba")):
        return "conda"
    return ""
