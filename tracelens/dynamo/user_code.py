"""Whose code is it: from the stacks and comments of Dynamo's logs to the place to look at.

Dynamo names the innermost frame, which is often a wrapper of a library, a line of the standard
library or a generated ``__init__``. What helps is the innermost frame of a program or of a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tracelens.logs._stack import StackFrame
from tracelens.report import Where

if TYPE_CHECKING:
    from tracelens.logs._comment import Comment

__all__ = [
    "best",
    "caller",
    "calls_module",
    "distance",
    "forwards",
    "is_generated",
    "is_helper",
    "is_module_call",
    "is_recorder",
    "is_torch_wrapper",
    "located",
    "package",
    "sets_up",
    "short",
    "where",
]

#: What forwards a call and says nothing about it, when it stands in a library.
WRAPPERS = frozenset(
    {
        "__call__",
        "_call_impl",
        "_fn",
        "_wrapped_call_impl",
        "decorate_context",
        "forward_with_checkpointing",
        "inner",
        "new_forward",
        "wrapped",
        "wrapper",
    }
)
#: Packages that stand between a program and torch: what matters is the line that calls them.
HELPERS = frozenset(
    {"beartype", "einops", "einx", "jaxtyping", "opt_einsum", "torch_einops_utils", "typeguard"}
)
#: Packages in which torch computes with sizes: errors rise there, and nobody's model is in them.
ALGEBRA = ("mpmath/", "sympy/")
#: Directories of torch, as they stand in a comment, which has lost the ``torch/`` before them.
TORCH_DIRECTORIES = (
    "_decomp/",
    "_dynamo/",
    "_functorch/",
    "_higher_order_ops/",
    "_inductor/",
    "_prims_common/",
    "_refs/",
    "_tensor.py",
    "ao/",
    "autograd/",
    "distributed/",
    "functional.py",
    "fx/",
    "nn/",
    "optim/",
    "overrides.py",
)
#: What of them stands below ``torch/`` in a checkout of its source, and in nobody's program.
CHECKED_OUT = tuple(
    f"/torch/{name}"
    for name in (*TORCH_DIRECTORIES, "nn/modules/", "nn/parallel/")
    if name.startswith(("_", "nn/m", "nn/p"))
)
#: How functions that set something up are called.
SETTERS = re.compile(r"(?:^|_)(?:install|register|set_?up|init|initialize)(?:_|$)")

#: A file that Inductor generated: ``c`` and a hash, in a directory of two letters of the hash.
GENERATED = re.compile(r"/([a-z2-7]{2})/c\1[a-z2-7]{40,}\.py$|/torchinductor_[^/]+/")


#: How far Python's own library is, and what nobody wrote.
FAR = 3


def is_recorder(file: str) -> bool:
    """Whether a file is the wrapper in which a recording times calls of what is compiled."""
    return "tracelens_injected/" in file.replace("\\", "/")


def is_module_call(frame: StackFrame) -> bool:
    """Whether a frame is torch's own call of a module."""
    return frame.file.replace("\\", "/").endswith("torch/nn/modules/module.py")


def calls_module(stack: Iterable[StackFrame]) -> bool:
    """Whether a module is called in a stack."""
    return any(frame.function == "forward" or is_module_call(frame) for frame in stack)


@lru_cache(maxsize=20_000)
def distance(file: str, function: str = "") -> int:
    """Return how far a frame is from code that somebody would change; 0 is there."""
    path = file.replace("\\", "/")
    packaged = path.partition("-packages/")[2]
    if path.startswith("<") or is_standard(path) or is_recorder(path) or is_generated(path):
        return 3
    of_torch = (packaged or path).startswith("torch/") or path.startswith(TORCH_DIRECTORIES)
    if of_torch or any(name in path for name in CHECKED_OUT):
        return 3 if function in WRAPPERS else 2
    if is_helper(path) or packaged.startswith(ALGEBRA):
        return 2
    if function in WRAPPERS and (packaged or not path.startswith(("/", "\\")) or path[1:2] == ":"):
        return 1
    return 0


def is_generated(file: str) -> bool:
    """Return whether Inductor generated a file."""
    return GENERATED.search(file.replace("\\", "/")) is not None


def is_standard(file: str) -> bool:
    """Return whether a file is of Python's own library."""
    path = file.replace("\\", "/")
    return "/lib/python3" in path and "-packages/" not in path


def forwards(frame: StackFrame) -> bool:
    """Return whether it is the call of a module in torch, behind which any module may stand."""
    return frame.function in WRAPPERS and distance(frame.file) == 2


def is_helper(file: str) -> bool:
    """Return whether a file is of a package that only forwards to torch, such as einops."""
    return package(file) in HELPERS


def is_torch_wrapper(file: str) -> bool:
    """Tell whether ``file`` holds the functions in which torch wraps callables it cannot enter.

    Such a callable has no source file (``exec``), or is in one that Dynamo skips. Each wrapper is
    one code object, whatever it wraps.
    """
    return file.replace("\\", "/").endswith("torch/_dynamo/external_utils.py")


def best(frames: Iterable[StackFrame]) -> StackFrame | None:
    """Return the innermost of the frames (outermost first) that are nearest to the user."""
    return min(reversed(list(frames)), key=lambda f: distance(f.file, f.function), default=None)


def caller(frames: Iterable[StackFrame], file: str) -> StackFrame | None:
    """Return the innermost frame outside all packages, if ``file`` is in one."""
    if "-packages/" not in file.replace("\\", "/"):
        return None
    own = [
        frame
        for frame in frames
        if "-packages/" not in frame.file.replace("\\", "/")
        and distance(frame.file, frame.function) == 0
    ]
    return own[-1] if own else None


def located(comment: Comment, function: str, files: Sequence[str]) -> StackFrame | None:
    """Return the line that a guard's comment names, with the file's full path where it is known.

    Args:
        comment: Its file has lost the beginning of its path, and sometimes one letter more.
        function: The function that the record is about.
        files: Full paths of the record, the function's own first.
    """
    if not comment.file:
        return None
    full = next((file for file in files if file.endswith(comment.file)), None)
    name = PurePosixPath(comment.file).name
    if full is None and comment.function == function and files and files[0].endswith("/" + name):
        full = files[0]
    return StackFrame(
        file=full or comment.file,
        line=comment.line,
        function=comment.function,
        code=comment.code,
    )


def where(frame: StackFrame | None) -> Where | None:
    """Return the place of a finding; the log may not name one."""
    if frame is None or frame.file in {"", "?"}:
        return None
    return Where(file=frame.file, line=frame.line or None, function=frame.function or None)


def package(file: str) -> str:
    """Return the installed package that a file belongs to; empty for torch and for programs."""
    inside = file.replace("\\", "/").partition("-packages/")[2]
    name = inside.partition("/")[0]
    return "" if name in {"torch", "torchgen"} else name.removesuffix(".py")


def is_whole(file: str) -> bool:
    """Tell whether a path is known from its beginning on, as those of comments are not."""
    return file.startswith(("/", "\\", "~", "<")) or file[1:2] == ":"


def sets_up(function: str) -> bool:
    """Tell whether a function is called as those are that set something up, once."""
    return bool(SETTERS.search(function))


def short(file: str, line: int = 0) -> str:
    """Return the last two parts of a path, and the line: enough to recognise it in a sentence."""
    parts = file.replace("\\", "/").split("/")
    name = "/".join(parts[-2:]) if len(parts) > 1 and parts[-2] else parts[-1]
    return f"{name}:{line}" if line else name
