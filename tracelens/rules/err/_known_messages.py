"""Messages with which torch refuses what a program does, and what to write instead.

They come out of several stages, compiled or not: no bisecting of the compiler tells more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from tracelens.dynamo import user_code
from tracelens.failures.refusals import Refusal, refusal
from tracelens.remedies import Remedy
from tracelens.rules.err._devices import OFFLOADED, weight_on_cpu
from tracelens.rules.err._failure_rule import FailureData, in_backward

__all__ = [
    "KNOWN_MESSAGE",
    "REMAINDER",
    "SAID",
    "final",
    "known",
    "made_by_torch",
    "refused",
    "settled",
    "unless",
]

#: An operator of an extension, as messages name it.
_OPERATOR = re.compile(r"\btorch\._?ops\.(?!aten\.|prims?\.)(\w{1,80})\.(\w{1,80})")
#: Causes that tell no more than where it failed.
_OPEN = frozenset(
    {
        "engine-died",
        "engine-start",
        "fake-tensors",
        "fullgraph",
        "internal-compiler",
        "internal-dynamo",
        "no-user",
        "onnx-export",
        "unknown",
    }
)
#: Of a primitive that oneDNN refuses, beside lines that it printed.
_PRINTED = (
    "What oneDNN printed is in the text: of the operation that failed, the lines just before the"
    " error say which implementations were skipped, and why. Implementations that are skipped, and"
    " lines of `exec`, are none that failed: where there are no others, give the lines up to the"
    " error. A tensor of size 0, strides that it does not take (`x.contiguous()`), too little"
    " memory, and a device or a driver without the dtype are the usual reasons."
)
#: Whose a refusal is where finding the stage that fails still tells more.
_MAY_BE_COMPILED = frozenset({"kernel", "library"})


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
    "vmap-forward": _Refusal(
        "as native::_fw_primal",
        "Dynamo does not trace forward-mode derivatives (jacfwd, jvp) under vmap",
    ),
    "vmap-function": _Refusal(
        "You tried to vmap over ApplyTemplate",
        "Dynamo does not trace an autograd.Function under vmap",
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


def known(data: FailureData) -> Refusal | None:
    """Return what the table knows of the message; None where it, or the cause, tells more."""
    if data.cause not in _OPEN or _said(data) or data.is_cut:
        return None
    found = refusal(f"{data.exception}: {data.message} {data.facts.get('asserted', '')}")
    return None if found and found.traced and made_by_torch(data) else found


def made_by_torch(data: FailureData) -> bool:
    """Tell whether an operator failed in a backward graph, or around a graph: no line calls it.

    The shapes, types and layouts that it gets were known when the program was traced.
    """
    derived = in_backward(data) or "around" in data.facts
    return data.stage == "runtime" and derived and not data.facts.get("own")


def _said(data: FailureData) -> str:
    found = (one.what for one in _REFUSALS.values() if _has(data, one.words))
    return next(found, "")


def _has(data: FailureData, words: str) -> bool:
    """Tell whether the message is about that: AOTAutograd changes a leaf that is none's."""
    return words in data.message and data.cause != "double-backward"


def refused(data: FailureData) -> str:
    """Return what torch refuses, for a title; empty where the message is none of these."""
    found = known(data)
    return found.what if found else _said(data)


def settled(data: FailureData) -> bool:
    """Tell whether the message says what to do, and no stage of the compiler has a part in it."""
    found = known(data)
    return found.of not in _MAY_BE_COMPILED if found else bool(_said(data))


def final(data: FailureData) -> bool:
    """Tell whether the message says what to do, and running it without compiling tells no more."""
    found = known(data)
    return found.of in {"machine", "tracer"} if found else bool(_said(data))


def unless(told: Callable[[FailureData], object], remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return remedies that apply as before, but not where ``told`` holds."""
    return tuple(replace(one, applies=_unless(told, one)) for one in remedies)


def _unless(told: Callable[[FailureData], object], remedy: Remedy) -> Callable[[Any], bool]:
    return lambda data: not told(data) and remedy.applies(data)


def _remedy(name: str, text: str, **more: Any) -> Remedy:
    words = _REFUSALS[name].words
    return Remedy(name, text, applies=lambda data: _has(data, words), when=f"`{words}`", **more)


def _shares_backward(data: FailureData) -> bool:
    """Tell whether it is the backward pass of a compiled graph that was gone through before."""
    found = known(data)
    again = found is not None and found.name == "second-backward"
    return again and data.stage == "runtime" and in_backward(data)


def _one_backward(data: FailureData) -> str:
    """Say what to do; in a package, what its user can do."""
    package = user_code.package(data.file)
    return (
        "All results of one compiled graph share one backward pass, also those that eager keeps "
        "apart. "
        + (
            f"`{package}` calls `backward()`: compile the model alone, and not what computes "
            "losses of its results."
            if package
            else "Where two of them are losses, add them, or keep the graph in all `backward()` "
            "but the last."
        )
        + " Where it fails uncompiled, too, a tensor of an earlier step is still in the graph: "
        "detach it where it is kept."
    )


#: The place in ``refusals.toml`` of what is said of a line by who can change it.
REMAINDER = "python-mod"


def _remainder(data: FailureData) -> str:
    """Say what to do about a remainder of a size, at the line that a graph of the log names."""
    file, line = data.facts["remainder"], int(data.facts["remainder_line"])
    at, package = user_code.short(file, line), user_code.package(file)
    if package:
        return (
            f"Only dynamic sizes fail, and `{package}` computes the remainder itself, at {at}, "
            "whatever it is given: compile without symbols. Each size is compiled by itself then, "
            "and beyond eight they run eagerly: pad what you pass in to a few."
        )
    return (
        f"Only dynamic sizes fail: at {at} write the remainder of what is positive, as in "
        "`(4 - width % 4) % 4`, or compute it before the compiled function is called: pad there "
        "to a multiple, and cut the result."
    )


def _printed(data: FailureData) -> bool:
    """Tell whether oneDNN refuses it, and which implementations it skipped is there."""
    found = known(data)
    return "printed" in data.facts and found is not None and found.name == "onednn"


def _text(data: FailureData) -> str:
    found = known(data)
    if "remainder" in data.facts:
        return _remainder(data)
    if _printed(data):
        return _PRINTED
    return found.text if found else "What the message asks for."  # the page that lists all advice


def _code(data: FailureData) -> str | None:
    found = known(data)
    if user_code.package(data.facts.get("remainder", "")):
        return "torch.compile(model, dynamic=False)"
    if found and found.name == "onednn" and data.facts.get("engine") == "gpu":
        return None  # what it would be there is a setting of the CPU's
    named = _OPERATOR.search(data.message)
    if found and found.code and named:
        return found.code.replace("mylib::my_op", f"{named[1]}::{named[2]}")
    return found.code if found else None


def _env(data: FailureData) -> str | None:
    found = known(data)
    return found.env if found and not _printed(data) else None


KNOWN_MESSAGE = Remedy(
    "known-message",
    _text,
    code=_code,
    env=_env,
    applies=lambda data: (
        known(data) is not None and not (_shares_backward(data) or weight_on_cpu(data))
    ),
    when="a message that docs/failures.md lists",
)
SAID = (
    KNOWN_MESSAGE,
    OFFLOADED,
    Remedy(
        "one-backward",
        _one_backward,
        code=lambda data: (
            None
            if user_code.package(data.file)
            else "(loss1 + loss2).backward()  # or loss1.backward(retain_graph=True) first"
        ),
        applies=_shares_backward,
        when="the backward pass of a compiled graph is gone through twice",
        basis="tested",
        proof="tests/advice/ERR000/one-backward.py",
    ),
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
        "vmap-forward",
        "Take the derivative outside of `vmap`: where no row depends on another, that of the sum "
        "over the batch holds that of each row. Or leave the function with `vmap` out of what is "
        "compiled, by `@torch.compiler.disable`.",
        code="rows = torch.func.jacfwd(lambda p: torch.vmap(f)(p, x).sum(0))(p).movedim(1, 0)",
        since="2.4",
        basis="tested",
        proof="tests/advice/ERR015/vmap-forward.py",
    ),
    _remedy(
        "vmap-function",
        "Leave the function that calls `vmap` out of what is compiled, by "
        "`@torch.compiler.disable` above it, or compute what the "
        "autograd.Function does with operators of tensors. What the message asks for, which eager "
        "needs as well, does not help: `ApplyTemplate` is Dynamo's own class.",
        since="2.1",
        basis="tested",
        proof="tests/advice/ERR018/vmap-function.py",
    ),
    _remedy(
        "not-recorded",
        "Change it where autograd does not record, within `with torch.no_grad():`. If gradients "
        "are to pass through the change, compute with a changed copy instead "
        "(`w = self.weight.clamp(min=0)`).",
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
