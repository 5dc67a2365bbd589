"""One run of a command: from the words of the command line to the exit code."""

from __future__ import annotations

import contextlib
import errno
import gc
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tracelens import context
from tracelens.cli._cache import parser_cache
from tracelens.cli._environment import (
    annotations_compiled_once,
    pack_seconds,
    without_plugins_of_pydantic,
)
from tracelens.cli._terminal import Terminal, flush, say, supports_color
from tracelens.errors import TracelensError

__all__ = ["execute"]

#: No room: that is nobody's bug.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: Other names of commands.
ALIASES = {"diff": "compare"}
#: Commands that start programs of the user's.
STARTS = {"run", "confirm", "repro"}
#: What a shell sets that asks how a line may go on.
COMPLETES = "_TRACELENS_COMPLETE"

#: Garbage is collected less often than Python does by itself: what a run makes, it keeps, and
#: looking through it again and again is a fifth of the time that a small log takes.
COLLECT = (1_000_000, 20, 100)


def execute(given: Sequence[str]) -> int:
    """Run one command and return the exit code of the process, as ``main`` says.

    Args:
        given: What stands behind the command's name.
    """
    gc.set_threshold(*COLLECT)
    everywhere, rest = _hoisted(given)
    if rest:
        rest[0] = ALIASES.get(rest[0], rest[0])
    with context.using(_context(everywhere, rest)):
        try:
            code = _run([*everywhere, *rest] if given else ["--help"])
        # The last line of defence: no traceback unless asked for, and nobody else ends the program.
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, SystemExit) and error.code:  # the reader of a pipe has gone away
                raise
            if "--debug" in everywhere:
                import traceback

                traceback.print_exc()
            code = _complain(error)
        _keep_patterns()
    if not flush() and rest[:1] != ["run"]:
        return code or 2
    return code if given else 2


def _run(argv: list[str]) -> int:
    with contextlib.ExitStack() as until:
        if not STARTS.intersection(argv):
            until.enter_context(without_plugins_of_pydantic())
            until.enter_context(annotations_compiled_once())
        if _is_plain(argv):
            from tracelens.cli._analyzing import analyze_as_asked

            try:
                return analyze_as_asked(Terminal.now(color=supports_color()), argv[1:])
            except KeyboardInterrupt:
                sys.stderr.write("\n")  # behind the ^C
                raise
        from tracelens.cli._app import command

        result = command(argv).main(args=argv, prog_name="tracelens", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _keep_patterns() -> None:
    """Keep the patterns that the run compiled, where it may keep anything."""
    if context.current().cache is not None:
        from tracelens import compiled

        compiled.keep()


def _is_plain(argv: Sequence[str]) -> bool:
    """Tell whether it is to analyze inputs without any option: that needs no typer."""
    asks = any(word.startswith("-") for word in argv) or os.environ.get(COMPLETES)
    return argv[:1] == ["analyze"] and len(argv) > 1 and not asks


def _context(everywhere: Sequence[str], rest: Sequence[str]) -> context.Context:
    """Return where to keep things, for a command that does something, and who takes part."""
    asks = not rest or {"-h", "--help"} & set(rest)
    return context.Context(
        cache=None if asks else parser_cache(),
        packs="--no-plugins" not in everywhere,
        pack_seconds=pack_seconds(),
    )


def _hoisted(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off the options that every command takes; they may stand anywhere before ``--``."""
    end = argv.index("--") if "--" in argv else len(argv)
    everywhere: list[str] = []
    rest: list[str] = []
    words = iter(argv[:end])
    for word in words:
        if word in {"--debug", "--no-plugins"} or word.startswith("--color="):
            everywhere.append(word)
        elif word == "--color":
            everywhere += [word, *itertools.islice(words, 1)]
        else:
            rest.append(word)
    return everywhere, [*rest, *argv[end:]]


def _complain(error: BaseException) -> int:
    """Say in one line on standard error what went wrong, and return the exit code."""
    import typer

    if isinstance(error, TracelensError):
        message, hint, code = str(error), error.hint, error.exit_code
    elif isinstance(error, typer.Abort | KeyboardInterrupt):
        message, hint, code = "interrupted", "", 130
    elif isinstance(error, OSError) and error.errno in FULL:
        where = error.filename or "standard output"
        message, hint, code = f"{where}: cannot be written: {error.strerror}", "", 2
    elif callable(misuse := getattr(error, "format_message", None)):
        context = getattr(error, "ctx", None)
        message, code = misuse(), 2
        hint = f"{context.command_path if context else 'tracelens'} --help"
    else:
        import traceback

        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        message, code = f"internal error: {type(error).__name__}: {error} ({where})", 3
        hint = "--debug shows the traceback"
    say(message, hint=hint)
    return code
