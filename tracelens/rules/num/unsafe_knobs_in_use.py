"""NUM002 unsafe-knobs-in-use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import facts_of
from tracelens.dynamo.settings import SKIPPED_GUARDS, Setting
from tracelens.evidence import Seen, Table
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.compile_errors import Failure

__all__ = ["UnsafeKnobsInUse"]


class _Knob(NamedTuple):
    """A setting that trades a check for time."""

    env: str
    setting: str
    risk: str
    #: Whether it is dangerous when it is off.
    inverted: bool = False
    #: The first torch in which it is not the default: up to there it says nothing.
    since: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.setting or self.env

    def has(self, row: Seen[Setting]) -> bool:
        """Whether ``row`` sets it to the dangerous value."""
        named = row.record.name in (self.env, self.setting)
        return named and row.record.is_on is not self.inverted


_INDUCTOR = "torch._inductor.config"
_DYNAMO = "torch._dynamo.config"
_REORDERED = (
    "the compiler may reorder and approximate arithmetic, and may take NaN and infinity for "
    "impossible"
)
_KNOBS = (
    _Knob(
        "TORCHINDUCTOR_CPP_ENABLE_UNSAFE_MATH_OPT_FLAG",
        f"{_INDUCTOR}.cpp.enable_unsafe_math_opt_flag",
        _REORDERED,
    ),
    _Knob(
        "TORCHINDUCTOR_USE_FAST_MATH",
        f"{_INDUCTOR}.use_fast_math",
        "exponentials of Triton kernels flush small numbers to zero",
    ),
    _Knob("", f"{_INDUCTOR}.cuda.use_fast_math", _REORDERED),
    _Knob("", f"{_INDUCTOR}.cutlass.use_fast_math", _REORDERED),
    _Knob(
        "",
        f"{_INDUCTOR}.unsafe_skip_cache_dynamic_shape_guards",
        "a cached graph is used without checking that it was compiled for these shapes",
    ),
    _Knob(
        "",
        f"{_INDUCTOR}.unsafe_marked_cacheable_functions",
        "graphs with these functions are cached, and stay so when the functions change",
    ),
    _Knob(
        "",
        f"{_INDUCTOR}.unsafe_ignore_unsupported_triton_autotune_args",
        "arguments of the program's own `@triton.autotune` are ignored",
    ),
    _Knob(
        "UNSAFE_SKIP_FSDP_MODULE_GUARDS",
        f"{_DYNAMO}._unsafe_skip_fsdp_module_guards",
        "a changed FSDP module goes on with the graph of the old one",
    ),
    _Knob(
        "",
        f"{_DYNAMO}.skip_guards_on_constant_func_defaults",
        "a function whose default arguments were changed goes on with the graph of the old ones",
        since=(2, 12),
    ),
    _Knob(
        "",
        f"{_DYNAMO}.guard_nn_modules",
        "a changed module goes on with the graph of the old one",
        inverted=True,
    ),
)


class UnsafeKnobsInUse(Rule):
    """A setting is in use that trades a check of correctness for time.

    ## Why it matters
    Guards are what notices that compiled code no longer fits its inputs. With a guard dropped, or
    arithmetic that may be reordered at will, the program does not fail: it returns other numbers.

    ## What it looks like
    A setting in the environment or in the configuration that the structured log records, the line of
    the program in a traceback, or the only error that skipping guards ever gives:

        Traceback (most recent call last):
          File "/home/ana/proj/serve.py", line 31, in main
            compiled(x.double(), 2)
        RuntimeError: Recompilation triggered with skip_guard_eval_unsafe stance. This usually means that you have not warmed up your model with enough inputs such that you can guarantee no more recompilations.

    ## When it is harmless
    Where it is known that what is not checked never changes: a server that has seen all its shapes
    in warm-up, with fixed weights. torch's own defaults, such as skipped guards on hooks, are not
    reported.

    ## What to do
    Write down next to the setting why it is safe there, check the results against a run without it,
    and limit it to the part of the program that needs it.

    ## How a live run confirms it
    Not by running once more: a skipped check shows only with the inputs that it would have caught.

    ## See also
    GRD001 (what guards cost).
    <https://docs.pytorch.org/docs/stable/generated/torch.compiler.set_stance.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "NUM002"
    name = "unsafe-knobs-in-use"
    severity = Severity.WARNING
    unconfirmable = "a skipped check shows only with inputs that it would have caught"

    class Data(FindingData):
        """The setting, and how to set it to what is safe."""

        name: str
        setting: str = ""
        variable: str = ""
        times: int

    remedies = (
        Remedy(
            id="compare",
            text=lambda data: (
                "Compare results with and without it, and keep it only where what it skips cannot "
                "change." + (f" `unset {data.variable}` does without." if data.variable else "")
            ),
            setting=lambda data: data.setting or None,
            proof="https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/"
            "torch.compiler_faq.html",
        ),
    )

    def check(
        self, settings: Table[Setting], *, failures: Table[Failure], run: Table[RunFacts]
    ) -> Iterator[Finding]:
        """Yield one finding per setting."""
        torch = facts_of(run).torch
        for knob in _KNOBS:
            if knob.since and (torch is None or torch < knob.since):
                continue
            rows = [row for row in settings if knob.has(row)]
            if rows:
                safe = "{}" if "cacheable_functions" in knob.setting else str(knob.inverted)
                data = self.Data(
                    name=knob.name,
                    setting=f"{knob.setting} = {safe}" if knob.setting else "",
                    variable=knob.env,
                    times=len(rows),
                )
                yield self.finding(
                    knob.name,
                    title=f"`{knob.name}` is {'off' if knob.inverted else 'on'}",
                    message=f"With this setting, {knob.risk}. Nothing fails when that is wrong.",
                    count=len(rows),
                    evidence=[row.quote() for row in rows],
                    advice=self.advise(data),
                    data=data,
                )
        for name in SKIPPED_GUARDS:
            rows = [row for row in settings if row.record.name == name]
            if rows:
                yield self._guards(name, rows, failures)

    def _guards(self, name: str, rows: list[Seen[Setting]], failures: Table[Failure]) -> Finding:
        """Return the finding for guards that the program leaves out."""
        stacks = [row.record.stack_frames for row in failures if name in row.text]
        frame = user_code.best(frame for stack in stacks for frame in stack)
        stance = "torch.compiler.set_stance(skip_guard_eval_unsafe=False)"
        data = self.Data(name=name, setting=stance if "eval" in name else "", times=len(rows))
        return self.finding(
            name,
            title=f"guards are skipped: `{name}`",
            message=(
                "The program tells torch to leave out guards. Inputs that they would have told "
                "apart run the same graph."
            ),
            count=len(rows),
            where=user_code.where(frame),
            evidence=[row.quote() for row in rows],
            advice=self.advise(data),
            data=data,
        )
