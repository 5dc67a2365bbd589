"""GBR004 logging-call."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import Experiment, Knob
from tracelens.report import Advice, Severity
from tracelens.rules.gbr._site_rule import SiteRule

__all__ = ["LoggingCall"]


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
    experiment = Experiment(
        Knob(
            "loggers are left out of the graph",
            config={
                "torch._dynamo.config.ignore_logging_functions": "logging.Logger.debug, "
                "logging.Logger.info, logging.Logger.warning, logging.Logger.error, "
                "transformers.utils.logging.info_once, transformers.utils.logging.warning_once"
            },
        ),
        micro="graph_break",
    )
    families: ClassVar[frozenset[str]] = frozenset({"logger"})

    def what(self, site: BreakSite) -> str:
        """Name the call."""
        del site
        return "a logger's call breaks the graph"

    def advice(self, site: BreakSite) -> list[Advice]:
        """Leave the call out of the graph, in the words of the version."""
        found = [
            Advice(
                text="Let Dynamo leave the logger's method out of the compiled code.",
                setting="torch._dynamo.config.ignore_logging_functions.add(logger.warning)",
                since="2.11",
            ),
            Advice(
                text="The same in older versions.",
                setting="torch._dynamo.config.ignore_logger_methods.add(logger.warning)",
                since="2.6",
                until="2.11",
            ),
            Advice(text="Or move the call out of the compiled function."),
        ]
        if "loss_type" in site.line.code or site.line.file.endswith(
            "transformers/modeling_utils.py"
        ):
            found.insert(
                0,
                Advice(
                    text="In transformers, a model without loss type warns in every forward pass; "
                    "name it after building the model (in the config it is overwritten).",
                    code="model.loss_type = 'ForCausalLM'",
                ),
            )
        return found
