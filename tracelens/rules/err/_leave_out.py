"""Advice to leave out of what is compiled the function that fails."""

from __future__ import annotations

from collections.abc import Callable

from tracelens.dynamo.leaving_out import left_out
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, in_backward

__all__ = ["calls", "disabled", "is_above", "leave_out"]


def is_above(data: FailureData) -> bool:
    """Tell whether the program's line leads to compiled code: its function is not compiled.

    A decorator there changes nothing: what it calls is compiled all the same.
    """
    return "above" in data.facts


def calls(data: FailureData) -> str:
    """Say that the function which the log names is not the one to leave out; or nothing."""
    if not is_above(data) or not data.function.isidentifier():
        return ""
    return (
        f" That is not `{data.function}`, which only leads to compiled code: the decorator does"
        " nothing there."
    )


def disabled(data: FailureData) -> str | None:
    """Return how to leave the function out: in a package, from outside of it."""
    if data.stage == "backend" or is_above(data):  # the place is not that of the function
        return "@torch.compiler.disable"
    return left_out(data.function, data.file, data.line)


def leave_out(unless: Callable[[FailureData], bool] = in_backward) -> Remedy:
    """Return the advice to leave out the function at whose line the compiler failed."""
    return Remedy(
        "disable",
        lambda d: f"Leave {_named(d)} out of what is compiled.{calls(d)}",
        code=disabled,
        since="2.1",
        # A program's top level is no function, and a lambda has no line for a decorator.
        applies=lambda d: not d.function.startswith("<") and not unless(d),
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
    )


def _named(data: FailureData) -> str:
    if is_above(data):
        return "the function that fails"
    return f"`{data.function}`" if data.function else "the function"
