# ruff: noqa: E501 -- commands
"""What to do where this torch, this Triton or this process is not made for the device."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData
from tracelens.rules.err._recorded_graphs import records_itself

__all__ = ["BUILDS"]

#: Where wheels of torch for a device are; CUDA's and ROCm's names hold a version.
_INDEX = {"CUDA": "cu128", "HIP": "rocm6.4", "XPU": "xpu"}


def _device(data: FailureData) -> str:
    return data.facts.get("built", "").upper()


def _has_index(data: FailureData) -> bool:
    return data.cause == "not-built" and _device(data) in _INDEX


BUILDS = (
    Remedy(
        "which-torch",
        lambda d: (
            f"See which torch the program runs: the one that it found is built without"
            f" {_device(d) or 'that device'}. pip takes such a one where the index has no other"
            " for this Python or system, and a package that was installed later may replace it."
        ),
        code='python -c "import torch; print(torch.__version__, torch.version.cuda, torch.__file__)"',
        applies=lambda d: d.cause == "not-built",
        when="torch without the device",
        basis="untestable",
        proof="it shows which torch it is",
    ),
    Remedy(
        "right-torch",
        lambda d: (
            f"Install the torch that is built for it, with the Python that runs the program: {_device(d)}."
        ),
        code=lambda d: (
            "python -m pip install --force-reinstall torch --index-url"
            f" https://download.pytorch.org/whl/{_INDEX.get(_device(d), 'cu128')}"
        ),
        applies=_has_index,
        when="torch without the device",
        basis="untestable",
        proof="needs a GPU",
    ),
    Remedy(
        "other-device",
        "If the machine has no such device, something asks for one: look for `.cuda()`,"
        ' `device="cuda"` and a default device in the program and its settings. Torch 2.0 asked'
        " for CUDA when it compiled for `mps`.",
        applies=lambda d: d.cause == "not-built",
        when="no such device",
        basis="untestable",
        proof="it depends on the program",
    ),
    Remedy(
        "current-device",
        "Triton starts a kernel on the current GPU, which is not the one of the tensors: make"
        " theirs the current one, before the call or once in each process.",
        code="with torch.cuda.device(x.device): model(x)  # or torch.cuda.set_device(local_rank)",
        applies=lambda d: d.cause == "wrong-device",
        when="tensors on another GPU",
        basis="untestable",
        proof="needs two GPUs",
    ),
    Remedy(
        "only-device",
        "Or let the process see that GPU alone: it is then cuda:0.",
        env="CUDA_VISIBLE_DEVICES=1",
        applies=lambda d: d.cause == "wrong-device",
        when="tensors on another GPU",
        basis="untestable",
        proof="needs two GPUs",
    ),
    Remedy(
        "newer-torch",
        "torch.compile came with torch 2.0, torch.compiler and torch.export with 2.1: install a"
        " newer torch. If it is new already, a file or a folder called `torch` beside the program"
        " hides it; this shows which one is imported.",
        code='python -c "import torch; print(torch.__file__, torch.__version__)"  # then: python -m pip install -U torch',
        applies=lambda d: d.cause == "torch-too-old",
        when="a torch before 2.0",
        basis="untestable",
        proof="RELEASE.md of pytorch/pytorch",
    ),
    Remedy(
        "own-ptxas",
        "The ptxas that Triton brings does not run here: on Windows a DLL that it needs is missing"
        " or of another CUDA; elsewhere it is for another processor, or may not be executed."
        " Install Triton anew.",
        code=lambda d: (
            'python -m pip install -U --force-reinstall "triton-windows<3.6"'
            if d.on_windows
            else "python -m pip install --force-reinstall --no-deps triton==$(python -c"
            ' "import triton; print(triton.__version__)")'
        ),
        applies=lambda d: d.cause == "ptxas-broken",
        when="ptxas does not run",
        basis="untestable",
        proof="needs a broken ptxas",
    ),
    Remedy(
        "other-ptxas",
        "Or name the ptxas of a CUDA toolkit.",
        env="TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
        applies=lambda d: d.cause == "ptxas-broken",
        when="ptxas does not run",
        basis="untestable",
        proof="needs a broken ptxas",
    ),
    Remedy(
        "warm-up",
        "If the program records the graph itself: call what is compiled a few times before. Torch"
        " compiles at the first call, and what it copies meanwhile must not be recorded.",
        code="for _ in range(3): model(x)  # on the stream that records, before torch.cuda.graph(g)",
        applies=records_itself,
        when="a graph of the program's own",
        basis="untestable",
        proof="needs a GPU",
    ),
)
