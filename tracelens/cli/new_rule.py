"""``tracelens new-rule``: a rule of a pack, its logs and their snapshots."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

from tracelens.cli._app import app
from tracelens.cli._scaffold import Pack, ask, filled, snapshots, title, words, write
from tracelens.cli._terminal import emit
from tracelens.errors import UsageError

__all__ = ["new_rule"]

#: What says of a log kind how a record of it looks in a log.
_EXAMPLE = """
import json, sys
from tracelens.logs import Log, measured
from tracelens.plugins.registry import found
from tracelens.testing import GrammarCase
wanted, pack = sys.argv[1:]
kind, _, record = wanted.partition(".")
for log, owner in found("logs", Log).classes:
    if hasattr(log, "readers") or (log.name != kind if kind else owner != pack):
        continue
    for example in GrammarCase(log).examples():
        for one in () if example.silent else log.parse(measured(log, example.text)[0]):
            name = type(one).__name__
            if record in {"", name}:
                tag = next((f" [{a}]" for a in sorted(log.artifacts)), "")
                print(json.dumps([type(one).__module__, name, example.text, tag, log.prefixed]))
                sys.exit()
"""
#: How torch begins a line.
PREFIX = "V1120 16:11:49.911000 16372 torch/_dynamo/convert_frame.py:1] [0/0]"


@app.command()
def new_rule(
    code: Annotated[str, typer.Argument(help="Its code: TIL002.")],
    name: Annotated[str, typer.Argument(help="What it finds: small-tiles.")],
    reads: Annotated[
        str,
        typer.Option(
            help="The log kind and the record that it reads, as graph_breaks.GraphBreak; "
            "else the first one of the pack."
        ),
    ] = "",
    toml: Annotated[bool, typer.Option("--toml", help="Declare it in TOML, about lines.")] = False,
    within: Annotated[Path, typer.Option("--in", help="A folder of the pack.")] = Path(),
) -> None:
    """Begin a rule in the pack of this folder, with logs and snapshots that pass its test."""
    code = code.upper()
    if not re.fullmatch(r"[A-Z]{3}[0-9]{3}", code):
        raise UsageError(f"{code!r} is no code", hint="three letters and three digits, as TIL002")
    pack, stem = Pack.at(within), words(name)
    _check_free(pack, code, name.replace("_", "-"))
    folder = pack.folder("rules")
    values = {"code": code, "name": name.replace("_", "-"), "Class": title(name)}
    values["VARIABLE"] = f"{stem.upper()}_LOG"
    if toml:
        if reads:
            raise UsageError("--reads and --toml", hint="reads is a key of the TOML")
        logs = [f"{values['name']}: {number}\n" for number in (4096, 1023)]
        file, text = folder / f"{stem}.toml", filled("rule/rule.toml", values)
    else:
        example = _example(pack, reads)
        logs = [example["log"] * 2, example["log"]]
        values |= {key: example[key] for key in ("home", "Record", "excerpt")}
        file, text = folder / f"{stem}.py", filled("rule/rule.py", values)
    home = pack.root / "fixtures" / "rules" / f"{code}-{values['name']}"
    promised = dict(zip(("fires-seen", "quiet-small"), logs, strict=True))
    promised["absent-switched-off"] = ""
    fixtures = {home / f"{promise}.log": f"epoch 1\n{log}" for promise, log in promised.items()}
    write({file: text, **fixtures})
    try:
        write(snapshots(pack, list(fixtures)))
    except BaseException:
        for path in (file, *fixtures):
            path.unlink(missing_ok=True)
        home.rmdir()
        raise
    emit(f"{file}, with its logs in {home} and their snapshots; python -m pytest runs them\n")


def _check_free(pack: Pack, code: str, name: str) -> None:
    """Check that nobody has the code or the name.

    Raises:
        UsageError: Somebody has.
    """
    from tracelens.plugins import manifest

    for folder in sorted((pack.root / "fixtures" / "rules").glob(f"{code}-*")):
        raise UsageError(f"{code} is {folder.name.partition('-')[2]}", hint="choose another code")
    for rule in manifest.current().rules:
        if code == rule.code:
            raise UsageError(f"{code} is {rule.name}", hint="choose another code")
        if name == rule.name:
            raise UsageError(f"{name} is {rule.code}", hint="choose another name")


def _example(pack: Pack, reads: str) -> dict[str, str]:
    """Return a record as it is in a log, and where its type is.

    Raises:
        UsageError: No grammar shows one.
    """
    found: list[Any] = ask(pack, _EXAMPLE, reads, pack.name)
    if not found:
        wanted = reads or f"a log kind of {pack.name}"
        hint = "--reads KIND.Record, with an example in the header of the kind's grammar"
        raise UsageError(f"no grammar shows a record of {wanted}", hint=hint)
    module, record, text, tag, prefixed = found[0]
    head = f"{PREFIX}{tag} " if tag or prefixed else ""
    log = "".join(f"{head}{line}\n" for line in text.split("\n"))
    excerpt = indent(log.rstrip("\n"), 8 * " ")
    return {"home": module, "Record": record, "log": log, "excerpt": excerpt}
