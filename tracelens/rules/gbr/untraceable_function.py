"""GBR009 untraceable-function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Advice, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules.gbr._called import called, editable, is_foreign, qualified, wrapped
from tracelens.rules.gbr._site_rule import (
    LIBRARY,
    REPORT_IN_EAGER,
    SEE_PARTS,
    BreakData,
    SiteRule,
    break_data,
    named,
    own,
)
from tracelens.rules.gbr._stories import CLOCKS, entered
from tracelens.rules.gbr._values import PLAIN_MODULE
from tracelens.rules.gbr._variable import calls_variable, detached

__all__ = ["UntraceableFunction"]


#: Classes of what TorchScript compiled, as torch up to 2.6 names what is called.
SCRIPTED = ("RecursiveScriptModule", "ScriptFunction", "ScriptModule")


def _is_warning(data: BreakData) -> bool:
    if not data.file:
        return data.name == "_warnings.warn"
    return "warn" in data.name and "warnings.warn(" in data.code


#: What sets filters of warnings, as a line calls it by its module.
_SETS_FILTERS = re.compile(r"\bwarnings\.(?:simplefilter|filterwarnings|resetwarnings)(?=\()")


def _filters(data: BreakData) -> str:
    """Return the function that sets filters of warnings, where the line calls it."""
    found = _SETS_FILTERS.search(data.code) if data.name.startswith("_warnings.") else None
    return found[0] if found else ""


def _is_scripted(data: BreakData) -> bool:
    """Whether it is what every module of TorchScript does when it is called, or one itself."""
    return "_CachedForward." in data.name or data.name in SCRIPTED


def _is_scripted_class(data: BreakData) -> bool:
    """Whether a method is read from an object whose class is made on ``ScriptModule``."""
    return data.name.endswith(tuple(f"{name}.__getattr__" for name in SCRIPTED))


def _of_optimizer(data: BreakData) -> bool:
    return data.name.rpartition(".")[0].rpartition(".")[2] == "Optimizer"


def _is_copy(data: BreakData) -> bool:
    """Whether it is a copy of a tensor, or of a module with its parameters."""
    return data.name == "copy.deepcopy"


#: Calls that import a module.
_IMPORTS = frozenset({"__import__", "import_module"})


def _shown(data: BreakData) -> str:
    name = called(data) or data.name
    return f"`{name}`" if name else "the function"


def _manager(data: BreakData) -> str:
    """Return what the ``with`` enters."""
    code = data.entered.code if data.entered else ""
    return code.partition("with ")[2].rstrip(":").partition(" as ")[0]


def _is_defined(data: BreakData) -> bool:
    """Whether the operator would be the function that holds the line, which has a ``def``."""
    return wrapped(data) == data.function


def _as_operator(data: BreakData) -> str:
    made = (
        "make it a custom operator with a fake implementation"
        if _is_defined(data)
        else "call it in a function of your own that is a custom operator "
        "(`torch.library.custom_op`, with annotations) and has a fake implementation"
    )
    return (
        f"Where `{wrapped(data)}` takes and returns tensors, and is not the compiled function "
        f"itself, {made}."
    )


def _decorator(data: BreakData) -> str | None:
    if not _is_defined(data):
        return None
    return f'@torch.library.custom_op("mine::{data.function}", mutates_args=())'


def _is_within_torch(data: BreakData) -> bool:
    """Whether torch calls it by itself: a function of Python in torch that is not for users."""
    last = data.name.rpartition(".")[2]
    return (
        data.name.startswith("torch.")
        and not data.name.startswith("torch._")
        and last.startswith("_")
        and not last.startswith("__")
    )


def _outside(data: BreakData) -> str:
    """Say where to do it instead: around the call of the compiled function."""
    if data.entered:
        return (
            f"Enter `{_manager(data)}` around the call of the compiled function, and not in it "
            f"(at {user_code.short(data.entered.file, data.entered.line)}). Do the "
            "same with its other `with` statements there: Dynamo tells of the first alone."
        )
    if data.name in CLOCKS:
        return (
            f"Call {_shown(data)} before and after the compiled function, and not within it: what "
            "a graph fuses has no times of its parts. A profiler shows its kernels."
        )
    if _is_within_torch(data):
        return (
            f"{_shown(data)} is torch's own, and no program calls it by itself: try another "
            "version of torch, or leave out of what is compiled the call that leads there."
        )
    if data.name.rpartition(".")[2] in _IMPORTS:
        return (
            f"Import what {_shown(data)} is called for once, before the compiled function, and keep"
            " the module. Only a call breaks the graph: an `import` statement can be traced. It may"
            " be a library's that replaces `import`, or loads modules on demand."
        )
    return f"Call {_shown(data)} before or after the compiled function."


class UntraceableFunction(SiteRule):
    """A function that Dynamo cannot trace into, of C or on its skip list, breaks the graph.

    ## Why it matters
    Dynamo follows Python bytecode. A function of an extension module, or of a module that it skips on
    purpose, ends the graph: what it computes is unknown.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7
        [0/0] [__graph_breaks] Graph Break Reason: Attempted to call function marked as skipped
        [0/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace the builtin `_warnings.warn.`
        [0/0] [__graph_breaks]
        [0/0] [__graph_breaks]   Developer debug context: module: _warnings, qualname: warn, skip reason: <missing reason>

    ## When it is harmless
    In code that measures or reports and is not called in every step. The step of an optimizer of
    torch is compiled as a function of its own behind the break: that is a note.

    ## What to do
    Move the call out of the compiled function, or wrap it as a custom operator, which the graph then
    holds as one node.

    ## How a live run confirms it
    The same calls without the function: one graph less per call.

    ## See also
    GBR003 (builtins), GBR019 (recurrent modules), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0007.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR009"
    name = "untraceable-function"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        confirms="without the call, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    families: ClassVar[frozenset[str]] = frozenset({"skipped"})
    remedies = (
        Remedy(
            "warn-later",
            "Let Dynamo warn after the graph has run.",
            when="`warnings.warn`",
            applies=_is_warning,
            setting="import warnings; "
            "torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)",
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR009/warn-later.py",
        ),
        Remedy(
            "leave-filters",
            "Let Dynamo leave the call out of the compiled code: there no filter of warnings is "
            "set, and nothing warns.",
            when="a line that sets filters of warnings",
            applies=lambda data: bool(_filters(data)),
            setting=lambda data: (
                "import warnings; torch._dynamo.config.ignore_logging_functions"
                f".add({_filters(data)})"
            ),
            since="2.11",
            basis="tested",
            proof="tests/advice/GBR009/leave-filters.py",
        ),
        Remedy(
            "plain-module",
            PLAIN_MODULE,
            when="a module of TorchScript",
            applies=_is_scripted,
            basis="tested",
            proof="tests/advice/GBR009/plain-module.py",
        ),
        Remedy(
            "scripted-class",
            "The object is a `torch.jit.ScriptModule`: TorchScript runs its methods, and Dynamo "
            "does not look into them. Compile what comes before and after the call, where that is "
            "most of the work; where the call is, compile nothing. To have its layers compiled, "
            "build them as an `nn.Module` that nothing scripts.",
            when="an attribute of a module of TorchScript",
            applies=_is_scripted_class,
            proof="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0008.html",
        ),
        REPORT_IN_EAGER,
        Remedy(
            "detach",
            "Write `x.detach()` for `Variable(x)`, and `x.detach().requires_grad_()` for "
            "`Variable(x, requires_grad=True)`: the same tensor, and Dynamo traces it.",
            when="`torch.autograd.Variable` in code of your own",
            applies=lambda data: own(data) and calls_variable(data),
            code=detached,
            basis="tested",
            proof="tests/advice/GBR009/detach.py",
        ),
        Remedy(
            "functional-call",
            "Where a module is copied to change its parameters, change a dict of them instead "
            "(`dict(module.named_parameters())`), and call the module with that, by "
            "`torch.func.functional_call(module, parameters, args)`.",
            when="`copy.deepcopy` in code of your own",
            applies=lambda data: own(data) and _is_copy(data),
            since="2.0",
            basis="tested",
            proof="tests/advice/GBR009/functional-call.py",
        ),
        Remedy(
            "step-outside",
            "Compile the forward pass and the loss alone, and call `zero_grad()`, `backward()` and "
            "`step()` outside of the compiled function.",
            when="a method of an optimizer, in code of your own",
            applies=lambda data: own(data) and _of_optimizer(data),
            basis="tested",
            proof="tests/advice/GBR009/step-outside.py",
        ),
        Remedy(
            "extension-op",
            lambda data: (
                f"Where `{data.name}` takes and returns tensors, call it through a custom operator "
                "(`torch.library.custom_op`): the graph then holds it."
            ),
            when="a function of an extension, and the log does not say where it is called",
            applies=lambda data: (
                not data.file
                and data.name not in {"", "autograd.Function"}
                and not is_foreign(data)
            ),
            since="2.4",
            proof="https://docs.pytorch.org/tutorials/advanced/custom_ops_landing_page.html",
        ),
        Remedy(
            "call-outside",
            _outside,
            when="code of your own, or where the log does not say",
            applies=lambda data: (
                editable(data)
                and not (_of_optimizer(data) or calls_variable(data))
                and not (_is_scripted(data) or _is_scripted_class(data))
            ),
            basis="tested",
            proof="tests/advice/GBR009/call-outside.py",
        ),
        Remedy(
            "custom-op",
            _as_operator,
            when="a function of your own or of an extension, not of Python or torch itself",
            applies=lambda data: (
                own(data)
                and not (_is_warning(data) or _is_scripted(data) or _is_scripted_class(data))
                and not (_is_copy(data) or data.entered or calls_variable(data))
                and not wrapped(data).startswith("__")
                and bool(wrapped(data))
            ),
            code=_decorator,
            since="2.4",
            basis="tested",
            proof="tests/advice/GBR009/custom-op.py",
        ),
        Remedy(
            "see-where",
            "See where it is called: a log with this switch has the line.",
            when="only the warning is there, which has no place",
            applies=lambda data: not data.file,
            env='TORCH_LOGS="graph_breaks"',
            basis="untestable",
            proof="it records more",
        ),
        *(remedy for remedy in LIBRARY if remedy is not REPORT_IN_EAGER),
        Remedy(
            "detach-in-package",
            lambda data: (
                "`Variable(x)` is `x.detach()`, which Dynamo traces: a change for the authors of "
                f"`{data.package}`."
            ),
            when="the same in a package, and no change from outside is named",
            applies=lambda data: bool(data.package) and calls_variable(data),
            basis="untestable",
            proof="it says what is known, and asks for no change",
            says=True,
        ),
    )

    def advise(self, data: FindingData) -> tuple[Advice, ...]:
        """Return the advice, without what else to record where a setting mends the break."""
        found = super().advise(data)
        is_mended = any(one.id == "leave-filters" for one in found)
        return tuple(one for one in found if not (is_mended and one.id == SEE_PARTS.id))

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell also what breaks in the function, which Dynamo enters behind the break."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, BreakData):
            yield entered(data.file, data.line)

    def what(self, site: BreakSite) -> str:
        """Name the function."""
        data = break_data(site, qualified(site))
        if calls_variable(data):
            return "Dynamo cannot trace `torch.autograd.Variable`: the graph breaks"
        name = called(data) if called(data).rpartition(".")[2] == named(site) else data.name
        if name.endswith(".__call__"):
            name = called(data) or name
        shown = f"`{name}`" if name else "a function"
        return f"Dynamo cannot trace {shown}: the graph breaks"

    def named(self, site: BreakSite) -> str:
        """Return the name with its module."""
        return qualified(site)

    def identity(self, site: BreakSite) -> tuple[str, ...]:
        """Return the function as the record names it, and the line."""
        return f"Dynamo cannot trace `{named(site)}`: the graph breaks", *site.identity

    def harmless(self, site: BreakSite) -> str:
        """Take the step of an optimizer as a note: Dynamo goes on inside it."""
        cause = site.record.cause
        module = cause.context.module if cause is not None and cause.context else None
        is_torch = bool(module) and str(module).startswith("torch.optim.")
        if (is_torch or _is_step(site)) and not site.skipped:
            return "the optimizer's step is compiled as a function of its own behind the break"
        return ""


def _is_step(site: BreakSite) -> bool:
    """Whether it is the step of any optimizer, which a scheduler of torch has wrapped."""
    cause = site.record.cause
    if cause is None or cause.context is None or not cause.context.qualname.endswith(".step"):
        return False
    return any("/torch/optim/" in text for text in cause.explanation)
