"""At which stage of a compilation something failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tracelens.failures.messages import raised_by
from tracelens.failures.record import Stage
from tracelens.failures.refusals import refusal
from tracelens.failures.words import spoken
from tracelens.late import late

__all__ = [
    "BISECT",
    "Stage",
    "backend_stage",
    "is_compiler",
    "is_generated",
    "own_stage",
    "place_stage",
    "stage",
]

#: Causes that are at one stage always.
_OF_CAUSE: dict[str, Stage] = {
    "main-guard": "inductor",
    "traced-again": "dynamo",
    "donated-buffer": "runtime",
    "python-version": "dynamo",
    "platform": "dynamo",
    "python-headers": "toolchain",
    "cuda-headers": "toolchain",
    "msvc-environment": "toolchain",
    "no-msvc": "toolchain",
    "no-compiler": "toolchain",
    "toolchain": "toolchain",
    "triton-launcher": "toolchain",
    "backend-unknown": "dynamo",
    "capture": "runtime",
    "changed-in-place": "runtime",
    "double-backward": "runtime",
    "aoti-call": "runtime",
    "batched-backward": "runtime",
    "cache-path": "toolchain",
    "cpu-pointer": "runtime",
    "msvc-language": "toolchain",
    "library-load": "unknown",
    "kernel-code": "triton",
    "kernel-image": "triton",
    "ptxas-broken": "triton",
    "wrong-device": "triton",
    "rocm-linker": "triton",
    "fsdp-params": "dynamo",
    "log-settings": "unknown",
    "native-op": "unknown",
    "no-user": "unknown",
    "recompile-error": "unknown",
    "generated-cpp": "toolchain",
    "ptxas": "triton",
    "gpu-too-old": "triton",
    "fp8": "triton",
    "internal-triton": "triton",
    "triton-passes": "triton",
    "out-of-resources": "triton",
    "triton-mismatch": "triton",
    "no-triton": "triton",
    "flex-attention": "inductor",
    "xpu-build": "triton",
    "metal": "inductor",
    "collective-timeout": "collective",
    "collective-watchdog": "collective",
    "nccl-error": "collective",
    "lost-size": "inductor",
    "size-stride": "runtime",
    "fake-tensors": "dynamo",
    "fullgraph": "dynamo",
    "internal-dynamo": "dynamo",
}
#: What Inductor calls its files, in whichever directory its cache is: ``wf/cwfj4....py``.
_HASHED = r"/[a-z2-7]{2}/c[a-z2-7]{40,60}\.(?:py|main\.cpp)$"
#: Parts of paths, the later stages first.
_OF_PATH: tuple[tuple[re.Pattern[str], Stage], ...] = (
    (re.compile(r"/triton/(?!ops)"), "triton"),
    (re.compile(r"/torch_tensorrt/dynamo/"), "backend"),
    (re.compile(r"select_algorithm|autotune_process"), "autotune"),
    (
        re.compile(
            r"torchinductor_|/_inductor/(?:runtime/(?!cache_dir_utils|hints)|cudagraph_trees|triton_heuristics)|/runtime_wrappers|/subclass_codegen\.py:"
            rf"|/_dynamo/backends/debugging|{_HASHED}"
        ),
        "runtime",
    ),
    (re.compile(r"/_inductor/(?:cpp_builder|cpu_vec_isa)"), "toolchain"),
    (re.compile(r"/(?:_|torch)inductor/"), "inductor"),
    (re.compile(r"/_functorch/"), "aot"),
    (re.compile(r"/(?:_|torch)dynamo/|/torch/_?export/"), "dynamo"),
    (re.compile(r"/torch/distributed/(?:distributed_c10d|_functional_collectives)"), "collective"),
)
_COMPILER = late(
    r"/torch/(?:_dynamo|_inductor|_functorch|_subclasses|_export|export|_higher_order_ops|fx)/"
    r"|/triton/|/torch/utils/_triton\.py|torchinductor_|/torch(?:inductor|dynamo)/(?:[\w-]+/){0,3}\w+\.py$"
    r"|/torch_tensorrt/dynamo/|" + _HASHED
)
_GENERATED = late(
    r"torchinductor_[^/]{1,80}/|/tmp\w{2,20}/(?:main|cuda_utils|driver)\.c|/[\w.-]{1,80}\.main\.cpp$|"
    + _HASHED
)
#: The backends of torch itself; an empty name: the text does not tell.
_OF_BACKEND: dict[str, Stage] = {
    "": "unknown",
    "aot_eager": "aot",
    "aot_eager_decomp_partition": "aot",
    "compile_fn": "unknown",
    "inductor": "inductor",
}
_WRAPPER = late(r"/torch/_dynamo/(?:eval_frame|external_utils)\.py$")
_LOCAL = late(r"/torch/_dynamo/(?:eval_frame|convert_frame|external_utils)\.py$")

#: What comes up at a line that did not cause it: errors of a device, and of autograd's graph.
_LATE = late(
    r"\b(?:CUDA|HIP|XPU|MPS|NCCL|Triton) [Ee]rror|CU(?:BLAS|DNN)_STATUS|device-side assert"
    r"|in-?place|custom Function|CompiledFunction|[Bb]ackward|does not require grad|saved tensor"
)

#: What a stage comes down to when it is told apart by backends.
BISECT = {
    "dynamo": 'backend="eager"',
    "aot": 'backend="aot_eager"',
    "inductor": 'backend="aot_eager_decomp_partition"',
}


def _slashed(path: str) -> str:
    path = path.replace("\\", "/")
    return f"/{path}" if path.startswith(("torch/", "triton/")) else path


def is_compiler(path: str) -> bool:
    """Tell whether the compiler itself, or what it generated, is in the file."""
    path = _slashed(path)
    return bool(_COMPILER.search(path)) and not _LOCAL.search(path)


def is_generated(path: str) -> bool:
    """Tell whether the compiler wrote the file."""
    return bool(_GENERATED.search(_slashed(path)))


def stage(cause: str, paths: Iterable[str], message: str = "", said: str = "") -> Stage:
    """Return the stage, of the cause or else of the innermost file that tells one.

    ``message`` has the exceptions' names before what the innermost one ``said``.
    """
    if cause in _OF_CAUSE:
        return _OF_CAUSE[cause]
    if "triton" in message.lower() and "CompilationError" in message:
        return "triton"
    known = [_slashed(path) for path in paths]
    # Everything that torch keeps out of Dynamo runs through a wrapper in these.
    inner = [path for path in known if not _WRAPPER.search(path)]
    # The exception tells it where a traceback is cut behind the wrapper.
    named: Stage | None = "inductor" if "InductorError" in message else None
    if found := _of_paths(inner) or named or (None if cause == "cut" else _of_paths(known)):
        return found
    if "backend=" in message:
        return "inductor"
    refused = refusal(message)
    if refused is not None and refused.of == "machine":
        return "unknown"  # its words tell of the machine
    return spoken(message) or raised_by(said) or "unknown"


def place_stage(path: str) -> Stage | None:
    """Return the stage that a file of torch or Triton belongs to; None where it tells none."""
    return _of_paths([_slashed(path)])


def _of_paths(paths: Sequence[str]) -> Stage | None:
    """Return the stage of the innermost file that tells one."""
    for path in reversed(paths):
        for pattern, name in _OF_PATH:
            if pattern.search(path):
                return name
    return None


def backend_stage(found: Stage, chain: Iterable[str], backend: str) -> Stage:
    """Return where a backend failed: Dynamo calls it, and does not trace while it runs."""
    failed = any(name.endswith("BackendCompilerFailed") for name in chain)
    if found != "dynamo" or not failed:
        return found
    return _OF_BACKEND.get(backend, "backend")


def own_stage(paths: Iterable[str], message: str = "") -> Stage:
    """Return where the program's own code failed: below compiled code, or apart from it.

    A traceback goes through the wrapper of a compiled function, or through what was generated,
    wherever that called the program. What ``torch/_compile.py`` calls is torch's own code, kept
    out of Dynamo (optimizers, custom operators): that wrapper is there without compiling, too.
    """
    known = [_slashed(path) for path in paths]
    wraps = [
        bool(_WRAPPER.search(path)) and not before.endswith("/torch/_compile.py")
        for before, path in zip(("", *known), known, strict=False)
    ]
    if any(is_compiler(path) for path in known):
        return "runtime"
    if any(wraps):
        return "unknown"  # what was compiled, or the function itself where that was given up
    if any("/distributed_c10d" in path for path in known):
        return "collective"
    return "unknown" if _LATE.search(message) else "program"
