"""Run a program of yours with torch settings changed, without touching it.

::

    python -m tracelens.live.bootstrap --set torch._inductor.config.freezing=True -- script.py 8
    python -m tracelens.live.bootstrap --compile mode=max-autotune -- -m package.module
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tracelens.experiment import Knob, Value
from tracelens.live import injection

__all__ = ["command", "main"]

_WORDS: dict[str, Value] = {"True": True, "False": False, "None": None}


def command(argv: Sequence[str], base: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment that ``argv`` asks for."""
    options = _parser().parse_args(argv)
    knob = Knob(
        "by hand",
        config=dict(map(_pair, options.set)),
        compile=dict(map(_pair, options.compile)),
        env=dict(map(_text, options.env)),
    )
    folder = Path(options.steps).absolute() if options.steps else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return [sys.executable, *options.program], injection.environment(knob, folder, base=base)


def main(argv: Sequence[str] | None = None) -> None:
    """Become the program."""
    words, env = command(sys.argv[1:] if argv is None else argv, dict(os.environ))
    os.execve(words[0], words, env)  # noqa: S606 -- that is what it is for


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tracelens.live.bootstrap",
        description="Run a Python program with torch settings changed.",
    )
    for name, what in (
        ("--set", "attribute of a module of torch"),
        ("--compile", "argument of every torch.compile"),
        ("--env", "environment variable"),
    ):
        parser.add_argument(name, action="append", default=[], metavar="NAME=VALUE", help=what)
    parser.add_argument("--steps", metavar="DIR", help="where to write the times of steps")
    parser.add_argument("program", nargs="+", help="script.py or -m module, and its arguments")
    return parser


def _text(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return name, value


def _pair(pair: str) -> tuple[str, Value]:
    """Read ``name=value``, with the value as Python or JSON writes it, else as text."""
    name, value = _text(pair)
    if value in _WORDS:
        return name, _WORDS[value]
    try:
        read = json.loads(value)
    except json.JSONDecodeError:
        return name, value.strip("'\"")
    return name, read if isinstance(read, bool | int | float | str | None) else value


if __name__ == "__main__":
    main()
