"""What every format does to a report before it draws it."""

from __future__ import annotations

import json
import re

from tracelens.render import Options, Renderer
from tracelens.render._strings import clean, map_strings
from tracelens.report import Report

__all__ = ["prepare", "rooted"]


def prepare(
    report: Report, options: Options, format_: type[Renderer]
) -> tuple[Report, Report, int]:
    """Return the report to store, the one to draw, and how many names were replaced in both.

    The report goes through its own JSON, so that one in memory and one from disk draw alike. The
    one to draw holds no control characters.
    """
    wanted = format_.redacts if options.redact is None else options.redact
    report = rooted(report, options.root)
    if wanted:
        from tracelens.render._redact import redact  # noqa: PLC0415 -- costly, seldom needed

        words = options.redact_words
        stored, replaced = redact(report, words, wanted, tables=format_.draws_tables)
    else:
        stored, replaced = _reloaded(report), 0
    text = stored.to_json()
    if _is_clean(text):
        return stored, stored, replaced
    drawn = Report.model_validate(map_strings(json.loads(text), clean))
    return stored, drawn, replaced


def _is_clean(text: str) -> bool:
    """Whether no string in the JSON can hold what :func:`clean` takes out: that is escaped.

    Escapes of a newline, a quotation mark or a backslash are none of it.
    """
    rest = text.replace("\\\\", "")
    return rest.count("\\") == rest.count("\\n") + rest.count('\\"')


def rooted(report: Report, root: str) -> Report:
    """Return the report with the paths below ``root`` relative to it, wherever they are named."""
    root = root.rstrip("/\\")
    if not root:
        return report
    # Not within a longer path, so that /srv/app does not cut /data/srv/app/model.py.
    below = re.compile(rf"(?<![\w.~/\\-]){re.escape(root)}[/\\]+(?=[^/\\\s])")
    data = map_strings(json.loads(report.to_json()), lambda text: below.sub("", text))
    return Report.model_validate(data)


def _reloaded(report: Report) -> Report:
    return Report.model_validate_json(report.to_json())
