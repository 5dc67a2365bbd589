"""Errors at run time, or around compiling, that no stage of it explains, and the way out.

ERR000 tells them: the cause is known, and is not the compiler's.
"""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData
from tracelens.rules.err._known_builds import BUILDS
from tracelens.rules.err._known_calls import ALLOCATORS, CALLS, lacking, lacks
from tracelens.rules.err._known_kernels import KERNELS
from tracelens.rules.err._known_messages import refused
from tracelens.rules.err._known_uses import USES
from tracelens.rules.err._of_packages import mend
from tracelens.rules.err._recorded_graphs import RECORDED, records_itself

__all__ = ["KNOWN", "TITLES", "title_of"]

_NO_MODULE = re.compile(r"No module named ['\"]([A-Za-z_][\w.]{0,100})['\"]")
#: How packages say, in an ImportError, which other package they lack.
_LACKS = re.compile(
    r"(?i)\b(?:pip|conda|mamba) install (?:-{1,2}[\w-]{1,20} ){0,3}['\"`]?([a-z][\w.-]{0,60})"
    r"|\b(?:requires|needs) (?:the )?[`'\"]?([a-z][\w.-]{0,60})[`'\"]? (?:library|package)\b"
)
#: Cause -> what the title says of it, before the message.
TITLES = {
    "aoti-call": "a call of compiled C++ code into torch failed",
    "backend-unknown": "there is no backend of that name in this process",
    "batched-backward": "the backward of a compiled function was called under vmap",
    "cache-broken": "a file in the cache of compiled code is broken",
    "cache-dir": "the folder for what is generated cannot be used",
    "cache-gone": "a file of the cache of compiled code is not there, or its path is too long",
    "capture": "an operation in a CUDA graph must not be recorded",
    "changed-in-place": "a result of a compiled function was changed in place before backward",
    "backward-threads": "compiled autograd was switched on where backward runs in threads",
    "compile-option": "torch.compile was given an option that this torch does not know",
    "compiled-keys": "the weights are of a compiled model, and the model is not, or the reverse",
    "cpu-pointer": "Triton cannot use a tensor's address on the GPU that it launches on",
    "cut": "the traceback is cut before its error",
    "graph-pool": "a tensor of a CUDA graph lives on, and torch does not know of it",
    "crash": "the process crashed in compiled code, or while compiling",
    "double-backward": "compiled code cannot be differentiated twice",
    "engine-capture": "the engine could not record its CUDA graphs",
    "engine-died": "the engine stopped in an error",
    "engine-start": "the engine did not start",
    "gpu-fault": "a kernel on the GPU touched memory that is not its own",
    "fsdp-params": "FSDP keeps its parameters in one piece, which Dynamo cannot trace",
    "inference-tensor": "compiled code met a tensor that was made under inference_mode",
    "kernel-code": "Triton refuses the code of a kernel",
    "kernel-image": "the GPU's driver refuses the kernel that was built",
    "log-settings": "TORCH_LOGS has a name that this torch does not know",
    "native-op": "a layer of the engine has no `forward_native`, which compiling calls for",
    "nccl-error": "a call of NCCL failed",
    "no-user": "the user that the process runs as has no name",
    "not-built": "this torch is built without the device that is asked for",
    "onnx-export": "the model could not be exported to ONNX",
    "operator-aliases": "a custom operator returns, or is said to return, one of its arguments",
    "recompile-error": "a recompile was made an error",
    "ptxas-broken": "the ptxas that Triton calls does not run",
    "rocm-linker": "Triton does not find ROCm's linker",
    "torch-too-old": "this torch is older than what the program asks of it",
    "unpicklable": "a compiled model cannot be pickled or copied",
    "unpicklable-error": "a worker failed while compiling, and its error was lost on the way",
    "windows-refused": "Windows refused Inductor a file, or a program that it starts",
    "wrong-device": "a Triton kernel was started on another GPU than that of its tensors",
    "msvc-language": "torch cannot read what the C++ compiler of Visual Studio says",
}
#: The same of code that is not compiled.
_EAGER = "autograd met a tensor that was made under inference_mode"


def title_of(data: FailureData) -> str:
    """Return what the title says of a known cause; empty for others."""
    if "Either mode or options" in data.message and data.cause == "compile-option":
        return "torch.compile was given a mode and options"
    if lack := lacking(data):
        return lack
    return _EAGER if data.facts.get("eager") else TITLES.get(data.cause, "")


def _missing(data: FailureData) -> str:
    """Return the module that is not installed, for errors of the program's own."""
    if not data.is_apart:
        return ""
    if found := _NO_MODULE.match(data.message):
        return found[1]
    lacks = _LACKS.search(data.message) if data.exception == "ImportError" else None
    return (lacks[1] or lacks[2]).rstrip(".") if lacks else ""


def _is_default(data: FailureData) -> bool:
    """Tell whether it is the folder that Inductor makes for each user, where nobody names one."""
    return "Temp" in data.facts.get("folder", "") and "torchinductor_" in data.facts["folder"]


def _on_rocm(data: FailureData) -> bool:
    return "HIP" in data.message or "hipError" in data.message


def _quoted(data: FailureData) -> str:
    return f"what provides `{_missing(data)}`" if _missing(data) else "what is missing"


KNOWN = (
    Remedy(
        "install",
        lambda d: (
            f"Install {_quoted(d)} (a package's name may differ from its module's) into the Python"
            " that runs the program; this says which that is. torch.compile has no part in it."
        ),
        code='python -c "import sys; print(sys.executable)"',
        applies=lambda d: bool(_missing(d)),
        when="a module that is not installed",
        basis="untestable",
        proof="it shows whether the module is there",
    ),
    Remedy(
        "own",
        mend,
        applies=lambda d: d.is_apart and not _missing(d) and not refused(d),
        when="an error outside of compiled code",
        basis="untestable",
        proof="the error is in the program, or in a package",
    ),
    Remedy(
        "whole",
        "Look at the end of what was printed, and give it whole: the last lines, from the last"
        " `Error:` or `raised:` on, say what failed. Of many ranks, those of the first that"
        " failed.",
        code="python app.py 2>&1 | tail -n 60 > end.txt && tracelens analyze end.txt",
        applies=lambda d: d.cause == "cut",
        when="a text without its end",
        basis="untestable",
        proof="it shows more",
    ),
    *ALLOCATORS,
    Remedy(
        "not-kept",
        "Something outside of the graph (a list, a cache, an asynchronous collective, a tensor of"
        " an earlier step) keeps what a graph wrote: clone it, let go of it before the next step"
        " begins, and say where that is.",
        code="torch.compiler.cudagraph_mark_step_begin()  # before each call of the model",
        applies=lambda d: d.cause == "graph-pool" and not lacks(d),
        since="2.2",
        when="the memory of a CUDA graph",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "engine-without",
        "The exception above it, or behind the colon, is the cause. If nothing is there: leave"
        " compiling out first (`--enable-torch-compile` of sglang, TORCHDYNAMO_DISABLE=1), then"
        " record fewer sizes (`--cuda-graph-max-bs 16`), then none (`--disable-cuda-graph`), and"
        " see with which it is gone.",
        env="TORCHDYNAMO_DISABLE=1",
        applies=lambda d: d.cause == "engine-capture",
        when="an engine records CUDA graphs",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "native-op",
        "An engine that compiles runs its layers by `forward_native`, and this one has none: leave"
        " compiling out for this model (sglang: without `--enable-torch-compile`; vLLM:"
        " `--enforce-eager`), or take a newer engine.",
        applies=lambda d: d.cause == "native-op",
        when="a layer of vLLM or sglang without a native form",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "serialize",
        "Errors of a GPU come late: let each kernel end before the next begins, so that the last"
        " line before the fault names the one that did it. With TunableOp or hipBLASLt on, try it"
        " without, or with a larger HIPBLASLT_WORKSPACE_SIZE.",
        env="AMD_SERIALIZE_KERNEL=3 AMD_SERIALIZE_COPY=3",
        applies=lambda d: d.cause == "gpu-fault",
        when="a memory access fault on an AMD GPU",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "built-for",
        "Compare the GPU with those that this torch was built for; if it is not among them,"
        " install one that was built for it (a newer torch, of a newer CUDA, for a new GPU).",
        code=(
            'python -c "import torch; print(torch.cuda.get_device_capability(),'
            ' torch.cuda.get_arch_list(), torch.version.cuda)"'
        ),
        applies=lambda d: d.cause == "kernel-image" and not _on_rocm(d),
        when="the kernel is for another GPU",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "built-for-rocm",
        "Compare the GPU's architecture with those that this torch was built for: where it is not"
        " among them, install wheels of ROCm that are. HSA_OVERRIDE_GFX_VERSION, if it is set, says"
        " that the GPU is another one: it must name one of the same series, and libraries of ROCm"
        " that know the GPU need none.",
        code=(
            'python -c "import torch; print(torch.cuda.get_device_properties(0).gcnArchName,'
            ' torch.cuda.get_arch_list(), torch.version.hip)"; echo $HSA_OVERRIDE_GFX_VERSION'
        ),
        applies=lambda d: d.cause == "kernel-image" and _on_rocm(d),
        when="the kernel is for another GPU of AMD",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "driver",
        "If it is, the driver is older than the CUDA that made the kernel: update the driver"
        " (`nvidia-smi` names the newest CUDA that it can load), or let Triton use the ptxas of"
        " a CUDA that is no newer than that.",
        env="TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
        applies=lambda d: d.cause == "kernel-image" and not _on_rocm(d),
        when="the driver is too old",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "clear",
        "Kernels that another machine or another version left in the cache look like this, too:"
        " delete them.",
        code="rm -rf ~/.triton/cache /tmp/torchinductor_$USER",
        applies=lambda d: d.cause == "kernel-image",
        when="a cache that moved with the program",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "cache-folder",
        "Name folders for what is generated that the program may write to, that have room, and"
        " whose path is short; /tmp is often shared, full, or another user's.",
        env="TORCHINDUCTOR_CACHE_DIR=/var/tmp/inductor TRITON_CACHE_DIR=/var/tmp/triton",
        applies=lambda d: d.cause == "cache-dir" and not d.on_windows,
        when="the cache cannot be written",
        basis="untestable",
        proof="needs a folder that cannot be written",
    ),
    Remedy(
        "delete-folder-windows",
        "Delete the folder, with no program of torch running: what another version, or a program"
        " that was stopped, left in it cannot be replaced.",
        code=r'cmd /c rmdir /s /q "%TEMP%\torchinductor_%USERNAME%"',
        applies=lambda d: d.cause == "cache-dir" and d.on_windows and _is_default(d),
        when="the cache cannot be written, on Windows",
        basis="untestable",
        proof="needs Windows",
    ),
    Remedy(
        "cache-folder-windows",
        "Or give what is generated a short path (Windows refuses long ones), and keep virus"
        " scanners off it; compile in one process, since two that write one file clash there.",
        env=(
            r"TORCHINDUCTOR_CACHE_DIR=C:\ti TRITON_CACHE_DIR=C:\tt"
            " TORCHINDUCTOR_COMPILE_THREADS=1"
        ),
        applies=lambda d: d.cause == "windows-refused" or (d.cause == "cache-dir" and d.on_windows),
        when="the same on Windows",
        basis="untestable",
        proof="needs Windows",
    ),
    Remedy(
        "delete-cache",
        "A process that was killed, or a full disk, left half a file. Delete the cache; if several"
        " machines share it, give each its own.",
        code="rm -rf /tmp/torchinductor_$USER ~/.triton/cache",
        applies=lambda d: d.cause == "cache-broken",
        when="a broken file in the cache",
        basis="untestable",
        proof="needs a file that is broken",
    ),
    Remedy(
        "no-cache",
        "See that it is the cache: leave it out once.",
        env="TORCHINDUCTOR_FORCE_DISABLE_CACHES=1",
        applies=lambda d: d.cause == "cache-broken",
        since="2.5",
        when="a broken file in the cache",
        basis="untestable",
        proof="needs a file that is broken",
    ),
    Remedy(
        "list-backends",
        "See which there are. One that a package brings (ipex, openvino, torch_tensorrt, hpu) is"
        " known only after that package is imported.",
        code='python -c "import torch; print(torch._dynamo.list_backends(None))"',
        applies=lambda d: d.cause == "backend-unknown",
        when="an unknown backend",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "clone",
        "The program changes what a compiled function returned, and backward still needs it:"
        " clone it before it is changed, or change it out of place (`y = y + 1`).",
        code="y = compiled(x).clone()",
        applies=lambda d: d.cause == "changed-in-place",
        when="an output is changed in place",
        proof="https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks",
    ),
    Remedy(
        "trace-twice",
        "The graph broke at `torch.autograd.grad`, and what stands before it was compiled by "
        "itself. Let Dynamo trace the call: one graph then holds all of it.",
        setting="torch._dynamo.config.trace_autograd_ops = True",
        since="2.11",
        applies=lambda d: d.cause == "double-backward" and "grad-broke" in d.facts,
        when="double backward, and `torch.autograd.grad` broke a graph",
        basis="tested",
        proof="tests/advice/ERR000/trace-twice.py",
    ),
    Remedy(
        "twice-eager",
        lambda d: (
            f"`{d.function}` differentiates within what is compiled: leave it out, with the "
            "model that it calls, and compile the rest."
        ),
        code="@torch.compiler.disable",
        since="2.1",
        applies=lambda d: d.cause == "double-backward" and "resumed" in d.facts,
        when="double backward within a compiled function",
        basis="tested",
        proof="tests/advice/ERR000/twice-eager.py",
    ),
    Remedy(
        "outside",
        "Compute what is differentiated twice (a gradient penalty, forces) with the uncompiled"
        " module, and keep the compiled one for the rest.",
        code="model(x)  # and compiled(x) elsewhere, of compiled = torch.compile(model)",
        applies=lambda d: d.cause == "double-backward" and "resumed" not in d.facts,
        when="double backward",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
    ),
    *RECORDED,
    Remedy(
        "no-graphs",
        lambda d: (
            "Or compile without CUDA graphs, which run with any allocator."
            if lacks(d)
            else "Compile without CUDA graphs: while one is recorded nothing may wait for the GPU,"
            " allocate from another pool or use another stream, and what it wrote is written again."
        ),
        code='torch.compile(model, mode="max-autotune-no-cudagraphs")  # or the default mode',
        applies=lambda d: (
            (records_itself(d) or d.cause == "graph-pool")
            and (not lacks(d) or "CUDA graph trees" in lacking(d))
        ),
        since="2.1",
        when="while a CUDA graph is recorded",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "in-process",
        "Compile in the process itself, and start with an empty cache, so that the crash is where "
        "it comes from.",
        env="TORCHINDUCTOR_COMPILE_THREADS=1 TORCHINDUCTOR_FORCE_DISABLE_CACHES=1",
        since="2.4",
        applies=lambda d: d.cause == "crash",
        when="a crash",
    ),
    Remedy(
        "where",
        "A kernel read or wrote what is not its own; errors on a GPU come late. Run it so that"
        " they come where they arise, and check the indices that the program looks up.",
        env="CUDA_LAUNCH_BLOCKING=1",
        applies=lambda d: d.cause == "crash",
        when="a crash",
        basis="untestable",
        proof="needs a GPU",
    ),
    *BUILDS,
    *CALLS,
    *KERNELS,
    *USES,
)
