"""The comparison as data: what every other format is made from."""

from __future__ import annotations

from tracelens.render import Options
from tracelens.render.compare._prepare import stored
from tracelens.report.compare import Comparison

__all__ = ["render"]


def render(comparison: Comparison, options: Options) -> str:
    """Return the JSON, redacted only on request."""
    return (stored(comparison, options)[0] if options.redact else comparison).to_json()
