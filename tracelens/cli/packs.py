"""``tracelens packs``: what is installed beside tracelens, what it adds, and whether it works."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._terminal import emit

__all__ = ["packs"]


class ListFormat(StrEnum):
    """How to write a list."""

    TEXT = "text"
    JSON = "json"


@dataclass
class Pack:
    """One installed package that adds something."""

    distribution: str
    version: str = ""
    rules: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        """``works``, or ``broken``, at least in a part."""
        return "broken" if self.broken else "works"


@app.command()
def packs(
    fmt: Annotated[
        ListFormat, typer.Option("--format", "-f", help="How to write the list.")
    ] = ListFormat.TEXT,
) -> None:
    """List the installed packs: version, what each adds, and whether it works."""
    from tracelens.cli._gate import installed_broken

    found = _installed()
    if fmt is ListFormat.JSON:
        emit(json.dumps([asdict(p) | {"state": p.state} for p in found], indent=2) + "\n")
    else:
        emit("".join(map(_told, found)) or "no packs are installed\n")
    raise typer.Exit(installed_broken())


def _installed() -> list[Pack]:
    from tracelens import context
    from tracelens.plugins import manifest
    from tracelens.policies import policies

    current = manifest.current()
    out: dict[str, Pack] = {}

    def pack(distribution: str) -> Pack:
        if distribution not in out:
            out[distribution] = Pack(distribution, _version(distribution))
        return out[distribution]

    for rule in current.rules:
        if rule.distribution:
            pack(rule.distribution).rules.append(rule.code)
    for log in current.logs:
        if log.distribution:
            pack(log.distribution).logs.append(log.name)
    for renderer in current.renderers:
        if renderer.distribution:
            pack(renderer.distribution).formats.append(renderer.name)
    for name in policies() if context.current().packs else ():
        pack(name.partition(":")[0]).policies.append(name)
    for one in current.broken:
        pack(one.distribution).broken.append(one.what)
    return [out[name] for name in sorted(out)]


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return str(version(distribution) or "")  # a package may say none
    except (PackageNotFoundError, ValueError):
        return ""


def _told(pack: Pack) -> str:
    lines = [" ".join((pack.distribution, pack.version, pack.state)).replace("  ", " ")]
    added = {name: getattr(pack, name) for name in ("rules", "logs", "formats", "policies")}
    lines += [f"  {name:9} {', '.join(sorted(held))}" for name, held in added.items() if held]
    lines += [f"  broken    {what}" for what in pack.broken]
    return "".join(f"{line}\n" for line in lines)
