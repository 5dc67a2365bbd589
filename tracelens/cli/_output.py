"""Where reports go: which formats to which files, decided before anything is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracelens.cli._folder import Form, is_folder, made, of_folder
from tracelens.cli._saving import check_names, check_place, save
from tracelens.cli._terminal import Terminal, emit, say, width
from tracelens.errors import PluginError, SourceError, UsageError, blame, closest

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.render import Options
    from tracelens.report import Report

__all__ = ["Plan", "installed_formats", "shown"]

STDOUT = "-"
#: Formats that one reads where one stands.
READ_THERE = frozenset({"concise", "text"})
#: Bytes of a step's summary that GitHub takes, and bytes that are not worth a beginning.
MAX_SUMMARY, MIN_SUMMARY = 1_000_000, 2_000


@dataclass(frozen=True)
class Plan:
    """What to write where: (file or ``-``, renderer) in order."""

    targets: tuple[tuple[str, Form], ...]
    #: What writes the result that is for standard output.
    show: Callable[[str], None] = emit

    @classmethod
    def of(
        cls,
        files: Sequence[str],
        name: str | None,
        *,
        quiet: bool,
        inputs: Sequence[str] = (),
        formats: Iterable[Form] = (),
        quietly: str = "",
    ) -> Plan:
        """Decide what to write, and check that it can be written.

        Args:
            files: The values of ``-o``.
            name: The value of ``-f``.
            quiet: Whether standard output stays empty when neither asks for it.
            inputs: Files that must not be overwritten.
            formats: What can be written; the formats of a report when empty.
            quietly: The format of standard output where it would stay empty for want of ``-o``.

        Raises:
            UsageError: A format or a suffix that no renderer has, or a file that is an input.
        """
        if quiet and name is None and not files:
            return cls(((STDOUT, installed_formats()[quietly]),) if quietly else ())
        check_names(files)
        renderers = {form.name: form for form in formats} or installed_formats()
        chosen = _by_name(name, renderers) if name is not None else renderers["text"]
        folders = [file for file in files if file != STDOUT and is_folder(file)]
        wanted = chosen if name is not None else None
        targets = [one for file in folders for one in of_folder(file, wanted, renderers)]
        for file in files:
            if file != STDOUT and file not in folders:
                targets.append((file, _by_suffix(file, renderers)))
                check_place(file, inputs)
        if (name is not None and not folders) or STDOUT in files:
            targets.append((STDOUT, chosen))
        elif not quiet and name is None:
            targets.append((STDOUT, renderers["text"]))
        return cls(tuple(targets))

    def opening(self, forms: Iterable[Form] = ()) -> tuple[Plan, Path]:
        """Return the plan with a page among what it writes, and where that page is."""
        for file, form in self.targets:
            if file != STDOUT and form.name == "html":
                return self, Path(file)
        import tempfile

        held = {form.name: form for form in forms} or installed_formats()
        page = Path(tempfile.mkdtemp(prefix="tracelens-")) / "report.html"
        return replace(self, targets=((str(page), held["html"]), *self.targets)), page

    def write(
        self,
        report: Any,
        terminal: Terminal,
        config: Config,
        *,
        verbose: bool,
        root: str = "",
        split: bool = False,
    ) -> None:
        """Render the report once per target, files first, hiding and cutting what is configured.

        In a step of GitHub Actions, the format ``github`` adds the Markdown report to the summary.

        Raises:
            SourceError: A file cannot be written.
            PluginError: A format of a pack failed; the others are written.
        """
        from tracelens.render import Options

        asked = Options(
            max_chars=config.max_chars,
            redact=config.redact,
            redact_words=config.redact_words,
            verbose=verbose,
            root=str(Path(root).resolve()) if root else "",
            page=page_of,
        )
        broken: list[PluginError] = []
        for file, renderer in self.targets:
            options = _for_terminal(asked, terminal) if file == STDOUT else asked
            if file == STDOUT and renderer.name in READ_THERE and not options.root:
                options = replace(options, root=_here(report))
            if file != STDOUT and is_folder(file):
                for part, text in renderer.load().files(report, options).items():
                    save(made(file) / part, text)
                continue
            if split and file != STDOUT and renderer.name == "markdown":
                _save_pages(Path(file), report, options)
                continue
            try:
                text = _rendered(renderer, report, options)
            except PluginError as error:
                broken.append(error)
                continue
            if file == STDOUT:
                self.show(text)
            else:
                save(made(str(Path(file).parent)) / Path(file).name, text)
            if renderer.name == "github" and not renderer.distribution:
                add_summary(report, asked)
        if broken:
            raise broken[0]


def _here(report: Any) -> str:
    """Return the folder that one stands in, where a finding is about a file below it; else ""."""
    from tracelens.report import Report

    if not isinstance(report, Report):  # a comparison holds no places
        return ""
    try:
        here = str(Path.cwd())
    except OSError:  # it was removed meanwhile
        return ""
    below = here.rstrip("/\\") + os.sep
    files = (one.where.file for one in report.findings if one.where is not None)
    return here if any(file.startswith(below) for file in files) else ""


def _save_pages(path: Path, report: Report, options: Options) -> None:
    """Write ``report.md``, ``report-2.md`` and so on, each of which fits into a comment."""
    from tracelens.render.markdown import split

    for number, text in enumerate(split(report, options), 1):
        name = path.name if number == 1 else f"{path.stem}-{number}{path.suffix}"
        save(made(str(path.parent)) / name, text)


def add_summary(report: Report, options: Options) -> None:
    """Add the Markdown report to the summary of a step of GitHub Actions, which has a limit.

    Raises:
        SourceError: It cannot be written.
    """
    from tracelens.render.markdown import Markdown

    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    path = Path(file)
    try:
        room = MAX_SUMMARY - (path.stat().st_size if path.exists() else 0)
        # A character may take four bytes, and a page this long is read by nobody.
        text = Markdown.render(report, replace(options, max_chars=min(room // 4, 120_000)))
        if room > MIN_SUMMARY:
            with path.open("ab") as summary:
                summary.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise SourceError(f"{file}: cannot be written: {error.strerror}") from error


def page_of(code: str) -> str | None:
    """Return the page of an installed rule, in Markdown."""
    import inspect

    from tracelens.plugins import manifest

    rules = {rule.code: rule for rule in manifest.current().rules}
    if code not in rules:
        return None
    return inspect.cleandoc(rules[code].load().__doc__ or "").replace("``", "`")


def _rendered(renderer: Form, report: Any, options: Options) -> str:
    """Render the report; whatever a format of a pack raises is that pack's fault.

    Raises:
        PluginError: It is a pack's, and failed.
    """
    if not renderer.distribution:
        return str(renderer.load().render(report, options))
    from tracelens.plugins.untouched import careful
    from tracelens.render._prepare import rooted
    from tracelens.render._redact import redact

    try:
        # What a pack draws need not think of names: it does not get to see them.
        report, root = rooted(report, options.root), ""
        if options.redact is not False:
            report = redact(report, options.redact_words, options.redact)[0]
        form = renderer.load()
        with careful(renderer.distribution, form.__module__.partition(".")[0]):
            text = form.render(report, replace(options, root=root))
        if not isinstance(text, str):
            raise TypeError(f"render gives {type(text).__name__!r}, not text")
        return text
    except BaseException as error:
        message = f"{renderer.distribution}: format {renderer.name}: {blame(error)}"
        raise PluginError(message, hint="fix or uninstall the package") from error


def _for_terminal(options: Options, terminal: Terminal) -> Options:
    options = replace(options, color=terminal.color, width=width())
    if not terminal.links:
        return options
    from tracelens.cli._links import target

    return replace(options, link=target)


def installed_formats() -> dict[str, Form]:
    from tracelens.plugins import manifest

    return {renderer.name: renderer for renderer in manifest.current().renderers}


def _by_name(name: str, renderers: Mapping[str, Form]) -> Form:
    """Return the format of this name; its suffix is a name, too: ``md``."""
    suffixes = {suffix[1:]: form for form in renderers.values() for suffix in form.suffixes}
    found = renderers.get(name) or suffixes.get(name)
    if found is None:
        known = f"one of {', '.join(sorted(renderers))}"
        hint = closest(name, renderers, known)
        raise UsageError(f"no format {name!r}", hint=hint)
    return found


def _by_suffix(file: str, renderers: Mapping[str, Form]) -> Form:
    suffixes = {suffix: cls for cls in renderers.values() for suffix in cls.suffixes}
    name = Path(file).name
    # The longest, so that a report.github.sarif is not taken for a report.sarif.
    fitting = [suffix for suffix in sorted(suffixes, key=len) if name.endswith(suffix)]
    if not fitting:
        suffix = Path(file).suffix
        hint = f"the suffix names the format: {' '.join(sorted(suffixes))}"
        raise UsageError(f"{file}: no format has the suffix {suffix!r}", hint=hint)
    return suffixes[fitting[-1]]


def shown(page: Path) -> None:
    """Show a page in the user's browser, and say where it is."""
    import webbrowser

    opened = webbrowser.open(page.resolve().as_uri())
    say(f"opened {page}" if opened else f"there is no browser here; the page is {page}")
