"""GBR004 logging-call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.gbr._site_rule import BreakData, SiteRule, own

if TYPE_CHECKING:
    from tracelens.frames import Frame
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.guards import GuardTree

__all__ = ["LoggingCall"]


#: ``logging.info(...)``, which logs by the root.
_OF_MODULE = re.compile(r"(?<![\w.])logging\.(?:debug|info|warning|error|exception|critical|log)\(")


#: What a logger is called for, and need not answer: None is as good as False.
_METHODS = (
    *("debug", "info", "warning", "error", "exception", "critical", "log"),
    *("isEnabledFor", "hasHandlers"),
)
#: The setting for methods of loggers alone, up to torch 2.10.
_BEFORE = "ignore_logger_methods"
#: ... and what it has to answer.
_ANSWERS = ("getEffectiveLevel", "getChild", "findCaller", "makeRecord")


def _is_loss_type(data: BreakData) -> bool:
    in_transformers = data.file.endswith("transformers/modeling_utils.py")
    return "loss_type" in data.code or in_transformers


def _method(data: BreakData) -> str:
    """Return the method of the logger that the line calls; ``warning`` where it does not show."""
    called = data.name.rpartition(".")[2]
    return next((n for n in _METHODS if called == n or f".{n}(" in data.code), "warning")


def _needs_answer(data: BreakData) -> bool:
    """Tell whether the line goes on with what the logger returns, which would be None."""
    return any(f".{name}(" in data.code for name in _ANSWERS)


def _of_module(data: BreakData) -> str:
    """Return the function of ``logging`` itself that the line calls; empty for others."""
    found = _OF_MODULE.search(data.code)
    return found[0].rstrip("(") if found else ""


def _is_within(data: BreakData) -> bool:
    """Whether it is Python's ``logging`` that cannot be traced, and not a method of a logger."""
    return "ogger method" not in data.reason and "Logger not supported" not in data.reason


def _called(data: BreakData) -> str:
    return _of_module(data) or f"logging.Logger.{_method(data)}"


def _ignored(setting: str, data: BreakData) -> str:
    """Return the setting for the line, and for what other lines of the run call."""
    others = getattr(data, "others", ())
    if setting == _BEFORE:
        others = [one for one in others if one.startswith("logging.Logger.")]
    called = sorted({_called(data), *others})
    how = f"add({called[0]})" if len(called) == 1 else f"update({{{', '.join(called)}}})"
    return f"import logging; torch._dynamo.config.{setting}.{how}"


def _may_be_left_out(data: BreakData) -> bool:
    return not (_is_within(data) or _needs_answer(data)) or bool(_of_module(data))


class LoggingCall(SiteRule):
    """A call of a logger inside compiled code breaks the graph.

    ## Why it matters
    A logger writes somewhere else, so Dynamo ends the graph before the call and begins a new one
    after it, in every call, even when the message is filtered out by its level. In GPT-2 of
    transformers one ``logger.warning_once`` made five graphs of one.

    ## What it looks like
        [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7
        [0/0] [__graph_breaks] Graph Break Reason: logging.Logger method not supported for non-export cases
        [0/0] [__graph_breaks]   Explanation: logging.Logger methods are not supported for non-export cases.

    Up to torch 2.7 ``Logger not supported for non-export cases``.

    ## When it is harmless
    In code that runs only in the first call.

    ## What to do
    Move the call out of the compiled function, or let Dynamo leave it out.

    ## How a live run confirms it
    The same calls with the logger ignored: one graph less per call.

    ## See also
    GBR003 (``print``), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0291.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR004"
    name = "logging-call"
    severity = Severity.WARNING
    families: ClassVar[frozenset[str]] = frozenset({"logger"})
    experiment = Experiment(
        Knob(
            "loggers are left out of the graph",
            config={
                "torch._dynamo.config.ignore_logging_functions": "logging.Logger.debug, "
                "logging.Logger.info, logging.Logger.warning, logging.Logger.error, "
                "logging.Logger.exception, logging.Logger.critical, logging.Logger.log, "
                "logging.Logger.isEnabledFor, logging.Logger.hasHandlers, "
                "logging.debug, logging.info, logging.warning, logging.error, "
                "transformers.utils.logging.info_once, transformers.utils.logging.warning_once"
            },
        ),
        micro="graph_break:logger",
    )

    class Data(BreakData):
        """A line, and what the other lines of the run call that break for a logger."""

        others: tuple[str, ...] = ()

    remedies = (
        Remedy(
            "name-the-loss",
            "In transformers, a model without a loss type warns in every forward pass; name it "
            "after building the model (in the config it is overwritten).",
            when="the loss type of a model of transformers",
            applies=_is_loss_type,
            code="model.loss_type = 'ForCausalLM'",
            proof="https://github.com/huggingface/transformers/issues/34877",
        ),
        Remedy(
            "ignore-logger",
            "Let Dynamo leave the call out of the compiled code: it then logs nothing there.",
            when="a method of a logger, or a function of `logging` that the line calls",
            applies=_may_be_left_out,
            setting=lambda data: _ignored("ignore_logging_functions", data),
            since="2.11",
            basis="tested",
            proof="tests/advice/GBR004/ignore-logger.py",
            knob=experiment.knob,
        ),
        Remedy(
            "ignore-logger-before-2.11",
            "The same in older versions.",
            when="a method of a logger",
            applies=lambda data: not (_is_within(data) or _of_module(data) or _needs_answer(data)),
            setting=lambda data: _ignored(_BEFORE, data),
            since="2.6",
            until="2.10",
            basis="untestable",
            proof="the setting has another name since torch 2.11",
        ),
        Remedy(
            "log-outside",
            "Or move the call out of the compiled function.",
            when="code of your own, or Python's `logging`",
            applies=lambda data: own(data) or _is_within(data),
            basis="tested",
            proof="tests/advice/GBR004/log-outside.py",
        ),
    )

    def each(
        self,
        found: list[BreakSite],
        breaks: Table[GraphBreak],
        frames: Table[Frame],
        trees: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield one finding per line; the setting of each is for all of them."""
        findings = list(super().each(found, breaks, frames, trees))
        told = [self.data_of(finding) for finding in findings]
        called = {
            _called(data)
            for data in told
            if isinstance(data, BreakData) and _may_be_left_out(data) and not _is_loss_type(data)
        }
        for finding, data in zip(findings, told, strict=True):
            others = called - {_called(data)} if isinstance(data, BreakData) else None
            if not others or not isinstance(data, BreakData):
                yield finding
                continue
            more = self.Data(**data.model_dump() | {"others": tuple(sorted(others))})
            given = {one.id for one in finding.advice}
            advice = tuple(one for one in self.advise(more) if one.id in given)
            update = {"data": more.model_dump(mode="json"), "advice": advice}
            yield finding.model_copy(update=update)

    def what(self, site: BreakSite) -> str:
        """Name the call."""
        del site
        return "a logger's call breaks the graph"
