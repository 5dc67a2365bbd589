"""``tracelens new-log``: a log kind of a pack, and its grammar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._scaffold import Pack, filled, title, words, write
from tracelens.cli._terminal import emit

__all__ = ["new_log"]


@app.command()
def new_log(
    name: Annotated[str, typer.Argument(help="What the log kind is called: tile_layout.")],
    within: Annotated[Path, typer.Option("--in", help="A folder of the pack.")] = Path(),
) -> None:
    """Begin a log kind in the pack of this folder: its module, and its grammar with an example."""
    kind = words(name)
    pack = Pack.at(within)
    folder = pack.folder("logs")
    module = folder / f"{kind}.py"
    values = {
        "kind": kind,
        "Kind": title(kind),
        "Record": f"{title(kind)}Step",
        "VARIABLE": f"{kind.upper()}_LOG",
        "module": module.relative_to(pack.root).as_posix(),
    }
    write(
        {
            module: filled("log/log.py", values),
            module.with_suffix(".lark"): filled("log/log.lark", values),
        }
    )
    emit(f"{module} and its grammar; a test that asks for grammar_case reads the examples\n")
