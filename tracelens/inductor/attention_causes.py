"""Why attention is not fused, and what would change that."""

from __future__ import annotations

from enum import Enum

from tracelens.inductor.attention import Unfused
from tracelens.report import Advice, Severity

__all__ = ["Cause", "advice", "cause_of", "severity", "why"]

#: Up to so many keys the fused CPU kernel was slower than products and softmax (pytorch#108324).
SHORT = 32


class Cause(Enum):
    """Why there is no fused kernel."""

    #: The program multiplies, normalises and multiplies itself.
    WRITTEN_OUT = "written out"
    #: It drops weights at random, which the fused CPU kernel cannot.
    DROPOUT = "dropout"
    #: It needs the weights for something else, too, and a fused kernel does not return them.
    SHARED = "shared"
    #: It calls scaled_dot_product_attention, and torch took that apart.
    DECOMPOSED = "decomposed"


def cause_of(found: Unfused) -> Cause:
    """Return the first cause that holds."""
    if found.has_dropout and found.kernel.device == "cpu":
        return Cause.DROPOUT
    if found.is_shared:
        return Cause.SHARED
    return Cause.DECOMPOSED if found.is_decomposed else Cause.WRITTEN_OUT


def severity(cause: Cause, found: Unfused, *, fused: bool) -> Severity:
    """Judge by the cause and the length; ``fused`` says whether the log has a fused kernel."""
    if cause is Cause.DROPOUT:
        return Severity.NONE if fused else Severity.INFO
    if cause in {Cause.DECOMPOSED, Cause.SHARED} or _keys(found) <= SHORT:
        return Severity.INFO
    return Severity.WARNING


def _keys(found: Unfused) -> float:
    """Return the keys per query; infinite where the length is symbolic."""
    last = found.scores.size[-1] if found.scores.size else ""
    return last if isinstance(last, int) else float("inf")


def why(cause: Cause, found: Unfused, *, fused: bool) -> str:
    """Return the cause as a sentence or two."""
    short = cause is not Cause.DROPOUT and _keys(found) <= SHORT
    return _why(cause, fused=fused) + (_SHORT if short else "")


def _why(cause: Cause, *, fused: bool) -> str:
    if cause is Cause.WRITTEN_OUT:
        return "The program writes attention out, and Inductor did not recognise it."
    if cause is Cause.SHARED:
        return "Something else reads the weights, too, and a fused kernel would not return them."
    if cause is Cause.DECOMPOSED:
        return "The program calls scaled_dot_product_attention, and torch took it apart."
    other = " The same log has the fused kernel too, where nothing is dropped." if fused else ""
    return f"Weights are dropped at random, for which there is no fused CPU kernel.{other}"


def advice(cause: Cause, *, tf32: bool) -> tuple[Advice, ...]:
    """Return what to do about it; ``tf32``: torch says that float32 products keep it away."""
    return _ADVICE[cause] + (_TF32 if tf32 else ())


_SHORT = f" With up to {SHORT} keys per query a fused kernel may be slower."
_ADVICE: dict[Cause, tuple[Advice, ...]] = {
    Cause.SHARED: (
        Advice(
            text="Leave the weights out where they are only looked at; then attention can fuse."
        ),
    ),
    Cause.WRITTEN_OUT: (
        Advice(
            text="Let torch compute it; a library mostly has an option for that, such as "
            'attn_implementation="sdpa" in transformers or attn_flash=True in x-transformers.',
            code="y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
            since="2.0",
        ),
        Advice(
            text="Where scores are changed in between, use flex_attention in compiled code.",
            code="from torch.nn.attention.flex_attention import flex_attention",
            since="2.5",
        ),
    ),
    Cause.DROPOUT: (
        Advice(text="Set the dropout of attention weights to 0, if the model trains as well."),
    ),
    Cause.DECOMPOSED: (
        Advice(
            text="Look for what the fused kernels do not take: a mask that needs a gradient, head "
            "sizes or types that they do not support, weights that are returned.",
        ),
    ),
}
_TF32 = (
    Advice(
        text="Allow TF32 for float32 products: without it, written-out attention is not matched.",
        setting='torch.set_float32_matmul_precision("high")',
        since="2.11",
    ),
)
