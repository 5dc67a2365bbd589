"""ERR016 unsupported-under-fullgraph."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.report import Advice, FindingData
from tracelens.rules.err._breaks import same_break
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist
from tracelens.rules.err._known_messages import KNOWN_MESSAGE, known, unless
from tracelens.rules.gbr._site_rule import LEAVE_BREAK, LEAVE_CALL_OUT, NOT_NAMED
from tracelens.words import first_line

__all__ = ["UnsupportedUnderFullgraph"]

#: Advice of a rule about graph breaks that a finding repeats.
MAX_ADVICE = 3
#: What torch says of a function that it does not trace, and its name in the lines below.
_SKIPPED = "function marked as skipped"
_CALLED = re.compile(r"(?:the Python builtin|the function) `([\w.]{1,200})`")
#: What torch advises not to call, where what broke the graph is a kind of call.
_AVOIDED = re.compile(r"(?m)^\s*Hint: Avoid calling (?:the function )?`([\w.]{1,200})`")
#: What is said of a branch, which says itself what to do in other cases: nothing is called there.
_OF_BRANCH = frozenset({"compile-parts", "raise-in-graph", "select"})
#: Advice that asks for no change.
_SAYS = frozenset({LEAVE_BREAK.id, NOT_NAMED.id})


#: What Dynamo says that the traced code raised, by its own name or as Python writes it.
_RAISED = re.compile(r"raised exception (?:\w{1,60}\(<class '([\w.]{1,100})'>|([\w.]{1,100})\()")
_FSDP = "FSDPManagedNNModuleVariable"
_TORCH = re.compile(r"[\\/]torch[\\/]")


def _observed(data: FailureData) -> bool:
    found = known(data)
    return found is not None and found.name == "observed"


def _exception(data: FailureData) -> str:
    """Return the exception that the traced code raised; empty where it is not named."""
    found = _RAISED.search(data.facts.get("context", "")) or _RAISED.search(data.message)
    return (found[1] or found[2]).rpartition(".")[2] if found else ""


def _raised_at(data: FailureData) -> str:
    """Return where that was, as far as the traced lines tell."""
    if not data.stack:
        return ""
    last = data.stack[-1]
    return f"`{last.function}`, {user_code.short(last.file, last.line)}"


def _observe(data: FailureData) -> str:
    """Say what is raised, and that the program most likely raises it uncompiled, too."""
    what = f"`{_exception(data)}`" if _exception(data) else "an exception"
    at = f" ({_raised_at(data)})" if data.stack else ""
    own = bool(data.stack) and _TORCH.search(data.stack[-1].file)
    checks = " It is torch's own check of what it is given." if own else ""
    return (
        f"Dynamo met {what}, which the traced code raises{at} and nothing in it catches.{checks}"
        " Mostly the same call raises uncompiled, too: run it once so, and mend that."
    )


#: What an operation returned that a graph cannot hold, and its name: of older torch, and since 2.8.
_RETURNED = re.compile(
    r"(?:example_value type: (?P<type>[\w.]{1,60}); op: \w+; target: "
    r"|returned non-Tensor (?P<type_2>[\w.]{1,60}) call_\w+ )"
    r"(?:<(?:built-in )?(?:method|function) (?P<name>[\w.]{1,80})|(?P<plain>[\w.]{1,80}))"
)


def _returned(data: FailureData) -> tuple[str, str]:
    """Return the operation that returned no tensor, and of which type it is; empty for none."""
    text = f"{data.message} {data.facts.get('context', '')}"
    found = _RETURNED.search(text) if "non-Tensor" in text else None
    if found is None:
        return "", ""
    return found["name"] or found["plain"], found["type"] or found["type_2"]


def _once(data: FailureData) -> str:
    """Say what to call once, and keep."""
    name, kind = _returned(data)
    return (
        f"Call `{name or 'the function'}` once, before the compiled function, and use the "
        f"`{kind or 'value'}` that it returned there: a value of Python becomes a constant."
    )


def _of_library(data: FailureData) -> bool:
    """Tell whether a library compiles, which the program cannot ask for less."""
    return "compiles" in data.facts


def _exports(data: FailureData) -> bool:
    return "exports" in data.facts


class UnsupportedUnderFullgraph(FailureRule):
    """With ``fullgraph=True``, what would break the graph ends the program.

    ## Why it matters
    Where Dynamo cannot trace an operation it cuts the graph and goes on. ``fullgraph=True`` (and
    ``torch.export``) forbid that: the same operation is an error.

    ## What it looks like
        torch._dynamo.exc.Unsupported: Unsupported Tensor.item() call with capture_scalar_outputs=False
          Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.
          Hint: Set `torch._dynamo.config.capture_scalar_outputs = True` or `export TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1` to include these operations in the captured graph.

    ## When it is harmless
    Never: the program ended. Without ``fullgraph=True`` it goes on with a graph break, which costs
    time.

    ## What to do
    What the rule about that kind of graph break says; or allow the break.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    GBR001 to GBR022 (the same as graph breaks), ERR018.
    <https://meta-pytorch.org/compile-graph-break-site/>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR016"
    name = "unsupported-under-fullgraph"
    of_causes: ClassVar[frozenset[str]] = frozenset({"fullgraph"})
    may_be_meant = True
    remedies = (
        *unless(_observed, (KNOWN_MESSAGE,)),
        Remedy(
            "observed",
            _observe,
            env="TORCHDYNAMO_DISABLE=1",
            applies=_observed,
            when="the traced code raises an exception",
            basis="untestable",
            proof="torch/_dynamo/symbolic_convert.py: Observed exception",
        ),
        Remedy(
            "fsdp-blocks",
            "FSDP sets attributes of its modules while they run, which Dynamo cannot trace into a"
            " graph: compile the blocks before FSDP wraps them, each by itself, or shard with"
            " `fully_shard` (FSDP2, since torch 2.6).",
            code="for block in model.layers: block.compile()  # then FSDP(model, ...)",
            since="2.2",
            applies=lambda data: _FSDP in data.message,
            when="a module that FSDP wraps",
            basis="untestable",
            proof="needs several GPUs",
        ),
        Remedy(
            "unsloth",
            "Unsloth compiles the models that it loads, with fullgraph=True: take unsloth, "
            "unsloth_zoo and transformers of one day, or switch its compiling off.",
            code="python -m pip install -U unsloth unsloth_zoo transformers",
            env="UNSLOTH_COMPILE_DISABLE=1",
            applies=_of_library,
            when="a short text that names Unsloth",
            basis="untestable",
            proof="unsloth_zoo: UNSLOTH_COMPILE_DISABLE",
        ),
        Remedy(
            "call-once",
            _once,
            applies=lambda data: bool(_returned(data)[0]),
            when="a function of torch's that returns no tensor",
            basis="tested",
            proof="tests/advice/ERR016/call-once.py",
        ),
        Remedy(
            "allow",
            lambda data: (
                "If it does not raise then, Dynamo goes another way than Python there: let the "
                "graph break, and report it."
                if _observed(data)
                else "Or allow the graph to break there: it costs time, and the program runs."
            ),
            code="torch.compile(model)  # without fullgraph=True",
            applies=lambda data: not (_exports(data) or _of_library(data)),
            when="not under torch.export, and no library compiles",
            basis="tested",
            proof="tests/advice/ERR016/allow.py",
        ),
        Remedy(
            "leave-out",
            "Or call that operation outside of the compiled function, and pass the result in."
            " `torch.compiler.disable` does not help: under fullgraph=True it is an error, too.",
            when="nothing else says what to do outside of it",
            applies=lambda data: (
                not ((_exports(data) and known(data)) or _observed(data) or _returned(data)[0])
            ),
            basis="tested",
            proof="tests/advice/ERR016/leave-out.py",
        ),
        Remedy(
            "non-strict",
            "Or export without Dynamo, which runs the Python as it is and records the tensors; it "
            "is the default since 2.7.",
            code="torch.export.export(model, args, strict=False)",
            since="2.4",
            applies=lambda data: _exports(data) and not known(data),
            when="under torch.export",
            proof="https://docs.pytorch.org/docs/stable/export.html",
        ),
    )

    def wanted(self, failure: Failure) -> bool:
        """Leave out what was logged of a function that then runs eagerly: GBR013 tells it."""
        return super().wanted(failure) and not failure.fact("frame")

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each line that cannot be traced is a failure of its own."""
        return (failure.cause, gist(failure.message), failure.function)

    def what(self, data: FailureData) -> str:
        """Say what cannot be traced."""
        first = first_line(data.message).rstrip(" .:")
        if _observed(data):
            what = f"`{_exception(data)}`" if _exception(data) else "an exception"
            at = f": {_raised_at(data)}" if data.stack else ""
            return f"the program raises {what} in what is compiled{at}"
        if found := known(data):
            return f"{found.what}: {first}"
        if _exports(data):
            return f"torch.export needs a whole graph, and what is met breaks it: {first}"
        if operation := _returned(data)[0]:
            kind = _returned(data)[1]
            first = f"`{operation}` returns a `{kind}`, and no tensor"
        named = _CALLED if first.endswith(_SKIPPED) else _AVOIDED
        name = named.search(data.message) if "`" not in first else None
        what = f"{first}: `{name[1]}`" if name else first
        return f"fullgraph=True makes an error of a graph break: {what}"

    def advise(self, data: FindingData) -> tuple[Advice, ...]:
        """Return the advice of the rule about that kind of break, and then our own."""
        own = super().advise(data)
        if not isinstance(data, FailureData):
            return own
        theirs = () if known(data) else same_break(data)
        first = [one for one in theirs if one.id not in _SAYS][:MAX_ADVICE]
        replaced = _OF_BRANCH | {LEAVE_CALL_OUT.id}
        if any(one.id.endswith("-outside") or one.id in replaced for one in first):
            own = tuple(one for one in own if one.id != "leave-out")
        return (*own, *first) if _of_library(data) else (*first, *own)
