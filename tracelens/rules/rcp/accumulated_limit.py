"""RCP028 accumulated-limit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.recompile_history import histories
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames.recompile_cost import CompiledFrame
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity, Where
from tracelens.report.stories import Story
from tracelens.report.stories import recompiles as recompiles_of
from tracelens.rules import Rule

__all__ = ["AccumulatedLimit"]

MAX_NAMED = 3


class LimitData(FindingData):
    """A function that hit the accumulated limit, and the setting of the limit."""

    function: str
    file: str
    line: int
    limit: int
    setting: str


#: How helpers that wrap modules are named, by themselves or by their file.
_HELPER = re.compile(r"offload|hook|wrap|empty_(?:cuda_)?cache|patch(?:ed)?_|on_the_fly")


def _wraps(data: LimitData) -> bool:
    name = data.file.replace("\\", "/").rpartition("/")[2]
    return bool(user_code.package(data.file)) and bool(_HELPER.search(f"{name} {data.function}"))


class AccumulatedLimit(Rule):
    """All entries of one code object together hit the accumulated limit: it runs eagerly now.

    ## Why it matters
    Besides the limit for each version of a function there is one for all entries that its code ever
    got, whatever object it was compiled for (256). A code object that hits it is never compiled
    again: all new inputs run eagerly, after one warning.

    ## What it looks like
    A warning that needs no setting, with ``accumulated`` in the name of the limit:

        W1120 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/6]\
 torch._dynamo hit config.accumulated_recompile_limit (256)
        W1120 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/6]\
    function: 'scaled' (/home/ana/proj/model.py:84)
        W1120 10:47:23.888000 903 torch/_dynamo/convert_frame.py:1994] [0/6]\
    last reason: 0/5: name == 'aaaaaa'

    Up to torch 2.6 it is called ``accumulated_cache_size_limit``.

    ## When it is harmless
    In a test suite or a benchmark, which compiles hundreds of models in one process.

    ## What to do
    Find out what the functions with the most entries have in common, with
    ``TORCH_LOGS="recompiles"``. Between independent models call ``torch._dynamo.reset()``.

    ## How a live run confirms it
    The same run with a reset between the phases: the warning is gone.

    ## See also
    RCP001 (the limit of one function), RCP030 (models that share a decorator).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP028"
    name = "accumulated-limit"
    severity = Severity.ERROR
    moved_by: ClassVar = {"limits": ()}
    experiment = Experiment(
        Knob(
            "a higher accumulated limit",
            config={"torch._dynamo.config.accumulated_recompile_limit": 1024},
        )
    )

    Data = LimitData
    remedies = (
        Remedy(
            "leave-helper-out",
            lambda data: (
                f"`{data.function}` is a helper of `{user_code.package(data.file)}`, which may make"
                " one for each module that it wraps, and all of them share this code. Leave it out"
                " of what is compiled, where it is defined, or take a newer version of the package."
            ),
            when="a function of a package that wraps modules, as an offloader does",
            applies=_wraps,
            code=lambda data: f"@torch.compiler.disable  # above `def {data.function}`",
            since="2.1",
            basis="source",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
        Remedy(
            "reset",
            "Between independent models, start over with `torch._dynamo.reset()`.",
            basis="tested",
            proof="tests/advice/RCP028/reset.py",
        ),
        Remedy(
            "raise-limit",
            "Raise the limit, if the number of models is known.",
            setting=lambda data: f"torch._dynamo.config.{data.setting} = {data.limit * 8}",
            basis="tested",
            proof="tests/advice/RCP028/raise-limit.py",
            knob=experiment.knob,
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what recompiles the function."""
        data = self.data_of(finding)
        if isinstance(data, LimitData):
            yield recompiles_of(data.file, data.line)

    def check(
        self,
        compiled: Table[CompiledFrame],
        *,
        limits: Table[RecompileLimit],
        recompiles: Table[Recompile],
    ) -> Iterator[Finding]:
        """Yield one finding per function that was given up."""
        del compiled
        seen_before = set()
        for place, seen in limits.events():
            limit = seen.record
            key = (limit.function, limit.file)
            if not limit.is_accumulated or key in seen_before:
                continue
            seen_before.add(key)
            top = recompiles.derived(_most_compiled)
            data = LimitData(
                function=limit.function,
                file=limit.file,
                line=limit.line,
                limit=limit.limit,
                setting=limit.name,
            )
            yield self.finding(
                limit.function,
                user_code.short(limit.file),
                title=f"`{limit.function}` hit the accumulated limit of {limit.limit} entries: "
                "other inputs now run eagerly",
                message=f"Its code was compiled {limit.limit} times in all, for different objects "
                f"or inputs, and is not compiled again.{top}",
                confidence=Confidence.HIGH if top else Confidence.MEDIUM,
                count=seen.count,
                where=Where(file=limit.file, line=limit.line, function=limit.function),
                evidence=[seen.quote(place=place)],
                advice=self.advise(data),
                data=data,
            )


def _most_compiled(recompiles: Table[Recompile]) -> str:
    counts: Counter[str] = Counter()
    for history in histories(recompiles):
        counts[f"`{history.function}` ({user_code.short(history.file)})"] += len(history.steps)
    ranked = counts.most_common(MAX_NAMED)
    named = ", ".join(f"{name} {count} times" for name, count in ranked)
    return f" Recompiled most often: {named}." if named else ""
