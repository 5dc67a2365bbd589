"""What to do where Triton refuses a kernel's code, or does not find what it links with."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["KERNELS"]


def _says(data: FailureData, *words: str) -> bool:
    return data.cause == "kernel-code" and any(word in data.message for word in words)


KERNELS = (
    Remedy(
        "power-of-two",
        "The sizes that a kernel is written for (`tl.arange`, blocks) must be powers of 2: round"
        " them up, and mask what is beyond the real size.",
        code="BLOCK=triton.next_power_of_2(n)  # tl.load(p + offs, mask=offs < n, other=0.0)",
        applies=lambda d: _says(d, "power of 2", "power of two"),
        when="a size in a kernel",
        proof="https://triton-lang.org/main/python-api/triton.language.html",
    ),
    Remedy(
        "constexpr",
        "A value that must be known when the kernel is compiled (a block's size, a dtype) is an"
        " argument marked `tl.constexpr`, or a global made with it.",
        code="def kernel(x_ptr, n, BLOCK: tl.constexpr, DTYPE: tl.constexpr):",
        applies=lambda d: _says(d, "constexpr", "Unsupported type <class", "global variable"),
        when="a value in a kernel",
        proof="https://triton-lang.org/main/python-api/triton.language.html",
    ),
    Remedy(
        "jit",
        "Functions of `tl` work only in a function under `@triton.jit`: mark those that the kernel"
        " calls as well, and take the kernel and Triton of one version.",
        code="@triton.jit",
        applies=lambda d: _says(d, "@triton.jit"),
        when="a function outside of a kernel",
        proof="https://triton-lang.org/main/python-api/generated/triton.jit.html",
    ),
    Remedy(
        "load-first",
        "A pointer is no number: read what it points to before computing with it, and mind which"
        " arguments are tensors, and so pointers, and which are numbers.",
        code="x = tl.load(x_ptr + offs, mask=mask)",
        applies=lambda d: _says(d, "pointer<"),
        when="an operand that is a pointer",
        proof="https://triton-lang.org/main/python-api/generated/triton.language.load.html",
    ),
    Remedy(
        "kernels-triton",
        "If the kernel is a library's (attention, Mamba, MoE), it was written for another Triton:"
        " install the Triton that the library names, which goes with the torch that it names.",
        code="python -m pip show triton torch  # then the versions that the library's README names",
        applies=lambda d: d.cause == "kernel-code",
        when="a kernel of a library",
        basis="untestable",
        proof="it depends on the library",
    ),
    Remedy(
        "rocm-linker",
        "Name the linker of the ROCm that is installed: `which ld.lld`, or the `llvm/bin` of"
        " ROCm's folder.",
        env='TRITON_HIP_LLD_PATH="$(rocm-sdk path --root)/llvm/bin/ld.lld"',
        applies=lambda d: d.cause == "rocm-linker",
        when="ROCm outside of /opt/rocm",
        basis="untestable",
        proof="needs an AMD GPU",
    ),
    Remedy(
        "rocm-newer",
        "Triton 3.5 (torch 2.9) and newer link by themselves, without that program.",
        code="python -m pip install -U torch",
        applies=lambda d: d.cause == "rocm-linker",
        when="ROCm outside of /opt/rocm",
        basis="untestable",
        proof="needs an AMD GPU",
    ),
)
