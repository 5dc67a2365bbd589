"""``tracelens issue``: everything that an issue about one finding needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from tracelens.cli import _loading
from tracelens.cli._app import app
from tracelens.cli._folder import made
from tracelens.cli._saving import save
from tracelens.cli._shared_redact import SharedRedactOption, shared
from tracelens.cli._terminal import emit
from tracelens.errors import UsageError, closest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracelens.render import Redact
    from tracelens.report import Finding, Report

__all__ = ["issue"]

FOLDER = "tracelens-issue"
#: What stands in a filled-in issue whose text is too long for an address.
SHORTER = "(paste issue.md here)"


@app.command()
def issue(
    report: Annotated[
        str,
        typer.Argument(metavar="REPORT", help="A saved report, a recording's directory, or a log."),
    ],
    finding: Annotated[
        str | None,
        typer.Argument(metavar="[FINDING]", help="The finding's id or code.  [default: the first]"),
    ] = None,
    *,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME",
            help="The project to tell, or its name: pytorch, onednn, transformers ...  "
            "[default: the library it is in]",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Where to write it.")
    ] = FOLDER,
    redact: SharedRedactOption = None,
) -> None:
    """Write an issue about one finding: title, text, environment, script, and what to search.

    It prints where a new issue can be opened, filled in, and opens nothing.
    """
    from tracelens.cli._environment import laid_over
    from tracelens.cli._gate import installed_broken
    from tracelens.config import load
    from tracelens.render import _issue
    from tracelens.render._redact import redact as without_names

    project = _issue.named(to) if to else ""
    if to and not project:
        known = _issue.projects()
        hint = closest(to, known, f"OWNER/NAME, or one of {', '.join(known)}")
        raise UsageError(f"--to {to}: not a project on GitHub", hint=hint)
    config = laid_over(load(Path.cwd()))
    loaded = _loading.read(report, config).report
    level = shared(redact, config.redact)
    drawn = without_names(loaded, config.redact_words, level)[0] if level else loaded
    chosen = _chosen(drawn, finding)
    script = _script(loaded, chosen.id, level, config.redact_words)
    made_of = _issue.Issue(
        repository=project or _issue.repository(chosen),
        title=_issue.title(chosen),
        body=_issue.body(drawn, chosen, script),
    )
    brief = _issue.body(drawn, chosen, "") + ("repro.py is to be attached.\n" if script else "")
    folder = made(output)
    save(folder / "issue.md", f"# {made_of.title}\n\n{made_of.body}")
    if script:
        save(folder / "repro.py", script)
    words = _issue.search(chosen)
    found = f"https://github.com/{made_of.repository}/issues?q={quote(' '.join(words[:4]))}"
    names = ", ".join(["issue.md", *(["repro.py"] if script else [])])
    lines = [
        f"title: {made_of.title}",
        f"written to {folder}: {names}",
        f"search first for: {' '.join(words)}",
        f"  {found}",
        *_stays(_issue.yours(chosen), redact=bool(level)),
        f"new issue for {made_of.repository}, filled in (nothing was sent or opened):",
        f"  {_issue.address(made_of, made_of.body, brief, SHORTER)}",
    ]
    emit("\n".join(lines) + "\n")
    raise typer.Exit(installed_broken())


def _stays(names: list[str], *, redact: bool) -> list[str]:
    """Return what of the user's own is in the text, to be looked at before it is published."""
    if not redact:
        return ["NOT redacted: names of users, hosts and directories are in it"]
    if not names:
        return ["no file of yours is named in it"]
    return ["of your own, this stays in it; look at it before you publish it:"] + [
        f"  {name}" for name in names
    ]


def _chosen(report: Report, wanted: str | None) -> Finding:
    """Return the finding that is asked for; the first when none is.

    Raises:
        UsageError: There is none.
    """
    if wanted is None:
        if not report.told:
            raise UsageError("the report has nothing to fix", hint="name a finding by its id")
        return report.told[0]
    from tracelens.live.repro import find

    return find(report, wanted)


def _script(report: Report, chosen: str, redact: Redact, words: Iterable[str]) -> str:
    """Return the script that shows a finding; empty where none can."""
    from tracelens.errors import TracelensError
    from tracelens.live.repro import find, script

    try:
        return script(report, find(report, chosen), redact=redact, words=words)
    except TracelensError:
        return ""
