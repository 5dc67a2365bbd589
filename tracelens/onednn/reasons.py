"""Why implementations refuse: the messages of oneDNN's dispatcher, in classes with something to do.

The templates are in ``src/common/verbose_msg.hpp`` (about 75, oneDNN 3.5 to 3.13); others are free
text in the implementations, and ``cpu,acl,unsupported`` lines quote the Arm Compute Library.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Reason", "actionable", "remedy", "why"]


class Reason(StrEnum):
    """The class of a refusal. The value reads in a sentence after "because of"."""

    DATA_TYPE = "the data types"
    INSTRUCTIONS = "the instruction set"
    ATTRIBUTES = "a fused operation or scale"
    PRECISION = "the precision setting"
    DYNAMIC_SHAPE = "sizes that are known at run time only"
    LAYOUT = "the memory layout"
    BIAS = "the bias"
    SPARSITY = "the sparse format"
    DETERMINISM = "deterministic mode"
    DEFERRED = "another implementation that it thinks faster"
    SHAPE = "the shape"
    CHAIN = "its place in the list"
    OTHER_KIND = "another kind of problem that they are for"
    RESOURCES = "a part that could not be made"
    OTHER = "another reason"


#: Fragments of messages, lower case; the first class that has one in the message is its class.
_FRAGMENTS: tuple[tuple[Reason, tuple[str, ...]], ...] = (
    (Reason.DEFERRED, ("is faster", "falling back to", "fall back to the", "in favour of")),
    (Reason.CHAIN, ("skipping or dispatching",)),
    (Reason.OTHER_KIND, ("depthwise convolution implementation",)),
    (Reason.PRECISION, ("fpmath",)),
    (Reason.DETERMINISM, ("deterministically",)),
    (Reason.SPARSITY, ("sparse",)),
    (Reason.BIAS, ("bias",)),
    (Reason.DYNAMIC_SHAPE, ("runtime dim",)),
    (Reason.ATTRIBUTES, ("post-op", "attribute", "attrs", "scales", "zero-point", "zero point")),
    (Reason.DATA_TYPE, ("datatype", "data type", "bf16_transforms")),
    (Reason.INSTRUCTIONS, (" isa", "unavailable for device")),
    # The steps of a convolution, which its layer has; those of a tensor are its layout.
    (Reason.SHAPE, ("unit strides", "strided convolution", "stride_w", "stride_h")),
    (
        Reason.LAYOUT,
        ("format", "layout", "stride", "dense", "non-transposed", "md flags", "transposes"),
    ),
    (
        Reason.SHAPE,
        (
            "shape",
            "dimension",
            "heuristic",
            "blocking",
            "bad param",
            "bad flags",
            "padding",
            "tail processing",
            "grouped convolution",
            "unsupported feature",
        ),
    ),
    (Reason.RESOURCES, ("scratchpad", "failed to create", "nested primitive", "memory limit")),
)

_REMEDIES = {
    Reason.DATA_TYPE: "give weights, bias and result one data type, or run the layer in float32",
    Reason.INSTRUCTIONS: "check ONEDNN_MAX_CPU_ISA, or use a CPU that has the instructions",
    Reason.ATTRIBUTES: "keep the fused operation or the scale out of this layer",
    Reason.PRECISION: "set torch.backends.mkldnn.matmul.fp32_precision back to 'ieee'",
    Reason.DYNAMIC_SHAPE: "compile with dynamic=False, or mark the size as static",
    Reason.LAYOUT: "make the input contiguous or channels_last",
    Reason.BIAS: "use a one-dimensional bias in the data type of the result",
    Reason.SPARSITY: "use dense weights",
    Reason.DETERMINISM: "allow nondeterministic algorithms: "
    "torch.use_deterministic_algorithms(False)",
}


def why(message: str) -> Reason:
    """Return the class of a refusal's message."""
    text = f" {message.lower()}"
    for reason, fragments in _FRAGMENTS:
        if any(fragment in text for fragment in fragments):
            return reason
    return Reason.OTHER


def actionable(reason: Reason) -> bool:
    """Return whether a user can change what was refused. Shape heuristics are oneDNN's own."""
    return reason in _REMEDIES


def remedy(reason: Reason) -> str:
    """Return what to do about a class of refusals, as an imperative; empty for nothing."""
    return _REMEDIES.get(reason, "")
