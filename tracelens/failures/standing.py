"""Whether a cause that the text names is what failed there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracelens.failures.home import Item, is_at_home, is_elsewhere, is_own_name, line_of
from tracelens.failures.pasted import LAST_LINES
from tracelens.failures.stages import is_compiler, is_generated
from tracelens.late import late
from tracelens.logs.failures import Episode, Raised, Traced

__all__ = ["Item", "item_at", "line_of", "stands"]

#: What a compiler says itself, without an exception.
_SAYS = late(
    r"raised:|Exception has occurred: |: Assertion .|Error in codegen for|MLIR pass pipeline"
    r"|\bUnsupported [\u2013\u2014-]{1,2} \S.{0,300}?(?<![\w$])[A-Z][A-Za-z]{2,60}Variable\("
    r"|RuntimeError: Attempting to use a closed pool"
    r"|LLVM ERROR:|Failed running call_|^\s*from user code:"
    r"|torch\.Size\(\[[^\]]{0,200}?\b[su]\d"
)
#: Words of what torch generates and loads.
_GENERATED = late(
    r"nductor|AOTI|aoti_|Error in dlopen: |CppCompile|C\+\+ compile|c10::DynamicLibrary"
    r"|[/\\]\.triton[/\\]cache[/\\]|\b(?:cuda_utils|hip_utils|__triton_launcher)\b"
)
#: The name of a weight.
_KEY = late(r"['\"]([\w.]{1,400})['\"]")
_KEYS = late(r"Missing key|Unexpected key|size mismatch")
_BOTH_KEYS = late(r"Missing key.*Unexpected key|size mismatch", re.DOTALL)
#: A library of a version, which any program may miss.
_VERSIONED = late(r"\.so(?:\.\d{1,5}){1,3}:")
#: What any program that is built may fail of, and what tells that torch or Triton built it.
_BUILDING = frozenset(
    {
        "cuda-headers",
        "msvc-environment",
        "no-compiler",
        "no-msvc",
        "no-openmp",
        "ptxas",
        "python-headers",
        "toolchain",
    }
)
_CONTEXT = late(
    r"nductor|[Tt]riton(?!client|server|[/\\]+(?!backends|runtime|compiler|language|\d))|\.triton[/\\]|torch[._/\\]+_|_dynamo|TorchDynamo|TORCHDYNAMO"
    r"|[Cc]xx ?[Cc]ompiler|[Cc]ompile ?[Ee]rror|Compiler: cl"
    r"|[/\\]tmp\w*[/\\]+(?:main|driver)\.c|\b(?:cuda_utils|__triton_launcher|hip_utils)\.c"
    r"|PTXAS|\.main\.cpp|find C compiler|working C\+\+ compiler|-lcuda\b"
    r"|\bllvm\.(?:nvvm|amdgcn)\."
    r"|libcuda\.so cannot|\bAOTI\b|\baoti\b|\baoti_|#ttg?\.|\bttg?\.func\b"
)
#: Others that have ptxas and LLVM compile for them.
_OTHERS = late(r"\bxla\b|XlaRuntime|jaxlib|/jax/|tensorflow|numba|cupy|\brustc\b|julia")
#: Exceptions of others that call a C compiler, and what only torch writes around it.
_OTHERS_ERROR = late(
    r"\b(?:tinygrad|pytensor|theano|aesara|tvm|numba|cupy|taichi|mlx|paddle|warp)\.(?:\w{1,40}\.){0,6}\w{1,40}Error\b"
)
_OF_TORCH = late(r"torch[._/\\]|nductor|TorchDynamo|TORCHDYNAMO|[Tt]riton")
#: Lines before and after what a compiler says in which it is told who called it.
NEAR = 100
#: Files of torch that run the C++ compiler and read what it prints.
_RUNS_COMPILER = frozenset({"cpp_builder.py", "cpu_vec_isa.py"})
_TOLD = frozenset(
    {
        "fake-tensors",
        "fullgraph",
        "internal-compiler",
        "internal-dynamo",
        "triton-passes",
        "worker",
    }
)
#: What Python says of any pool of processes, a web server's as well.
_POOL = late(r"BrokenProcessPool|process pool was terminated abruptly|use a closed pool")
#: ... of which torch alone says this; elsewhere it is in the traceback of that program.
_OWN_POOL = "RuntimeError: Attempting to use a closed pool"
_COMPILES = late(r"nductor|compile_worker|[Tt]riton")
_LOADING = frozenset({"cache-path", "cache-broken", "library-load"})
#: What libraries import only where it is there; they say so, and go on.
_OPTIONAL = frozenset({"no-triton"})
#: What stands in the log of a function that was left out, where its first line is cut off.
_LET_GO = (
    "torch._dynamo.exc.InternalTorchDynamoError",
    "torch._dynamo.exc.BackendCompilerFailed",
)


def stands(
    cause: str, at: int, episode: Episode, raised: Sequence[Raised], frames: Sequence[Traced]
) -> bool:
    """Tell whether a cause that line ``at`` of the excerpt names is what failed there."""
    item = item_at(episode, at)
    elsewhere = is_elsewhere(cause, item, episode)
    alone = episode.short and not frames and _OWN_POOL in line_of(item)
    of_program = bool(_POOL.search(line_of(item))) and not (alone or _compiles(episode, frames))
    if cause in _OPTIONAL and _went_on(at, episode) and not _is_wanted(episode, raised, frames):
        return False
    return not elsewhere and not of_program and _stands(cause, at, episode, raised, frames)


def _stands(
    cause: str, at: int, episode: Episode, raised: Sequence[Raised], frames: Sequence[Traced]
) -> bool:
    line = line_of(item_at(episode, at))
    # The search for kernels logs it of those that it leaves out.
    left = cause == "out-of-resources" and item_at(episode, at).logged
    if left or cause in _TOLD:
        return _has_context(episode, at) if "LLVM ERROR:" in line else _is_told(episode, raised)
    if cause in {"crash", "msvc-language"}:
        is_theirs = is_compiler if cause == "crash" else _runs_compiler
        return any(is_theirs(one.place) for one in frames) or "English" in line
    if cause in {"compiled-keys", "lost-size"}:
        return _names_both(episode) if cause == "compiled-keys" else _loses_size(episode, frames)
    if cause in _LOADING:
        return _is_generated(line, episode, frames)
    if cause in _BUILDING:
        return _is_own_ptxas(cause, episode, at) or _has_context(episode, at)
    return cause != "out-of-memory" or _is_of_device(episode, at, frames)


def _loses_size(episode: Episode, frames: Sequence[Traced]) -> bool:
    """Tell whether it is generated code that lacks a name, which may be any program's variable."""
    generated = any(is_generated(one.place) for one in frames[-2:])
    return generated or (not frames and is_at_home(episode))


def _went_on(at: int, episode: Episode) -> bool:
    """Tell whether torch logged more behind line ``at``, or much else was printed."""
    behind = any(one.logged for one in episode.items[at + 1 :])
    return behind or (episode.after is not None and episode.after > LAST_LINES)


def _is_wanted(episode: Episode, raised: Sequence[Raised], frames: Sequence[Traced]) -> bool:
    """Tell whether it is torch's compiler, or what it generated, that failed there."""
    theirs = any(is_compiler(one.place) or is_generated(one.place) for one in frames)
    names = [name for one in raised for name in one.errors]
    return theirs or any(is_own_name(n, episode) or n.startswith("torch._") for n in names)


def _names_both(episode: Episode) -> bool:
    """Tell whether there are names of weights with the compiled model's part, and without it.

    Of one list alone, the other of which was not pasted, all names have it.
    """
    lines = [line_of(one) for one in episode.items]
    start = next((n for n, line in enumerate(lines) if _KEYS.search(line)), 0)
    said = "\n".join(lines[start:])
    keys = _KEY.findall(said)
    return not all("_orig_mod." in key for key in keys) or not _BOTH_KEYS.search(said)


def _is_generated(line: str, episode: Episode, frames: Sequence[Traced]) -> bool:
    """Tell whether it is a file that torch generated which cannot be loaded."""
    if _VERSIONED.search(line):
        # Where a backend raised it, its own code or what it generated wanted the library.
        wrapped = any("BackendCompilerFailed" in line_of(one) for one in episode.items)
        return wrapped or "torchinductor_" in line or any(is_generated(one.place) for one in frames)
    return any(_GENERATED.search(line_of(one)) for one in episode.items)


def _is_of_device(episode: Episode, at: int, frames: Sequence[Traced]) -> bool:
    """Tell whether it was torch that ran out of memory."""
    near = episode.items[max(0, at - NEAR) : at + NEAR]
    return (
        any(is_compiler(one.place) or _captures(one.place) for one in frames)
        or episode.torch
        or any(
            any(error.startswith("torch.") for error in one.errors)
            for one in near
            if isinstance(one, Raised) and "elastic" not in one.errors[0]
        )
        or any("Tried to allocate" in line_of(one) for one in near)
    )


def _runs_compiler(path: str) -> bool:
    return path.replace("\\", "/").rpartition("/")[2] in _RUNS_COMPILER


def _captures(path: str) -> bool:
    """Tell whether the file records CUDA graphs."""
    return path.replace("\\", "/").endswith(("/torch/cuda/graphs.py", "cuda_graph_runner.py"))


def _is_told(episode: Episode, raised: Sequence[Raised]) -> bool:
    """Tell whether an exception, and not only a log line, says it."""
    ended = any(not one.logged for one in raised)
    suppressed = any("T CONVERT " in line_of(one) for one in episode.items) or any(
        one.errors[0].startswith(_LET_GO) for one in raised
    )
    return (
        ended
        or suppressed
        or episode.leaves_out
        or any(_SAYS.search(line_of(one)) and not one.logged for one in episode.items)
    )


def _compiles(episode: Episode, frames: Sequence[Traced]) -> bool:
    """Tell whether processes of a pool compiled for torch."""
    lines = map(line_of, episode.items)
    return any(is_compiler(one.place) for one in frames) or any(map(_COMPILES.search, lines))


def _has_context(episode: Episode, at: int) -> bool:
    """Tell whether the lines around line ``at`` say that torch or Triton called the compiler."""
    near = [line_of(one) for one in episode.items[max(0, at - NEAR) : at + NEAR]]
    context = _OF_TORCH if any(map(_OTHERS_ERROR.search, near)) else _CONTEXT
    return any(map(context.search, near))


def _is_own_ptxas(cause: str, episode: Episode, at: int) -> bool:
    """Tell whether ptxas says it itself, and no other framework had it called."""
    return (
        cause == "ptxas"
        and "ptxas" in line_of(item_at(episode, at))
        and not any(map(_is_others, episode.items))
    )


def _is_others(item: Item) -> bool:
    line = line_of(item)
    return bool(_OTHERS.search(line) or _OTHERS_ERROR.search(line))


def item_at(episode: Episode, at: int) -> Item:
    """Return the item at ``at``, or the last one."""
    return episode.items[min(at, len(episode.items) - 1)]
