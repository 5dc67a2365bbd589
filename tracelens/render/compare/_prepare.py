"""What every format does to a comparison before it draws it."""

from __future__ import annotations

import json

from tracelens.render import Options
from tracelens.render._own import without_own
from tracelens.render._redact import without_names
from tracelens.render._strings import clean, map_strings
from tracelens.report.compare import Comparison

__all__ = ["prepare", "stored"]


def prepare(comparison: Comparison, options: Options) -> tuple[Comparison, int]:
    """Return the comparison to draw, without control characters, and how many names it lost."""
    found, replaced = (comparison, 0) if options.redact is False else stored(comparison, options)
    data = map_strings(json.loads(found.to_json()), clean)
    return Comparison.model_validate(data), replaced


def stored(comparison: Comparison, options: Options) -> tuple[Comparison, int]:
    """Return the comparison without names and secrets."""
    data, replaced = without_names(json.loads(comparison.to_json()), options.redact_words)
    if isinstance(options.redact, str):
        data, more = without_own(data, options.redact)
        replaced += more
    return Comparison.model_validate(data), replaced
