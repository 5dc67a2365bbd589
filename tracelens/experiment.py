"""Experiments: how running the workload again tests a finding.

A rule states one, as data: which single thing to change, and what that predicts. The live room
carries it out; nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "ABOUT_THE_LOG",
    "CALLS",
    "EMPTY_CACHES",
    "EXPECTED",
    "IN_THE_PROGRAM",
    "UNCHANGED",
    "Experiment",
    "Knob",
    "Value",
]

#: What a setting can hold.
Value = bool | int | float | str | None


#: What can be done around calls of compiled callables -> how it is shown.
CALLS = {
    "mark_dynamic": "torch._dynamo.maybe_mark_dynamic()",
    "eager_first": "model(...) before torch.compile(model)",
    "autocast": "torch.autocast()",
    "compile_inner": "torch.compile(module)",
}


@dataclass(frozen=True)
class Knob:
    """One change to a run, made from outside: the program stays as it is."""

    #: What it is, in a few words: ``freezing on``.
    text: str
    #: Environment variables; ``None`` removes one.
    env: Mapping[str, str | None] = field(default_factory=dict)
    #: Attributes of torch's modules, set when the module is first imported:
    #: ``{"torch._inductor.config.freezing": True}``. One that is a set gets members instead,
    #: by their names: ``{"torch._dynamo.config.reorderable_logging_functions": "builtins.print"}``.
    config: Mapping[str, Value] = field(default_factory=dict)
    #: Keyword arguments of every ``torch.compile`` in the program: ``{"dynamic": True}``.
    compile: Mapping[str, Value] = field(default_factory=dict)
    #: The memory format that compiled modules and the images they are called with are given:
    #: ``channels_last``.
    layout: str = ""
    #: Arguments of every optimizer of torch's that has them: ``{"fused": True}``; ``tensor`` stands
    #: for what the program gives, in a tensor: ``{"lr": "tensor"}``.
    optimizer: Mapping[str, Value] = field(default_factory=dict)
    #: What is done around calls of compiled callables: ``{"mark_dynamic": "x, 0"}`` before each,
    #: ``{"eager_first": True}`` before the first, ``{"autocast": "bfloat16"}``, or instead of what
    #: calls them the modules that do not reach a line: ``{"compile_inner": "head.py:12"}``.
    call: Mapping[str, Value] = field(default_factory=dict)
    #: Whether results may differ; then the difference is measured as well.
    changes_results: bool = False

    @property
    def settings(self) -> dict[str, str]:
        """What to show of it, name -> value as one would paste it."""
        shown = {name: "unset" if value is None else value for name, value in self.env.items()}
        shown |= {name: repr(value) for name, value in self.config.items()}
        shown |= {f"torch.compile({name}=)": repr(v) for name, v in self.compile.items()}
        shown |= {
            f"torch.optim({name}=)": "torch.tensor(...)" if v == "tensor" else repr(v)
            for name, v in self.optimizer.items()
        }
        shown |= {CALLS[name]: str(value) for name, value in self.call.items()}
        return shown | ({"model.to(memory_format=)": f"torch.{self.layout}"} if self.layout else {})


#: The program as it is.
UNCHANGED = Knob("unchanged")


@dataclass(frozen=True)
class Experiment:
    """One thing to change, and what must follow if the finding is true.

    The structural half is about what the log shows of the changed run, the temporal half about the
    time of a step. A finding is confirmed when both come true.
    """

    knob: Knob
    #: ``gone``: the changed run's report no longer has the finding. ``fewer``: it has it, with a
    #: smaller count. ``stays``: nothing changes but the time.
    structure: Literal["gone", "fewer", "stays"] = "gone"
    #: ``faster``: a step takes less time. ``any``: the finding says nothing about time, and the
    #: structure alone confirms it.
    time: Literal["faster", "any"] = "faster"
    #: What the time is of: steady steps, or everything from start to end (compiling, tuning).
    of: Literal["step", "run"] = "step"
    #: Module of ``tracelens.live.micro`` that builds a small workload from the evidence, for a
    #: finding without a program, and behind a colon the form it has: ``recompile:sizes``; empty
    #: where only the program itself can show it.
    micro: str = ""
    #: In words, for the documentation.
    confirms: str = ""
    refutes: str = ""
    leaves_open: str = ""


#: Why there is no experiment: for ``Rule.unconfirmable``.
IN_THE_PROGRAM = (
    "the change is made in the program: record it again afterwards, and compare the reports"
)
EMPTY_CACHES = (
    "every run of an experiment starts with empty caches, and caches are what the finding is about"
)
EXPECTED = "it is expected: there is nothing to change"
ABOUT_THE_LOG = "it is about the log, not about the program"
