"""CMP007 compiled-object-never-called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.dynamo.settings import DISABLING
from tracelens.dynamo.user_code import package
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs.recording import Asked

__all__ = ["CompiledObjectNeverCalled"]

#: Containers of torch that hold modules and are not called themselves.
CONTAINERS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})


class AskedData(FindingData):
    """What the program asked for, in a run that compiled nothing."""

    #: A class or function; without its module.
    name: str
    #: ``Module.compile()`` was used, not ``torch.compile``.
    is_method: bool
    #: The class is torch's own: ``Sequential``, ``Linear``.
    is_torchs: bool
    calls: int

    @property
    def is_module(self) -> bool:
        """Whether it is a class, by its name: of a function the log has the function's."""
        return self.name[:1].isupper()

    @property
    def is_container(self) -> bool:
        """Whether it holds modules and is not called itself."""
        return self.is_torchs and self.name in CONTAINERS


class CompiledObjectNeverCalled(Rule):
    """The program asked for compilation, and nothing was ever compiled.

    ## Why it matters
    ``torch.compile`` compiles nothing by itself: it returns an object, and compiles when that is
    called. Where its result is dropped, or another method than ``forward`` is called, the program
    runs eagerly from beginning to end, without a word. So it does where ``.compile()`` is called on
    a module of torch's own, such as ``nn.Sequential``: Dynamo leaves torch's files alone unless the
    user's code calls them within a compiled function.

    ## What it looks like
    The recording says it at the end of its log:

        # tracelens: asked torch.compile(Net) at /home/ana/proj/train.py:12: 0 calls, 0 compilations in all

    ## When it is harmless
    Where compilation is prepared for another run, or switched off for this one
    (``TORCH_COMPILE_DISABLE=1``). While anything at all was compiled nothing is reported: a compiled
    part of a compiled model is inlined, and never called.

    ## What to do
    Call what ``torch.compile`` returned, or compile what is really called.

    ## How a live run confirms it
    Not: the program has to be changed. Recorded again, it has compiled something.

    ## See also
    GBR005 (functions that are switched off), GBR006 (functions that Dynamo gave up).
    <https://docs.pytorch.org/docs/stable/generated/torch.compile.html>
    """  # noqa: E501 -- the excerpt is a whole line of a log

    code = "CMP007"
    name = "compiled-object-never-called"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM
    Data = AskedData
    remedies = (
        Remedy(
            "in-place",
            lambda data: (
                f"Compile in place what the program calls of the `{data.name}`: its `forward`, or "
                "the method that is called instead, such as `solve`. A wrapper that goes on "
                "calling the module it was given then runs compiled code, too. "
                "Copy or pickle it before: the `forward` of a `copy.deepcopy` goes on with the "
                "weights of this object, and `pickle` raises. `state_dict()` stays as it was."
            ),
            when="a module, not of torch's own, whose compiled form is not called",
            applies=lambda data: data.is_module and not data.calls and not data.is_torchs,
            code="model.forward = torch.compile(model.forward)  # or the method that is called",
            since="2.0",
            basis="tested",
            proof="tests/advice/CMP007/in-place.py",
        ),
        Remedy(
            "call-result",
            "Call what torch.compile returns: the model that it is given stays as it was.",
            when="a function, or a module of torch's own, whose compiled form is not called",
            applies=lambda data: (
                not data.calls and not data.is_method and (data.is_torchs or not data.is_module)
            ),
            code="model = torch.compile(model)\nmodel(x)",
            basis="tested",
            proof="tests/advice/CMP007/call-result.py",
        ),
        Remedy(
            "compile-method",
            "A compiled module compiles its `forward`. Where the program calls another method, "
            "compile that one.",
            when="nothing compiled is called, a module and not one of torch's containers",
            applies=lambda data: data.is_module and not data.calls and not data.is_container,
            code="model.encode = torch.compile(model.encode)",
            basis="tested",
            proof="tests/advice/CMP007/compile-method.py",
        ),
        Remedy(
            "each-part",
            "A list of modules is not called, its members are: compile each of them.",
            when="a ModuleList or ModuleDict",
            applies=lambda data: data.is_container,
            code="for number, layer in enumerate(layers):\n"
            "    layers[number] = torch.compile(layer)",
            basis="tested",
            proof="tests/advice/CMP007/each-part.py",
        ),
        Remedy(
            "function-not-method",
            "Use `torch.compile` instead of the module's `.compile()`: Dynamo then enters the "
            "code of torch's own module.",
            when="`.compile()` of a module of torch's own, which is called",
            applies=lambda data: data.is_method and data.is_torchs and not data.is_container,
            code="model = torch.compile(model)",
            basis="tested",
            proof="tests/advice/CMP007/function-not-method.py",
        ),
        Remedy(
            "see-decisions",
            "See what Dynamo decides about each frame: a stance such as `force_eager`, or a "
            "decorator, switches it off.",
            when="it is called, and not by `.compile()` of a module of torch's own",
            applies=lambda data: data.calls and not (data.is_method and data.is_torchs),
            env='TORCH_LOGS="+dynamo"',
            basis="untestable",
            proof="it records more",
        ),
    )

    def check(self, asked: Table[Asked], *, settings: Table[Setting]) -> Iterator[Finding]:
        """Yield one finding per place, where the whole run compiled nothing."""
        if any(row.record.compilations for row in asked):
            return
        off = [row for row in settings if row.record.name in DISABLING and row.record.is_on]
        for row in asked:
            if not package(row.record.file):
                yield self._finding(row, off)

    def _finding(self, row: Seen[Asked], off: list[Seen[Setting]]) -> Finding:
        record = row.record
        owner, _, name = record.called.rpartition(".")
        data = AskedData(
            name=name,
            is_method=bool(record.method),
            is_torchs=owner.startswith("torch."),
            calls=record.calls,
        )
        code = f"{name}.compile()" if data.is_method else f"torch.compile({name})"
        times = "once" if data.calls == 1 else f"{data.calls} times"
        called = f"It was called {times}, eagerly." if data.calls else "It was never called."
        return self.finding(
            record.called,
            record.method,
            title=f"`{code}` compiled nothing: "
            + ("its calls run eagerly" if data.calls else "what it compiles is never called"),
            message=f"The program asked for `{code}`, and nothing at all was compiled. {called}",
            where=Where(file=record.file, line=record.line),
            evidence=[row.quote(), *(setting.quote() for setting in off[:1])],
            advice=() if off else self.advise(data),
            harmless=f"`{off[0].record.name}` switches compilation off" if off else None,
            data=data,
        )
