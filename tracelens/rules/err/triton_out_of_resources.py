"""ERR013 triton-out-of-resources."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["TritonOutOfResources"]


def _is_flex(data: FailureData) -> bool:
    return "flex" in f"{data.file} {data.function} {data.message} {data.generated}".lower()


def _is_helion(data: FailureData) -> bool:
    return "helion" in f"{data.file} {data.message}".lower()


def _is_torchs(data: FailureData) -> bool:
    """Whether Inductor may have made the kernel: it passes Triton's error on without module."""
    if data.facts.get("launched"):
        return False
    passed_on = not data.exception.startswith("triton.")
    return _is_flex(data) or (not _is_helion(data) and (passed_on or bool(data.generated)))


def _launched(data: FailureData) -> str:
    """Return the file that launches a kernel which is written by hand, with its folder."""
    return "/".join(data.facts.get("launched", "").split("/")[-2:])


class TritonOutOfResources(FailureRule):
    """A Triton kernel needs more shared memory or registers than the GPU has.

    ## Why it matters
    The block sizes and the number of stages decide how much of a multiprocessor a kernel takes.
    Settings that were made for a larger GPU do not fit a smaller one.

    ## What it looks like
        torch._inductor.exc.InductorError: OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.

    ## When it is harmless
    While Inductor tunes, it tries configurations that do not fit and leaves them out ("Ignoring
    this choice"); that is no failure.

    ## What to do
    Smaller blocks or fewer stages, where the kernel is yours or takes ``kernel_options``; a
    smaller configuration for what is tuned.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    TUN004 (candidates that were left out), ERR014.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR013"
    name = "triton-out-of-resources"
    of_causes: ClassVar[frozenset[str]] = frozenset({"out-of-resources"})
    remedies = (
        Remedy(
            "flex",
            "flex_attention: smaller blocks and fewer stages, for the backward pass as well.",
            code=(
                'flex_attention(q, k, v, kernel_options={"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_M1":'
                ' 16, "BLOCK_N1": 32, "BLOCK_M2": 32, "BLOCK_N2": 16, "num_stages": 1})'
            ),
            since="2.5",
            applies=lambda d: _is_flex(d) or _is_torchs(d),
            when="flex_attention, or a kernel of torch's whose name is not told",
            proof="https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html",
        ),
        Remedy(
            "own-kernel",
            "A kernel of your own: smaller BLOCK sizes, `num_stages=1` or 2; under @triton.autotune"
            " add such a configuration.",
            code='triton.Config({"BLOCK_M": 32, "BLOCK_N": 32}, num_stages=1, num_warps=4)',
            applies=lambda d: not (d.generated or _is_flex(d) or _is_helion(d) or _launched(d)),
            when="a kernel that is not known to be generated",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "by-hand",
            lambda d: (
                f"The kernel is written by hand, and launched in `{_launched(d)}`. Where that is a"
                " package's: set its own options for block sizes and stages, take a version that"
                " knows this GPU, or another implementation of the operator. Where it is your own:"
                " smaller BLOCK sizes, and `num_stages=1` or 2."
            ),
            code='triton.Config({"BLOCK_M": 32, "BLOCK_N": 32}, num_stages=1, num_warps=4)',
            applies=lambda d: bool(_launched(d)) and not (_is_flex(d) or _is_helion(d)),
            when="a kernel that neither Inductor nor Helion made",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "helion",
            "A Helion kernel runs with a default configuration that was not tuned for this GPU:"
            " autotune it, or give it a smaller one.",
            applies=_is_helion,
            when="Helion",
            basis="untestable",
            proof="needs a GPU and Helion",
        ),
        Remedy(
            "no-templates",
            "A matrix product of Inductor's own: leave it to the library.",
            setting='torch._inductor.config.max_autotune_gemm_backends = "ATEN"',
            env="TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=ATEN",
            applies=lambda d: _is_torchs(d) and not _is_flex(d),
            when="a kernel that Inductor generated, and not known to be flex_attention's",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        facts = data.facts
        what = {"sharedmemory": "shared memory", "Register": "registers"}.get(
            facts.get("what", ""), facts.get("what", "shared memory")
        )
        if facts.get("needed") and facts.get("limit"):
            unit = "bytes of " if what == "shared memory" else ""
            return (
                f"a Triton kernel needs {int(facts['needed']):,} {unit}{what}, and the GPU has"
                f" {int(facts['limit']):,}"
            )
        return f"a Triton kernel needs more {what} than the GPU has"
