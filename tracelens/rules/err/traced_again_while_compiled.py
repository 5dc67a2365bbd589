"""ERR019 traced-again-while-compiled."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["TracedAgainWhileCompiled"]


class TracedAgainWhileCompiled(FailureRule):
    """A compiled module is traced by something else: FX, torch.jit, export or a counter of operations.

    ## Why it matters
    A compiled function runs code that torch generated. Another tracer cannot look into it, and
    raises.

    ## What it looks like
        RuntimeError: Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not supported at the moment.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Trace the module that is inside of the compiled one, before compiling; or switch off the
    inner of two compilations.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR016.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR019"
    name = "traced-again-while-compiled"
    of_causes: ClassVar[frozenset[str]] = frozenset({"traced-again"})
    remedies = (
        Remedy(
            "orig-mod",
            "Give the tracer (export, a FLOP counter, a quantizer, BetterTransformer) the module"
            " that is inside of the compiled one: the uncompiled one.",
            code="getattr(model, '_orig_mod', model)",
            basis="tested",
            proof="tests/advice/ERR019/orig-mod.py",
        ),
        Remedy(
            "inner",
            "If a library compiles parts itself, switch that inner, nested compile off"
            " (reference_compile=False in ModernBERT's config, for example).",
            code="@torch.compiler.disable  # on the inner function",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
        Remedy(
            "order",
            "Or trace first and compile what comes out of it.",
            basis="tested",
            proof="tests/advice/ERR019/order.py",
        ),
        Remedy(
            "no-error",
            "To let the tracer see the original function in place of the error:",
            setting="torch._dynamo.config.error_on_nested_fx_trace = False",
            since="2.0",
            basis="tested",
            proof="tests/advice/ERR019/no-error.py",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        how = {"symbolicallytrace": "torch.fx", "torch.jit.trace": "torch.jit.trace"}.get(
            data.facts.get("how", ""), "another tracer"
        )
        return f"a compiled module is traced again by {how}"

    def why(self, data: FailureData) -> str:
        """Say who else may trace."""
        if data.facts.get("how") != "symbolicallytrace":
            return ""
        return (
            "That something is traced is noted for the whole process: a thread that compiles, or"
            " traces, while another one calls a compiled function raises this, too. Let one thread"
            " finish the first calls before others begin."
        )
