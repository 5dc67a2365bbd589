"""What to do where a call does not fit: into torch, into Triton, or to a file or a compiler."""

from __future__ import annotations

import re

from tracelens.dynamo import user_code
from tracelens.failures.refusals import Refusal, of_nccl
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, Traced
from tracelens.rules.err._known_messages import final

__all__ = ["ALLOCATORS", "CALLS", "lacking", "lacks"]

#: Windows refuses longer paths, unless they are allowed.
MAX_PATH = 260
_ENGINES = frozenset({"engine-died", "engine-start"})


#: What an allocator says of a function that it lacks, and which of them CUDA graph trees call.
_LACKS = re.compile(r"(?:^|[\s\"'`:])(\w{3,40}) does not yet support (\w{3,60})")
_OF_GRAPHS = frozenset({"checkPoolLiveAllocations", "getCheckpointState", "setCheckpointPoolState"})


def lacks(data: FailureData) -> str:
    """Return the allocator that lacks what is asked of it; empty where none is named."""
    found = _LACKS.search(data.message) if data.cause == "graph-pool" else None
    return found[1] if found else ""


def lacking(data: FailureData) -> str:
    """Return the title of an allocator that lacks what is asked of it."""
    found = _LACKS.search(data.message) if lacks(data) else None
    if found is None:
        return ""
    use = ", which CUDA graph trees need" if found[2] in _OF_GRAPHS else ""
    return f"the allocator `{found[1]}` has no `{found[2]}`{use}"


def _allocates(data: FailureData) -> bool:
    """Tell whether the call that failed makes a tensor: it fails for want of memory."""
    return data.cause == "aoti-call" and "aoti_torch_empty" in data.facts.get("call", "")


def _decorated(data: FailureData) -> Traced | None:
    """Return the line of a traced function with a decorator of torch's, `no_grad` or another."""
    for wrapper, line in zip(data.stack, data.stack[1:], strict=False):
        inside = "torch/utils/_contextlib" in wrapper.file.replace("\\", "/")
        if inside and wrapper.function == "decorate_context":
            return line
    return None


def _called_within(data: FailureData) -> str:
    """Say which modules to compile: those that the decorated function calls."""
    line = _decorated(data)
    if line is None:
        return ""
    functions = {one.function for one in data.stack}
    called = re.findall(r"\bself\.(\w+)(?=\()", line.code)
    is_module = len(called) == 1 and called[0] not in functions
    such = f", such as `self.{called[0]}`" if is_module else ""
    at = user_code.short(line.file, line.line)
    own = "" if user_code.package(line.file) else ", or use `torch.no_grad()` for it"
    return (
        f"`{line.function}` ({at}) has a decorator of torch's. Where that or its code enters "
        "`torch.inference_mode()`, a graph that began outside of it cannot go on there: compile "
        f"the modules that it calls{such}, in place of what calls it{own}."
    )


def _length(data: FailureData) -> int:
    return len(data.facts.get("path", "").replace("\\\\", "\\"))


def _is_unreachable(data: FailureData) -> bool:
    """Tell whether NCCL names a connection that was not made; one that was made may end."""
    words = ("socketStartConnect", "Connect to ", "onnection refused", "onnection timed out")
    return any(word in data.message for word in words)


#: What NCCL says of a call that the program made wrongly.
_WRONG_USE = frozenset({"invalidargument", "invalidusage"})


def _last(data: FailureData) -> Refusal | None:
    """Return what is known of the last error that NCCL names."""
    return of_nccl(data.message) if data.cause == "nccl-error" else None


#: What lets an allocator be recorded by CUDA graph trees.
ALLOCATORS = (
    Remedy(
        "native-allocator",
        "PyTorch's own allocator has it, and the program asked for cudaMallocAsync (ComfyUI does:"
        " start it with `--disable-cuda-malloc`).",
        env="PYTORCH_CUDA_ALLOC_CONF=backend:native",
        applies=lambda d: lacks(d) == "cudaMallocAsync",
        when="cudaMallocAsync",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "no-other-allocator",
        "PyTorch's own allocator has it, and the program, or a library such as RMM, put another one"
        " in its place (`torch.cuda.memory.change_current_allocator`): leave that call out.",
        applies=lambda d: lacks(d) not in {"", "cudaMallocAsync"},
        when="an allocator of the program's own",
        basis="untestable",
        proof="needs a GPU",
    ),
)

CALLS = (
    Remedy(
        "nccl-said",
        lambda d: one.text if (one := _last(d)) else "What NCCL's last error asks for.",
        code=lambda d: one.code if (one := _last(d)) else None,
        env=lambda d: one.env if (one := _last(d)) else None,
        applies=lambda d: _last(d) is not None,
        when="NCCL names an error that is known",
        basis="source",
        proof="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
    ),
    Remedy(
        "ranks-first",
        "Look at the other ranks' logs: where one of them ended first, its error is the cause, and"
        " this one came of it. Else let NCCL say what failed.",
        env="NCCL_DEBUG=INFO",
        applies=lambda d: d.cause == "nccl-error",
        when="NCCL fails",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "interface",
        "The ranks cannot reach each other over the network that NCCL chose. Name the interface"
        " that all hosts share (`ip addr` lists them), and let its ports through firewalls.",
        env="NCCL_SOCKET_IFNAME=eth0 NCCL_DEBUG=INFO",
        applies=lambda d: d.cause == "nccl-error" and _is_unreachable(d) and not _last(d),
        when="NCCL cannot connect",
        basis="untestable",
        proof="needs several hosts",
    ),
    Remedy(
        "one-gpu-each",
        "`invalid usage` is mostly two ranks on one GPU, or a tensor on another GPU than its"
        " rank's: give each rank its own before the first collective.",
        code='torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
        applies=lambda d: d.cause == "nccl-error" and d.facts.get("nccl", "") in _WRONG_USE,
        when="NCCL calls it invalid usage",
        basis="untestable",
        proof="needs several GPUs",
    ),
    Remedy(
        "engine-first",
        "The process that failed says why before this one gives up: the first traceback that the"
        " engine's own process (or the first worker) printed ends in the reason.",
        code="grep -n -m 20 -E '[A-Za-z]+(Error|Exception): ' server.log",
        applies=lambda d: d.cause in _ENGINES and (not d.message or "ngine" in d.message),
        when="an engine that does not start, or dies",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "engine-eager",
        "See whether compiling or CUDA graphs have a part in it: start it once without, by the "
        "option `--enforce-eager` of vLLM, or `--disable-cuda-graph` of SGLang.",
        applies=lambda d: d.cause in _ENGINES and not final(d),
        when="an engine that does not start, or dies",
        basis="untestable",
        proof="it tells whose the error is, and removes nothing",
    ),
    Remedy(
        "compile-called",
        _called_within,
        applies=lambda d: d.cause == "inference-tensor" and _decorated(d) is not None,
        when="a function with a decorator of torch's, within what is compiled",
        basis="tested",
        proof="tests/advice/ERR000/compile-called.py",
    ),
    Remedy(
        "no-grad",
        "Tensors that are made under `torch.inference_mode()` have no version counter, and autograd"
        " cannot use them later: run it under `torch.no_grad()`, which costs little more, or clone"
        " what was made there (weights, caches, masks) outside of it. A newer torch than 2.0"
        " compiles more of it.",
        code="with torch.no_grad(): model(x)  # not torch.inference_mode()",
        applies=lambda d: d.cause == "inference-tensor" and _decorated(d) is None,
        when="inference_mode",
        proof="https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode",
    ),
    Remedy(
        "memory",
        lambda d: (
            f"`{d.facts.get('call', 'It')}` makes a tensor, and fails where the GPU's memory is"
            " full: use a smaller batch or smaller images. The line above it says so"
            " (`memory mapping failed with OOM`, or `Exception in aoti_torch`)."
        ),
        env="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        applies=_allocates,
        when="an allocation of the C++ wrapper",
        basis="untestable",
        proof="needs a GPU whose memory is full",
    ),
    Remedy(
        "above",
        "The cause stands above it, in what was printed before: `Exception in aoti_torch: ...`."
        " Without the C++ wrapper the error comes as Python's, with its traceback.",
        env="TORCHINDUCTOR_CPP_WRAPPER=0",
        since="2.3",
        applies=lambda d: d.cause == "aoti-call",
        when="a call of the C++ wrapper",
        basis="untestable",
        proof="it shows more",
    ),
    Remedy(
        "one-at-a-time",
        "`torchjd` maps the backward of all losses at once: let it differentiate one after another,"
        " and keep the buffers that each of them needs.",
        code="torch._functorch.config.donated_buffer = False\n"
        "backward(losses, parallel_chunk_size=1)  # mtl_backward takes it, too",
        since="2.6",
        applies=lambda d: d.cause == "batched-backward" and user_code.package(d.file) == "torchjd",
        when="torchjd maps the backward",
        proof="torchjd's documentation of `parallel_chunk_size`",
    ),
    Remedy(
        "inside",
        "Compile the whole, with vmap (or grad, or jacrev) inside of what is compiled; or leave the"
        " function whose backward is mapped uncompiled.",
        code="torch.compile(lambda *args: torch.vmap(f)(*args))",
        applies=lambda d: d.cause == "batched-backward",
        when="vmap over a compiled backward",
        proof="torch's own message",
    ),
    Remedy(
        "fitting-hip",
        "First see that Triton fits the HIP of this torch: one that was built for another refuses"
        " every address. Take the Triton that the torch wheels name, on Windows triton-windows.",
        code="python -m pip uninstall -y triton pytorch-triton-rocm; python -m pip install -U"
        " triton-windows  # on Linux: torch and Triton anew, of one index",
        applies=lambda d: d.cause == "cpu-pointer" and "hip" in d.facts,
        when="an AMD GPU",
        basis="untestable",
        proof="needs a GPU of AMD",
    ),
    Remedy(
        "to-device",
        "See where the tensors are (`x.device`), and move what is on the CPU. With flex_attention"
        " it is mostly the block mask, or a tensor that mask_mod or score_mod uses; else what an"
        " offload left there. A CPU tensor without dimensions is no reason: Inductor passes its"
        " value.",
        code='create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cuda")  # x = x.to("cuda")',
        applies=lambda d: d.cause == "cpu-pointer",
        when="a tensor on the CPU",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "tensors-device",
        "If all are on a GPU and there are several, a kernel runs on the current one: make that"
        " the tensors'.",
        code="with torch.cuda.device(x.device): ...  # around the call",
        applies=lambda d: d.cause == "cpu-pointer",
        when="several GPUs",
        basis="untestable",
        proof="needs two GPUs",
    ),
    Remedy(
        "english",
        "Install the English language pack of Visual Studio, and take the others out (Visual Studio"
        " Installer, Modify, Language packs): torch reads what `cl` prints, and takes it for UTF-8"
        " or English.",
        env="VSLANG=1033",
        applies=lambda d: d.cause == "msvc-language",
        when="cl speaks another language",
        basis="untestable",
        proof="needs Windows",
    ),
    Remedy(
        "newer-decoding",
        "Or install a newer torch, which reads other code pages, too.",
        code="python -m pip install -U torch",
        applies=lambda d: d.cause == "msvc-language",
        when="cl speaks another language",
        basis="untestable",
        proof="needs Windows",
    ),
    Remedy(
        "short-path",
        lambda d: (
            f"Its path has {_length(d)} characters, and Windows refuses more than {MAX_PATH}"
            " together with the folders that are made in it: give the caches short paths, or allow"
            " long ones (LongPathsEnabled in the registry)."
        ),
        env=r"TORCHINDUCTOR_CACHE_DIR=C:\ti TRITON_CACHE_DIR=C:\tt",
        applies=lambda d: d.cause == "cache-gone" and d.on_windows,
        when="a long path on Windows",
        basis="untestable",
        proof="needs Windows",
    ),
    Remedy(
        "own-cache",
        "Something removes or replaces files while this program compiles: a job that cleans /tmp,"
        " or another process with the same cache. Give this one a cache of its own, on a local"
        " disk.",
        env="TORCHINDUCTOR_CACHE_DIR=/var/tmp/inductor-$$ TRITON_CACHE_DIR=/var/tmp/triton-$$",
        applies=lambda d: d.cause == "cache-gone" and not d.on_windows,
        when="a shared cache",
        basis="untestable",
        proof="needs two programs that clash",
    ),
    Remedy(
        "mutates-args",
        "Let the operator return nothing, or new tensors only, and name in its schema what it"
        " writes into; one that is registered in C++ needs `Tensor(a!) out` for that and `-> ()`.",
        code='@torch.library.custom_op("mylib::add_into", mutates_args=("out",))',
        since="2.4",
        applies=lambda d: d.cause == "operator-aliases",
        when="an operator whose schema has aliases",
        proof="https://docs.pytorch.org/docs/stable/library.html",
    ),
    Remedy(
        "out-of-region",
        "If its schema is so already, leave out what calls it in a graph of its own: a"
        " nested_compile_region, a branch of torch.cond, the body of a while_loop. Where that"
        " helps, it is a bug of torch: report it with the version.",
        applies=lambda d: d.cause == "operator-aliases",
        when="an operator that writes into an argument",
        basis="untestable",
        proof="it depends on the version",
    ),
)
