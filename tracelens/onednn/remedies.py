"""What to do about a slow oneDNN primitive, with the versions where it holds.

The versions are those of the AArch64 wheels that were run: 2.6.0, 2.10.0, 2.13.0 and 2.15.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.onednn.reasons import Reason, remedy
from tracelens.report import Advice

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import PrimitiveExec

__all__ = ["for_recurrent", "for_reference"]

#: torch wheel -> its oneDNN.
_WHEELS = {"2.10.0": (3, 7), "2.13.0": (3, 12), "2.15.0": (3, 13)}
MAX_ADVICE = 4


def for_reference(
    run: PrimitiveExec, isa: str, onednn: str, reasons: Sequence[Reason]
) -> tuple[Advice, ...]:
    """Return what makes another implementation than the reference one take ``run``.

    Args:
        run: The execution.
        isa: The instruction sets, as in the log's header.
        onednn: The version of oneDNN; empty where the header is missing.
        reasons: Why other implementations refused.
    """
    dtype = run.mds[0].dtype if run.mds else ""
    arm = isa.startswith("AArch64")
    advice = []
    if arm and (fixed := _fixed_in(run, dtype)) and _older(onednn, _WHEELS[fixed]):
        advice.append(_upgrade(fixed))
    if arm and run.primitive == "inner_product" and dtype == "bf16":
        return (*advice, _UNFROZEN, _FAST_MATH)
    if arm and run.primitive == "convolution" and dtype == "f16" and Reason.DEFERRED in reasons:
        advice.append(_F16_CONVOLUTION)
    if run.primitive in {"matmul", "inner_product"} and dtype == "s8":
        advice.append(_SIGNED_ACTIVATIONS)
    for reason in dict.fromkeys(reasons):
        text = remedy(reason)
        if text and not (reason is Reason.DATA_TYPE and dtype in {"bf16", "f16"}):
            advice.append(Advice(text=f"{text[0].upper()}{text[1:]}."))
    if dtype in {"bf16", "f16"}:
        advice.append(_FLOAT32)
    return (*advice[: MAX_ADVICE - 1], _WITHOUT_ONEDNN)


def for_recurrent() -> tuple[Advice, ...]:
    """Return what to try about a recurrent network without a generated cell."""
    return _RECURRENT


def _fixed_in(run: PrimitiveExec, dtype: str) -> str:
    """Return the first wheel for AArch64 that was seen to run ``run`` fast; empty for none."""
    if dtype != "bf16" or run.is_training:
        return ""
    if run.primitive == "inner_product":
        return "2.15.0"
    if run.primitive != "convolution":
        return ""
    sizes = run.problem.named
    special = "kd" in sizes or sizes.get("g", 1) > 1
    return "2.13.0" if special else "2.10.0"


def _older(version: str, than: tuple[int, int]) -> bool:
    parts = version.split(".")[:2]
    return all(part.isdigit() for part in parts) and tuple(map(int, parts)) < than


def _upgrade(wheel: str) -> Advice:
    return Advice(
        text=f"Use torch {wheel} or later, whose AArch64 wheel runs this on an optimised kernel.",
        code=f'pip install --upgrade "torch>={wheel}"',
        since=wheel,
    )


_UNFROZEN = Advice(
    text="Or do not freeze this model: unfrozen, the same layer runs on `gemm:acl`.",
    setting="torch._inductor.config.freezing = False",
    env="TORCHINDUCTOR_FREEZING=0",
    until="2.15.0",
)
_FAST_MATH = Advice(
    text="Or keep the layer in float32 and let oneDNN multiply in bfloat16. In torch 2.10 the "
    "setting does not reach a Linear that has a bias; the variable does.",
    setting="torch.backends.mkldnn.matmul.fp32_precision = 'bf16'",
    env="ONEDNN_DEFAULT_FPMATH_MODE=BF16",
    since="2.10.0",
)
_RECURRENT = (
    Advice(
        text="For inference, call model.eval() and run without gradients: the generated LSTM cell "
        "serves inference only.",
        code="with torch.inference_mode(): ...",
    ),
    Advice(
        text="For training, compare with ATen's own LSTM.",
        code="with torch.backends.mkldnn.flags(enabled=False): ...",
    ),
)
_F16_CONVOLUTION = Advice(
    text="Use bfloat16 or float32 for this convolution: from torch 2.15.0 on, small float16 "
    "convolutions are left to an implementation that does not take float16.",
    code="module.to(torch.bfloat16)",
    since="2.15.0",
)
_SIGNED_ACTIVATIONS = Advice(
    text="Quantise the activations to unsigned 8-bit integers: the fast x86 kernels take u8 "
    "activations with s8 weights.",
)
_FLOAT32 = Advice(text="Run this layer in float32.", code="module.float()")
_WITHOUT_ONEDNN = Advice(
    text="Compare with ATen's own kernel.",
    code="with torch.backends.mkldnn.flags(enabled=False): ...",
)
