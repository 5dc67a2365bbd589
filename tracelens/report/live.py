"""What running a program again said about a finding: both halves, and the verdict."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, cast, get_args

from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tracelens.report.base import Cost, Model

__all__ = ["Confirmation", "Deviation", "Effect", "Structure", "Tried", "Unclear"]


class Structure(Model):
    """The structural half of a confirmation: what the logs of both runs show."""

    predicted: Literal["gone", "fewer", "stays"]
    before: int = Field(description="count of the finding in the unchanged run")
    after: int = Field(description="count of the finding in the changed run")
    holds: bool
    note: str = ""


class Effect(Model):
    """The temporal half: how much faster the changed run is, with its uncertainty.

    ``ratio`` is the time of the unchanged run divided by that of the changed one: above 1 means
    that the change helps. Milliseconds are medians per iteration.
    """

    ratio: float
    low: float = Field(description="lower end of the 99 % bootstrap interval of the ratio")
    high: float
    threshold: float = Field(description="what the ratio must exceed, from the A/A spread")
    aa_ratio: float = Field(description="unchanged against unchanged, which ought to be 1")
    before_ms: float
    after_ms: float
    iterations: int = Field(description="per side, after warm-up")
    blocks: int
    of: Literal["step", "run"] = "step"
    holds: bool
    note: str = ""


class Deviation(Model):
    """How far the results of a changed run are from eager, beside those of the unchanged run."""

    max_abs: float
    max_rel: float
    unchanged_max_abs: float | None = None


#: Why a live run gave no clear answer.
Unclear = Literal["", "no_effect", "unfinished", "not_applicable", "raises", "same_form_only"]

_UNCLEAR = get_args(Unclear)


class Tried(Model):
    """What one advice did to the user's own program."""

    advice: str = Field(description="its id within the rule")
    outcome: Literal["gone", "fewer", "still_there", "raises", "no_effect", "not_applicable"]
    ratio: float | None = Field(default=None, description="time before / after; above 1 helps")
    interval: tuple[float, float] | None = None
    error: str = ""
    note: str = ""

    @property
    def is_mixed(self) -> bool:
        """Whether it did what it should and brought something else along."""
        return self.outcome in {"gone", "fewer"} and bool(self.note)


class Confirmation(Model):
    """What re-executing the workload said about a finding."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")

    state: Literal["not_tried", "confirmed", "confirmed_structure", "refuted", "inconclusive"] = (
        "not_tried"
    )
    reason: Unclear = Field(default="", description="with ``inconclusive``: why")
    note: str = Field(default="", description="the verdict in words")
    pending: bool = Field(
        default=False, description="the time was up before the rest could be measured: go on"
    )
    workload: str | None = Field(default=None, description="what was run, as one would type it")
    knob: str | None = Field(default=None, description="the one thing that was changed")
    settings: dict[str, str] = Field(default_factory=dict)
    structure: Structure | None = None
    effect: Effect | None = None
    deviation: Deviation | None = None
    tried: tuple[Tried, ...] = ()
    estimate: Cost | None = Field(
        default=None, description="the cost as the log has it, where a measured one replaced it"
    )
    environment: dict[str, str] = Field(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Be shared: it is the default of every finding, and nothing changes it."""
        del memo
        return self

    @model_validator(mode="before")
    @classmethod
    def _worded(cls, given: Any) -> Any:
        """Take what earlier reports hold: their reason was the verdict in words."""
        if not isinstance(given, dict) or given.get("reason", "") in _UNCLEAR:
            return given
        return {**given, "reason": "", "note": given.get("note") or given["reason"]}

    @property
    def harmless(self) -> bool:
        """Whether what is there was measured to cost nothing."""
        half = self.effect
        if half is None or half.holds or half.note or self.state != "confirmed_structure":
            return False
        return half.ratio * half.threshold >= 1

    @model_serializer(mode="wrap")
    def _said(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what there is nothing to say about: most findings are never tried."""
        if self.model_fields_set <= {"state"}:
            return {"state": self.state}
        given = plain(self).items()
        return {k: v for k, v in given if v is not None and v not in ("", {}, (), [], False)}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the fields, though some may be left out."""
        fields = {key: value for key, value in core_schema.items() if key != "serialization"}
        return handler(cast("CoreSchema", fields))
