"""What a wheel is built with: ``python -m tracelens.plugins.building FOLDER``.

Finding out what is installed imports every module, and Lark takes a while for each grammar. Both
are the same for all who install a wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from tracelens import context, grammars, lark_tables
from tracelens.automaton import keep, shipped_at
from tracelens.plugins import manifest

__all__ = ["build"]


def build(folder: Path) -> None:
    """Write down what is built in, and the tables of all grammars."""
    with context.using(context.Context(packs=False)):
        made = manifest.current()
    (folder / manifest.shipped_at().name).write_bytes(msgspec.json.encode(made))
    for log in made.logs:
        log.load()
        grammar = grammars.load(log.name, log.module)
        if (tables := grammar.tables) is not None:
            place = shipped_at(grammar.path, grammar.path.read_text(encoding="utf-8"))
            keep(folder / place.name, lark_tables.ordered(tables))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
