"""GBR010 autograd-inside-graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite, sites
from tracelens.dynamo.given_flags import look_for_flags
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.gbr._called import editable
from tracelens.rules.gbr._rounds import called_in_loop
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule, own
from tracelens.rules.gbr._stories import differentiated, traced_autograd, training_step

__all__ = ["AutogradInsideGraph"]

#: The calls, as they are named.
BACKWARD = "backward()"
GRAD = "torch.autograd.grad()"
#: What is said where the only advice does not hold.
_ELSEWHERE = (
    " The graph breaks elsewhere in the function, too: mend that first. One graph must hold what "
    "is differentiated and the call, which `torch._dynamo.config.trace_autograd_ops` then traces."
)
#: Optimizers of torch, as comments of guards name their files.
_OF_TORCH = re.compile(r"(?:^|/)optim/\w+\.py$")


def _is_of_inputs(data: BreakData) -> bool:
    """Whether it is the hook of ``enable_input_require_grads``.

    With transformers 5.24 and peft 0.21, a LoRA in training had five breaks with it and none
    without, the same losses and the same gradients.
    """
    return data.package == "transformers" and data.function == "make_inputs_require_grads"


#: What has a name, so that the flag can be set before it is passed in: ``x.requires_grad_()``,
#: ``x = x.detach().requires_grad_()``. What a line computes exists within the function alone.
_NAMED = re.compile(
    r"(?:\w{1,60} = )?[A-Za-z_][\w.]{0,80}?(?:\[[\w'\"]{1,60}\])?"
    r"(?P<copied>\.(?:detach|clone)\(\)){0,2}"
    r"\.requires_grad_\((?:True)?\)"
)
#: What torch says of a tensor that the function itself made.
_INTERMEDIATE = "intermediate"


def _is_passed_in(data: BreakData) -> bool:
    """Whether the line may be done before the call, as far as is known."""
    named = _NAMED.fullmatch(data.code.strip())
    if named is None or called_in_loop(data):  # each round makes the tensor anew
        return False
    return bool(named["copied"]) or _INTERMEDIATE not in data.reason


class AutogradInsideGraph(SiteRule):
    """``backward()``, ``autograd.grad()`` or ``requires_grad_()`` breaks the graph it stands in.

    ## Why it matters
    The backward pass is made from the graph of the forward pass; a call that starts it cannot be part
    of that graph. Everything after the call belongs to another one.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/train.py:19
        [0/0] [__graph_breaks] Graph Break Reason: Unsupported Tensor.backward() call
        [0/0] [__graph_breaks]   Explanation: Dynamo currently does not support tracing `Tensor.backward()`.

    ## When it is harmless
    When a whole training step is compiled on purpose: forward and loss still form one graph.

    ## What to do
    Compile the model, or forward and loss, and call ``backward`` outside.

    ## How a live run confirms it
    The same step with ``backward`` outside: one break less.

    ## See also
    GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0123.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR010"
    name = "autograd-inside-graph"
    severity = Severity.INFO
    experiment = Experiment(
        Knob(
            "autograd operators are traced",
            config={"torch._dynamo.config.trace_autograd_ops": True},
        )
    )
    families: ClassVar[frozenset[str]] = frozenset({"autograd"})

    class Data(BreakData):
        """A line that asks for gradients."""

        #: The argument of the compiled function that gets its ``requires_grad`` in the line.
        flagged: str = ""

    remedies = (
        Remedy(
            "backward-outside",
            "Compile the forward pass and the loss alone: call `backward()` outside, and what else "
            "the step does.",
            when="`backward()`, in code of your own",
            applies=lambda data: data.name == BACKWARD and not data.package,
            basis="tested",
            proof="tests/advice/GBR010/backward-outside.py",
        ),
        Remedy(
            "trace-autograd",
            "Or let Dynamo trace it, and return `loss.detach()`: no tensor that a backward pass "
            "went through may leave the function.",
            # What a package's step returns, its user cannot change.
            when="`backward()`, in code of your own, the graph breaks nowhere else in the "
            "function, and no optimizer but torch's own is compiled",
            applies=lambda data: data.name == BACKWARD and not data.package,
            setting="torch._dynamo.config.trace_autograd_ops = True",
            since="2.11",
            basis="tested",
            proof="tests/advice/GBR010/trace-autograd.py",
            knob=experiment.knob,
        ),
        Remedy(
            "one-gradient",
            lambda data: (
                "Compile what computes one value and its gradient, in place of the "
                f"`torch.autograd.grad()` in `{data.function}`, and leave the loop that calls it "
                "uncompiled. Six rounds of a small function took 0.44 ms that way, and 1.7 ms with "
                "the break."
            ),
            when="`torch.autograd.grad()` in a function that a loop of another one calls, in code "
            "of your own",
            applies=lambda data: data.name == GRAD and called_in_loop(data),
            code="value_and_grad = torch.compile(torch.func.grad_and_value(value))  # of one number"
            "\ngradient, result = value_and_grad(x)",
            since="2.3",
            basis="tested",
            proof="tests/advice/GBR010/one-gradient.py",
        ),
        Remedy(
            "trace-grad",
            "Let Dynamo trace it: gradients that are returned are plain tensors of the graph.",
            # A library mostly calls requires_grad_() in the same function: tracing then raises.
            # Of a loop one graph holds all rounds: with 13, compiling took 50 s of CPU time more,
            # and a step was no faster.
            when="`torch.autograd.grad()`, in code of your own that no loop of another function "
            "calls; the graph breaks nowhere else in it, but where `requires_grad` is set",
            applies=lambda data: data.name == GRAD and not (data.package or called_in_loop(data)),
            setting="torch._dynamo.config.trace_autograd_ops = True",
            since="2.11",
            basis="tested",
            proof="tests/advice/GBR010/trace-grad.py",
            knob=experiment.knob,
        ),
        Remedy(
            "set-before",
            "Call `requires_grad_()` before the tensor comes into the compiled function.",
            when="`requires_grad_()` of what has a name, and is not known to be made in the "
            "function, in code of your own that no loop of another function calls",
            applies=lambda data: (
                data.name == "requires_grad_()" and editable(data) and _is_passed_in(data)
            ),
            basis="tested",
            proof="tests/advice/GBR010/set-before.py",
        ),
        Remedy(
            "set-outside",
            lambda data: (
                f"Call `requires_grad_()` on what is passed as `{data.flagged}`, before the "
                "compiled function is called: the line finds the flag set, and neither breaks the "
                "graph nor compiles the function again for it."
            ),
            when="`requires_grad_()` in a package, and what is passed in had got the flag when the "
            "function was compiled again",
            applies=lambda data: bool(data.package and getattr(data, "flagged", "")),
            basis="tested",
            proof="tests/advice/GBR010/set-outside.py",
        ),
        Remedy(
            "without-input-gradients",
            "If the model checkpoints activations, let it do so without reentrant autograd, which "
            "needs no gradients of the inputs, and take the hook off that asks for them; behind "
            "`get_peft_model`, which sets it, too.",
            when="the hook of transformers that gives embeddings a gradient",
            applies=_is_of_inputs,
            code="base = model.get_base_model()  # of peft; without it, the model itself\n"
            "base.gradient_checkpointing_enable("
            'gradient_checkpointing_kwargs={"use_reentrant": False})\n'
            "base.disable_input_require_grads()",
            proof="https://huggingface.co/docs/transformers/main_classes/model",
        ),
        *LIBRARY,
    )

    def check(
        self,
        breaks: Table[GraphBreak],
        *,
        setup: Table[SetupBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
        recompiles: Table[Recompile],
    ) -> Iterator[Finding]:
        """Yield one finding per line of the program."""
        is_foreign = trees.derived(_compiles_foreign_step)
        found = sites(breaks, self.families, setup=setup)
        cuts = _cuts(site for site in sites(breaks, setup=setup) if not _sets_grad(site))
        look_for_flags(found, recompiles)
        for finding in self.each(found, breaks, frames, trees):
            left = _not_traced(finding) if is_foreign or _is_cut(finding, cuts) else finding
            if finding.advice and not left.advice:
                left = left.model_copy(update={"message": finding.message + _ELSEWHERE})
            yield _set_alone(left)

    def told(self, site: BreakSite) -> BreakData:
        """Return the data, with the argument that gets the flag."""
        data = super().told(site)
        return self.Data(**data.model_dump(), flagged=site.flagged) if site.flagged else data

    def what(self, site: BreakSite) -> str:
        """Name the call."""
        return f"`{self.named(site)}` breaks the graph"

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Cause what else breaks in a training step: none of it is in the forward pass."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, BreakData) and data.name == BACKWARD and own(data):
            yield from training_step(data.file, data.function)
        if isinstance(data, BreakData) and data.name == GRAD and own(data):
            yield from differentiated(data.file, data.function)
        yield from _by_setting(finding)

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the gradient that a tensor is marked for, or to what the same setting mends."""
        yield from super().follows(finding)
        data = self.data_of(finding)
        if isinstance(data, BreakData) and data.name == "requires_grad_()":
            yield from differentiated(data.file, data.function)
        yield from _by_setting(finding)

    def named(self, site: BreakSite) -> str:
        """Return the call."""
        text = site.record.text
        if "autograd.grad" in text:
            return GRAD
        return "requires_grad_()" if "requires_grad_" in text else BACKWARD


def _compiles_foreign_step(trees: Table[GuardTree]) -> bool:
    """Tell whether the step of an optimizer that is none of torch's is compiled.

    Traced along with ``backward()`` it may raise: the gradients of other parameters are assigned.
    """
    return any(
        guard.comment is not None
        and guard.comment.function == "step"
        and "param_groups" in guard.expression
        and not _OF_TORCH.search(guard.comment.file)
        for row in trees
        for guard in row.record.guards
    )


def _sets_grad(site: BreakSite) -> bool:
    """Tell whether the break is at what Dynamo traces along with a gradient."""
    return "requires_grad" in site.line.code and "autograd.grad" not in site.record.text


def _cuts(others: Iterable[BreakSite]) -> dict[tuple[str, str], set[tuple[str, int]]]:
    """Return, by file and function on the way to a break, the places that the breaks are at."""
    places: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for site in others:
        line = site.line
        for one in site.stack:
            places.setdefault((one.file, one.function), set()).add((line.file, line.line))
    return places


def _is_cut(finding: Finding, cuts: dict[tuple[str, str], set[tuple[str, int]]]) -> bool:
    """Tell whether the function breaks the graph elsewhere, too.

    One graph must hold what is differentiated and the call; the step of an optimizer that is in
    the same function breaks it.
    """
    at = finding.where
    if at is None or at.function is None:
        return False
    places = cuts.get((at.file, at.function), set())
    return len(places) > ((at.file, at.line) in places)


def _not_traced(finding: Finding) -> Finding:
    advice = tuple(one for one in finding.advice if one.id not in {"trace-autograd", "trace-grad"})
    return finding.model_copy(update={"advice": advice})


def _set_alone(finding: Finding) -> Finding:
    """Return the finding with no other advice, where its user can set the flag."""
    advice = tuple(one for one in finding.advice if one.id == "set-outside")
    return finding.model_copy(update={"advice": advice}) if advice else finding


def _by_setting(finding: Finding) -> Iterable[Story]:
    """Yield the story of what the setting, which comes first, is advised for."""
    if any(advice.setting for advice in finding.advice[:1]):
        yield traced_autograd()
