"""Why attention is not fused, and what would change that."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tracelens.inductor.attention import Unfused
from tracelens.inductor.graphs import SMALL_PART, is_little, part_of_call, traffic
from tracelens.report import Severity
from tracelens.words import size

__all__ = [
    "FUSED",
    "SHORT",
    "Cause",
    "by_module",
    "cause_of",
    "folded",
    "keys_of",
    "reason",
    "scores_of",
    "severity",
    "why",
]

#: Keys up to which a fused call in float32 gains little on a GPU.
FEW_IN_FLOAT32 = 512
#: Up to so many keys the fused CPU kernel was slower than products and softmax (pytorch#108324).
SHORT = 32
#: ... and with a mask, up to which it took as long in inference (float32, windows of 32 per head).
SHORT_MASKED = 128
#: Keys from which it was measured to be faster in training on a CPU, its backward included:
#: float32, and shorter types, whose products are fast by themselves.
TRAINED, TRAINED_SHORT = 256, 1024
#: Bytes of all scores of a graph on a CPU, below which the fused kernel saved less than 0.1 ms in
#: a call, and below which it was not always faster (one core, float32, 32 and 64 per head).
FEW_BYTES, SOME_BYTES = 128 << 10, 512 << 10
#: Scores are written and read, and so are the weights that are made of them.
PASSES = 4
#: (batch, heads, length, size): what every fused kernel takes.
FUSED = 4


class Cause(Enum):
    """Why there is no fused kernel."""

    #: The program multiplies, normalises and multiplies itself.
    WRITTEN_OUT = "written out"
    #: It drops weights at random, which the fused CPU kernel cannot.
    DROPOUT = "dropout"
    #: It caps the scores, which only flex_attention can.
    CAPPED = "capped"
    #: It needs the weights for something else, too, and a fused kernel does not return them.
    SHARED = "shared"
    #: Another attention adds its scores to those of its own, and a fused kernel returns none.
    CARRIED = "carried"
    #: It adds the scores of another, and nothing reads its own.
    LAST = "last"
    #: It is scaled_dot_product_attention with other than four dimensions.
    DIMENSIONS = "dimensions"
    #: It is scaled_dot_product_attention, and torch decomposed that.
    DECOMPOSED = "decomposed"


def cause_of(found: Unfused) -> Cause:
    """Return the first cause that holds."""
    on_cpu = found.kernel.device == "cpu"
    is_last = found.adds_carried and not (found.is_shared or found.is_decomposed)
    held = {
        Cause.CARRIED: found.is_carried,
        Cause.LAST: is_last,
        Cause.DROPOUT: found.has_dropout and on_cpu,
        Cause.SHARED: found.is_shared,
        Cause.CAPPED: found.is_capped,
        Cause.WRITTEN_OUT: not found.is_decomposed,
        Cause.DECOMPOSED: found.dimensions in {None, FUSED},
    }
    return next((cause for cause, holds in held.items() if holds), Cause.DIMENSIONS)


def by_module(found: Unfused) -> bool:
    """Whether torch's own function for ``nn.MultiheadAttention`` computes it, as nodes name it."""
    comment = found.first.comment
    names = comment.nodes if comment else ()
    return any(name.startswith("multi_head_attention_forward") for name in names)


def folded(found: Unfused) -> int | None:
    """Return how many dimensions there are, where the fused kernels take another number."""
    dropped = found.is_shared or found.is_carried or found.adds_carried or found.has_dropout
    return None if dropped or found.dimensions == FUSED else found.dimensions


def severity(cause: Cause, group: Sequence[Unfused], call_ms: float = 0.0) -> Severity:
    """Judge by the cause, the length, and what all of them move of what a call does."""
    found = group[0]
    if cause in {Cause.DROPOUT, Cause.DECOMPOSED, Cause.SHARED} or keys_of(found) <= SHORT:
        return Severity.INFO
    if is_masked_and_short(found) or is_small_part(group, call_ms) or is_float32_on_gpu(found):
        return Severity.INFO
    return Severity.WARNING


def is_float32_on_gpu(found: Unfused) -> bool:
    """Whether it is of a length at which a GPU gained next to nothing: flash takes 16 bits alone.

    Training a small GPT-2 in float32 with 512 keys on an H200, a step took 52.3 ms instead of 53.5.
    """
    on_gpu = found.kernel.device not in {"cpu", ""}
    return on_gpu and found.scores.dtype == "float32" and keys_of(found) <= FEW_IN_FLOAT32


def is_small_part(group: Sequence[Unfused], call_ms: float = 0.0) -> bool:
    """Whether the scores are few, or a small part of what the graph moves, or of its time."""
    count = scores_of(group)
    if not count or group[0].kernel.device != "cpu":
        return False
    module = group[0].seen.record
    part = part_of_call(PASSES * count, call_ms) if call_ms else PASSES * count / traffic(module)
    return count < SOME_BYTES or part < SMALL_PART


def scores_of(group: Sequence[Unfused]) -> int:
    """Return the bytes of all scores; 0 where some are not known."""
    sizes = [one.scores.bytes or 0 for one in group]
    return sum(sizes) if all(sizes) else 0


def keys_of(found: Unfused) -> float:
    """Return the keys per query; infinite where the length is symbolic."""
    last = found.scores.size[-1] if found.scores.size else ""
    return last if isinstance(last, int) else float("inf")


def is_masked_and_short(found: Unfused) -> bool:
    """Whether something is added to few scores, or fills some: fused, that takes as long."""
    words = set(found.kernel.fused.split("_"))
    is_masked = not words.isdisjoint({"add", "masked", "where"})
    return found.kernel.device == "cpu" and is_masked and keys_of(found) <= SHORT_MASKED


def is_slower_trained(found: Unfused) -> bool:
    """Whether the fused kernel and its backward take longer than products and softmax."""
    if found.kernel.device != "cpu" or found.seen.record.graph != "forward":
        return False
    return keys_of(found) < (TRAINED if found.scores.dtype == "float32" else TRAINED_SHORT)


def is_bias_trained(found: Unfused) -> bool:
    """Whether scaled_dot_product_attention would be taken apart for the mask's gradient."""
    is_training = found.seen.record.graph == "forward"
    return (
        found.kernel.device == "cpu"
        and is_training
        and (found.has_learned_bias or found.adds_carried)
    )


def why(cause: Cause, found: Unfused) -> str:
    """Return the cause as a sentence or two."""
    short = cause is not Cause.DROPOUT and keys_of(found) <= SHORT
    if cause in {Cause.LAST, Cause.WRITTEN_OUT} and not short and is_masked_and_short(found):
        return _why(cause, found) + _MASKED
    return _why(cause, found) + (_SHORT if short else "")


def _why(cause: Cause, found: Unfused) -> str:
    if cause is Cause.WRITTEN_OUT:
        return _MODULE if by_module(found) else _WRITTEN
    if cause is Cause.DIMENSIONS:
        return (
            "It is scaled_dot_product_attention, or Inductor recognized it as such, with "
            f"{found.dimensions} dimensions. The fused kernels take four, (batch, heads, length, "
            "size), so torch decomposed it."
        )
    return _WHY[cause]


def reason(
    cause: Cause, group: Sequence[Unfused], call_ms: float = 0.0, *, fused: bool
) -> str | None:
    """Return why there is nothing to do; ``fused``: the log has a fused kernel, too."""
    found = group[0]
    on_cpu = found.kernel.device == "cpu"
    is_settled = on_cpu and (cause is not Cause.LAST or found.has_dropout)
    if cause is Cause.CARRIED or (cause in _SETTLED and is_settled):
        return _SETTLED[cause]
    if cause in {Cause.LAST, Cause.WRITTEN_OUT} and is_bias_trained(found):
        return (
            "what is added to the scores has a gradient here, and no fused CPU kernel computes it"
        )
    if cause is not Cause.DROPOUT and is_slower_trained(found):
        limit = TRAINED if found.scores.dtype == "float32" else TRAINED_SHORT
        return (
            f"in training on a CPU, the fused kernel was slower with fewer than {limit:,} keys "
            f"per query in {found.scores.dtype or 'such types'}; it saves memory"
        )
    if cause is Cause.DROPOUT and fused:
        return "the same log has the fused kernel where nothing is dropped"
    return _few(group, call_ms)


def _few(group: Sequence[Unfused], call_ms: float) -> str | None:
    """Return why so few scores are not worth a word on a CPU."""
    found, count = group[0], scores_of(group)
    if not count or found.kernel.device != "cpu":
        return None
    if count < FEW_BYTES:
        return f"scores of {size(count)} stay in a cache: fused, a call was less than 0.1 ms faster"
    if is_little(PASSES * count, found.seen.record, call_ms):
        return "the scores are a small part of what the graph moves"
    return None


#: Causes for which there is nothing to do: on a CPU, or anywhere.
_SETTLED = {
    Cause.CARRIED: "another layer needs the scores, which no fused kernel returns",
    Cause.CAPPED: "on a CPU, flex_attention is no faster than this, and does not train",
    Cause.LAST: "weights are dropped at random, too, for which there is no fused CPU kernel",
}
_WRITTEN = "The program writes attention out, and no pattern of Inductor's matched it."
_WHY = {
    Cause.CAPPED: "The program caps the scores with tanh, for which scaled_dot_product_attention "
    "has no argument.",
    Cause.CARRIED: "Another layer adds these scores to its own, and a fused kernel returns none.",
    Cause.LAST: "It adds the scores of the layer before to its own, which nothing else reads.",
    Cause.DECOMPOSED: "It is scaled_dot_product_attention, or Inductor recognized it as such, and "
    "torch decomposed it.",
    Cause.DROPOUT: "Weights are dropped at random, for which there is no fused CPU kernel.",
    Cause.SHARED: "Something else reads the weights, too, and a fused kernel would not return "
    "them.",
}
_MODULE = "`nn.MultiheadAttention` writes attention out where it may return the weights."
_SHORT = f" With up to {SHORT} keys per query a fused kernel may be slower."
_MASKED = (
    f" With a mask and up to {SHORT_MASKED} keys per query, the fused CPU kernel was measured to "
    "take as long: it saves memory."
)
