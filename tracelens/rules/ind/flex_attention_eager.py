"""IND025 flex-attention-eager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity, Where, stories
from tracelens.report.stories import Story
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.logs.output_code import OutputModule
    from tracelens.logs.recompile_limits import RecompileLimit
    from tracelens.logs.recompiles import Recompile
    from tracelens.logs.warnings import TorchWarning

__all__ = ["FlexAttentionEager"]


#: What a program hands to flex_attention, and may make anew each time.
_FUNCTIONS = ("mask_mod", "score_mod")


class FlexAttentionEager(Rule):
    """``flex_attention`` runs outside of compiled code, and writes the whole score matrix to memory.

    ## Why it matters
    Only compiled, ``flex_attention`` becomes one kernel that skips what the mask leaves out. In
    eager mode it is a reference for debugging: every score is computed, changed by a Python
    function and stored. Time and memory grow with the square of the sequence length.

    ## What it looks like
    A warning, printed once, in torch 2.13 (it says no line of the program; earlier versions, from
    2.5 on, may be silent):

        /home/ana/venv/lib/python3.11/site-packages/torch/nn/attention/flex_attention.py:2481: UserWarning: flex_attention called without torch.compile() - this will use an unfused implementation that materializes the full scores matrix instead of generating a fused kernel.

    Where the log shows that it was compiled, until functions made anew in each call hit the limit of
    recompiles, the finding says so.

    ## When it is harmless
    In a test or a comparison on small inputs. Where the same log has the compiled kernel too, the
    eager call may be such a comparison, and the finding is a warning, not an error.

    ## What to do
    Compile the function that calls it, or ``flex_attention`` itself, and the mask:
    ``create_block_mask(..., _compile=True)``. If the call is inside of a compiled function, a graph
    break before it sends it to eager mode: see the breaks.

    ## How a live run confirms it
    The same step with ``torch.compile(flex_attention)``. Confirmed when peak memory and time fall.

    ## See also
    IND017 (attention that is written out), GBR012 (all graph breaks);
    <https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html>
    """  # noqa: E501 -- the excerpt is a line of a log

    code = "IND025"
    name = "flex-attention-eager"
    severity = Severity.ERROR
    moved_by: ClassVar = {"warnings.topic": {"flex-attention-eager"}}
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """A call of flex_attention in eager mode."""

        warnings: int
        #: A graph breaks at the call.
        is_broken: bool
        #: Elsewhere in the log it is compiled.
        is_compiled_elsewhere: bool
        #: It was compiled until mask_mod or score_mod, made anew each time, hit the limit.
        is_made_anew: bool = False
        #: Where the function that hit the limit is defined.
        limit_file: str = ""
        limit_line: int | None = None

    remedies = (
        Remedy(
            id="compile",
            text="Compile the function that calls it, or the call itself.",
            when="it is not compiled",
            applies=lambda data: not data.is_made_anew,
            code="flex_attention = torch.compile(flex_attention)",
            since="2.5",
            proof="https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html",
        ),
        Remedy(
            id="make-once",
            text="Make mask_mod and score_mod once, and the block mask once per shape: a function "
            "that is made anew is another one to the guards, and everything is compiled again.",
            when="it was compiled until the limit of recompiles was hit",
            applies=lambda data: data.is_made_anew,
            basis="tested",
            proof="tests/advice/IND025/make-once.py",
        ),
        Remedy(
            id="compile-mask",
            text="Build the block mask in compiled code as well, once for all layers and steps: "
            "create_block_mask(..., _compile=True).",
            since="2.5",
            proof="https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html",
        ),
    )

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the story that it is a symptom of: the recompiles that hit the limit."""
        data = finding.data
        if not data.get("is_made_anew"):
            return ()
        return [stories.recompiles(str(data.get("limit_file")), data.get("limit_line"))]

    def check(
        self,
        *,
        warnings: Table[TorchWarning],
        breaks: Table[GraphBreak],
        modules: Table[OutputModule],
        limits: Table[RecompileLimit],
        recompiles: Table[Recompile],
    ) -> Iterator[Finding]:
        """Yield one finding: torch warns once per process."""
        rows = [row for row in warnings if row.record.topic == "flex-attention-eager"]
        if not rows:
            return
        compiled = any(_is_called(row.record) for row in modules)
        broken = next((row for row in breaks if _is_near(row)), None)
        limit = next((row for row in limits if "flex_attention" in row.record.function), None)
        anew = limit is not None and any(
            any(word in row.text for word in _FUNCTIONS) for row in (*recompiles, limit)
        )
        message = "The full matrix of scores is computed and stored."
        if broken is not None:
            message += " A graph break at the call sends it to eager mode."
        elif anew:
            message += (
                " It was compiled, until the limit of recompiles was hit: its mask_mod or "
                "score_mod is made anew for each call."
            )
        elif compiled:
            message += " Elsewhere in this log it is compiled."
        data = self.Data(
            warnings=sum(row.count for row in rows),
            is_broken=broken is not None,
            is_compiled_elsewhere=compiled,
            is_made_anew=anew,
            limit_file=limit.record.file if anew and limit is not None else "",
            limit_line=limit.record.line if anew and limit is not None else None,
        )
        yield self.finding(
            "flex_attention",
            title="flex_attention runs in eager mode",
            message=message,
            severity=Severity.WARNING if compiled and broken is None else Severity.ERROR,
            count=sum(row.count for row in rows),
            where=_where(rows[0].record),
            evidence=[
                rows[0].quote(),
                *([broken.quote()] if broken is not None else []),
                *([limit.quote()] if anew and limit is not None else []),
            ],
            advice=self.advise(data),
            data=data,
        )


def _is_called(module: OutputModule) -> bool:
    """Tell whether a module calls a kernel of flex_attention."""
    from tracelens.inductor.attention import fused_calls  # noqa: PLC0415 -- of few logs

    return any("flex_attention" in name for _, name in fused_calls(module))


def _is_near(row: Seen[GraphBreak]) -> bool:
    """Whether the graph breaks where flex_attention is called."""
    return any(
        "flex_attention" in frame.code or frame.function == "flex_attention"
        for frame in row.record.stack
    )


def _where(warning: TorchWarning) -> Where | None:
    """Return the line of the program, where the warning names it and not torch's own."""
    inside = user_code.distance(warning.file) > 0
    return None if inside else Where(file=warning.file, line=warning.line or None)
