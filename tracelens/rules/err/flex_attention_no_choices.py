"""ERR014 flex-attention-no-choices."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["FlexAttentionNoChoices"]


#: How a message says that there is no kernel for what was asked.
_NONE = re.compile(
    r"(?i)no ?(?:valid ?)?choices|not (?:yet )?support|supported|divisible|multiple of|supports"
    r"|cannot be used|not ?implemented|NYI"
)


def _has_kernel(data: FailureData) -> bool:
    """Tell whether it failed for another reason than that there is no kernel."""
    said = f"{data.exception} {data.message}"
    return bool(data.message) and _NONE.search(said) is None


def _on_cpu(data: FailureData) -> bool:
    return "CPU only supports inference" in data.message or _lacks_cpu(data)


def _lacks_cpu(data: FailureData) -> bool:
    """Tell whether this torch has no kernel for the CPU at all, where the tensors are."""
    return "Layout('cpu'" in data.message and not _has_kernel(data)


class FlexAttentionNoChoices(FailureRule):
    """flex_attention has no kernel for these sizes or this device.

    ## Why it matters
    flex_attention is always a Triton template (or C++ on the CPU): there is no library to fall
    back on. Where no configuration of the template fits, compiling ends.

    ## What it looks like
        backend='inductor' raised:
        LoweringException: NoValidChoicesError: No choices to select, please consider adding ATEN into max_autotune_gemm_backends config (defined in torch/_inductor/config.py) to allow at least one choice.
          target: flex_attention

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Not what the message says: ATEN has no flex_attention. Give sizes that are multiples of the
    blocks, smaller blocks, a newer torch, or a supported device.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR013 (it needs too much shared memory), TUN005 (matrix products without a choice).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR014"
    name = "flex-attention-no-choices"
    of_causes: ClassVar[frozenset[str]] = frozenset({"flex-attention"})
    remedies = (
        Remedy(
            "cpu",
            "On the CPU compiled flex_attention has a forward only, without `return_lse`: run it "
            "under no_grad there, call it uncompiled, or take scaled_dot_product_attention.",
            code="with torch.no_grad(): out = compiled(q, k, v)",
            applies=lambda data: _on_cpu(data) and not _lacks_cpu(data),
            when="the CPU",
            since="2.6",
            proof="torch/_inductor/kernel/flex/flex_cpu.py",
        ),
        Remedy(
            "multiple",
            "Make BLOCK_SIZE of the block mask a multiple of the kernel's blocks: 128, the default,"
            " fits all.",
            code="create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, BLOCK_SIZE=128)",
            applies=lambda data: not (_has_kernel(data) or _on_cpu(data)),
            since="2.5",
            proof="https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html",
        ),
        Remedy(
            "options",
            "Or set the kernel's own blocks so that they divide it.",
            code=(
                'flex_attention(q, k, v, block_mask=mask, kernel_options={"BLOCK_M": 64, "BLOCK_N":'
                " 64})"
            ),
            applies=lambda data: not (_has_kernel(data) or _on_cpu(data)),
            since="2.5",
            proof="https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html",
        ),
        Remedy(
            "newer",
            lambda data: (
                "torch 2.6 was the first with a kernel for the CPU: take it or a newer one, or run"
                " it on a GPU."
                if _lacks_cpu(data)
                else "A newer torch knows more sizes (head dimensions that are no powers of 2,"
                " short sequences, devices) and has fewer bugs: 2.5 was the first with it."
            ),
            code="python -m pip install -U torch",
            basis="untestable",
            proof="it depends on the release",
        ),
        Remedy(
            "cpu-uncompiled",
            "Until then call it uncompiled there, which is slow, or take"
            " scaled_dot_product_attention.",
            code="F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
            applies=_lacks_cpu,
            when="the CPU, and a torch without a kernel for it",
            basis="untestable",
            proof="needs torch 2.5",
        ),
        Remedy(
            "not-aten",
            "Do not add ATEN to max_autotune_gemm_backends, as the message says: it has no"
            " flex_attention. Without compiling it works, slowly.",
            env="TORCHDYNAMO_DISABLE=1",
            applies=lambda data: not (_has_kernel(data) or _on_cpu(data)),
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if _lacks_cpu(data):
            return "this torch has no kernel of flex_attention for the CPU, where the tensors are"
        if _on_cpu(data):
            return "flex_attention has no kernel for this on the CPU: no backward, no return_lse"
        if _has_kernel(data):
            return "Inductor could not lower flex_attention"
        return "flex_attention has no kernel for these sizes, this block mask or this device"

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        if "ATEN" not in data.message:
            return ""
        return "The message names ATEN, which has no flex_attention: it cannot help."
