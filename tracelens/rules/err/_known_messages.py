"""Messages with which torch refuses what a program does, and what to write instead.

They come out of several stages, compiled or not: no bisecting of the compiler tells more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["SAID", "refused", "unless_said"]


class _Refusal(NamedTuple):
    """What torch refuses: words of the message, and what they mean."""

    words: str
    what: str


_REFUSALS = {
    "clone-output": _Refusal(
        "may not alias any inputs to this custom operator",
        "a custom operator returns one of its inputs, or a view of it",
    ),
    "vmap-randomness": _Refusal(
        "while in randomness error mode",
        "random numbers are drawn under vmap, which was not told how",
    ),
    "vmap-where": _Refusal(
        "attempting to use a Tensor in some data-dependent control flow",
        "a branch under vmap depends on a tensor's value",
    ),
    "vmap-item": _Refusal(
        "vmap: It looks like you're calling .item() on a Tensor",
        "a number is read out of a tensor under vmap",
    ),
    "not-recorded": _Refusal(
        "leaf Variable that requires grad is being used in an in-place operation",
        "a parameter is changed in place while autograd records",
    ),
    "same-branches": _Refusal(
        "When merging two branches' output in torch.cond",
        "the branches of torch.cond return tensors that differ",
    ),
    "same-carry": _Refusal(
        "Expected body_fn_output and carried_inputs to have same metadata",
        "the body of while_loop returns tensors that differ from those it gets",
    ),
    "flex-cpu": _Refusal(
        "FlexAttention does not support backward on CPU",
        "compiled flex_attention has no backward on the CPU",
    ),
}


def refused(data: FailureData) -> str:
    """Return what torch refuses, for a title; empty where the message is none of these."""
    found = (one.what for one in _REFUSALS.values() if one.words in data.message)
    return next(found, "")


def unless_said(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return remedies that apply as before, but not where the message says what to do."""
    return tuple(replace(one, applies=_unless_said(one)) for one in remedies)


def _unless_said(remedy: Remedy) -> Callable[[Any], bool]:
    return lambda data: not refused(data) and remedy.applies(data)


def _remedy(name: str, text: str, **more: Any) -> Remedy:
    words = _REFUSALS[name].words
    return Remedy(name, text, applies=lambda data: words in data.message, when=f"`{words}`", **more)


SAID = (
    _remedy(
        "clone-output",
        "Return a new tensor from the operator in every case, also where it has nothing to do.",
        code="return x.clone()  # not x, nor a view of x",
        since="2.4",
        basis="tested",
        proof="tests/advice/ERR000/clone-output.py",
    ),
    _remedy(
        "vmap-randomness",
        "Say whether every sample draws numbers of its own, or all of them the same (`same`).",
        code='torch.vmap(f, randomness="different")',
        since="2.0",
        basis="tested",
        proof="tests/advice/ERR015/vmap-randomness.py",
    ),
    _remedy(
        "vmap-where",
        "Compute both sides, and choose by the condition: under vmap it holds for some samples "
        "and not for others.",
        code="torch.where(condition, one, other)  # not: if condition",
        basis="tested",
        proof="tests/advice/ERR000/vmap-where.py",
    ),
    _remedy(
        "vmap-item",
        "Keep the number a tensor: under vmap every sample has one of its own.",
        proof="https://docs.pytorch.org/docs/stable/func.ux_limitations.html",
    ),
    _remedy(
        "not-recorded",
        "Change it where autograd does not record. If gradients are to pass through the change, "
        "compute with a changed copy instead (`w = self.weight.clamp(min=0)`).",
        code="with torch.no_grad(): self.weight.clamp_(min=0)",
        basis="tested",
        proof="tests/advice/ERR015/not-recorded.py",
    ),
    _remedy(
        "same-branches",
        "Let both functions return tensors of the same dtype, shape and device: convert the one "
        "that differs within its branch.",
        basis="tested",
        proof="tests/advice/ERR015/same-branches.py",
    ),
    _remedy(
        "same-carry",
        "Let the body return each tensor in the dtype, shape and device in which it came in: "
        "convert what the message names, or what is passed in at first.",
        basis="tested",
        proof="tests/advice/ERR018/same-carry.py",
    ),
    _remedy(
        "flex-cpu",
        "Train on the CPU with scaled_dot_product_attention, and give it what `score_mod` adds "
        "as a mask; or do not compile flex_attention there.",
        code="F.scaled_dot_product_attention(q, k, v, attn_mask=bias)",
        basis="tested",
        proof="tests/advice/ERR000/flex-cpu.py",
    ),
)
