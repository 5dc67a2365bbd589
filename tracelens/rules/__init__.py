"""Rules: one module each under its family, named after the defect that it finds.

The annotation is the subscription. ``check`` says by its parameters which tables it reads::

    def check(self, execs: Table[PrimitiveExec], *, dispatches: Table[DispatchRejection])

What stands before the ``*`` must be there: with an empty table the rule is not asked, and its
verdict is ``absent`` with the switch that would produce the records. What stands after it is used
when there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from tracelens.dynamo import user_code
from tracelens.experiment import Experiment
from tracelens.remedies import Remedy, apart, applicable, from_outside
from tracelens.report import (
    Advice,
    Confidence,
    Cost,
    EvidenceLine,
    Finding,
    FindingData,
    Severity,
    Where,
    fingerprint,
)
from tracelens.report.followed import recorded
from tracelens.report.stories import Story
from tracelens.words import plain_names

__all__ = ["HEADINGS", "Rule"]

#: The headings of a rule's docstring, in order. ``tracelens explain`` prints them.
HEADINGS = (
    "Why it matters",
    "What it looks like",
    "When it is harmless",
    "What to do",
    "How a live run confirms it",
    "See also",
)


class Rule:
    """Base of every rule. The docstring is its documentation page."""

    code: ClassVar[str] = ""
    name: ClassVar[str] = ""
    #: Where the severity starts; a finding may carry another one.
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1"
    #: What the finding claims: something that is there, time spent, or something that is missing.
    claim: ClassVar[Literal["structure", "time", "absence"]] = "structure"
    #: The claims of other rules that a shown finding of this rule makes worthless.
    suppresses: ClassVar[Literal["time", "absence"] | None] = None
    #: How a live run tests a finding; None where it cannot, and then ``unconfirmable`` says why.
    experiment: ClassVar[Experiment | None] = None
    unconfirmable: ClassVar[str] = ""

    #: What the rule must see to say anything: optional tables, by parameter, any one of which has a
    #: row; with ``parameter.field``, a row whose field has one of these values. Without, the rule
    #: is not even imported; where nothing is written, any row of any table is reason to ask it.
    moved_by: ClassVar[Mapping[str, Collection[str]]] = {}

    #: What the rule can advise; :meth:`advise` gives those that apply.
    remedies: ClassVar[tuple[Remedy, ...]] = ()
    #: The model of ``Finding.data``, for programs that read findings.
    Data: ClassVar[type[FindingData]] = FindingData

    @classmethod
    def data_of(cls, finding: Finding) -> FindingData:
        """Return the typed data of a finding of this rule, also of one that was saved.

        Raises:
            pydantic.ValidationError: It was written by another version of the rule.
        """
        return cls.Data.model_validate(finding.data)

    def advise(self, data: FindingData) -> tuple[Advice, ...]:
        """Return the advice that applies to a finding with this data, the best first."""
        return recorded(self.code, applicable(self.remedies, data))

    def experiments(self, finding: Finding) -> tuple[Experiment, ...]:
        """Return the experiments that test this finding, the best first; they need not all work.

        Override it where the evidence decides what to change.
        """
        del finding
        return (self.experiment,) if self.experiment else ()

    def causes(self, finding: Finding) -> Iterable[Story]:
        """Return the stories (:mod:`tracelens.report.stories`) that ``finding`` is the cause of."""
        del finding
        return ()

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Return the stories that ``finding`` may be a symptom of, the nearest first.

        It is then ``explained_by`` the finding that causes one of them, and folded under it.
        """
        del finding
        return ()

    def check(self, *tables: Any, **optional: Any) -> Iterator[Finding]:
        """Yield what is wrong. Subclasses name the tables that they read."""
        raise NotImplementedError

    def finding(
        self,
        *identity: object,
        title: str,
        message: str,
        severity: Severity | None = None,
        confidence: Confidence = Confidence.HIGH,
        count: int = 1,
        where: Where | None = None,
        evidence: Iterable[EvidenceLine] = (),
        cost: Cost | None = None,
        advice: Iterable[Advice] = (),
        data: FindingData | None = None,
        explained_by: Finding | str | None = None,
        harmless: str | None = None,
    ) -> Finding:
        """Build a finding of this rule.

        ``identity`` is what the finding is about (primitive and shape, user function and cause): it
        makes the id, which stays the same in the next run, so it holds no line numbers or times.
        ``data`` is an instance of the rule's ``Data``; ``explained_by`` the finding, or its id,
        that this one follows from. ``harmless`` is the reason why there is nothing to do, in a
        few words: with it the severity is ``none``.
        """
        if harmless is not None:
            severity = Severity.NONE
        if where is not None and (package := user_code.package(where.file)):
            advice = from_outside(advice, self.remedies, package)
        advice, said = apart(map(_in_plain_names, advice), self.remedies)
        return Finding(
            id=fingerprint(self.code, *identity),
            code=self.code,
            name=self.name,
            severity=self.severity if severity is None else severity,
            harmless=harmless,
            confidence=confidence,
            title=plain_names(title),
            message=plain_names(f"{message} {said}".rstrip() if said else message),
            count=count,
            where=where,
            evidence=tuple(evidence),
            cost=cost,
            advice=advice,
            data={} if data is None else data.model_dump(mode="json"),
            explained_by=explained_by.id if isinstance(explained_by, Finding) else explained_by,
        )

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]

    @classmethod
    def sections(cls) -> dict[str, str]:
        """The docstring's sections by heading."""
        parts = re.split(r"^## (.+)$", inspect.cleandoc(cls.__doc__ or ""), flags=re.MULTILINE)
        return {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _in_plain_names(advice: Advice) -> Advice:
    text = plain_names(advice.text)
    return advice if text == advice.text else advice.model_copy(update={"text": text})
