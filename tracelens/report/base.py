"""What every part of a report is made of, and the cost of a finding."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

__all__ = ["Cost", "Model", "Rounded", "two_digits"]


def two_digits(value: float) -> float:
    """Round to two significant digits: a report must not show precision that it does not have."""
    if not value or not math.isfinite(value):
        return 0.0
    return round(value, 1 - math.floor(math.log10(abs(value))))


Rounded = Annotated[float, AfterValidator(two_digits)]


class Model(BaseModel):
    """Base of everything in the report: frozen, closed, compared by value."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Cost(Model):
    """What the defect costs, rounded to two significant digits.

    ``share`` is a fraction between 0 and 1 of whatever ``of`` says; ``ms`` is milliseconds over the
    whole input. On the basis ``confirmed``, both are what the change saves of one step, or of one
    run, as ``of`` says.
    """

    ms: Rounded | None = None
    share: Rounded | None = None
    basis: Literal["measured", "estimated", "upper_bound", "confirmed"]
    of: str | None = None
