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


#: What packs add, what each is listed by, and as what.
GROUPS = {"rules": "code", "logs": "name", "renderers": "name"}
KEPT = {"rules": "rules", "logs": "logs", "renderers": "formats"}


class ListFormat(StrEnum):
    """How to write a list."""

    TEXT = "text"
    JSON = "json"


@dataclass
class Pack:
    """One installed package that adds something."""

    distribution: str
    version: str = ""
    #: The versions of ours that it says it works with; empty where it does not say.
    api: str = ""
    rules: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: bool = False

    @property
    def state(self) -> str:
        """``works``, ``broken``, at least in a part, or ``refused``: for another version."""
        return "refused" if self.refused else "broken" if self.broken else "works"

    def listed(self) -> dict[str, object]:
        """Return it for programs."""
        told = {key: value for key, value in asdict(self).items() if key != "refused"}
        return told | {"state": self.state}


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
        emit(json.dumps([pack.listed() for pack in found], indent=2) + "\n")
    else:
        emit("".join(map(_told, found)) or "no packs are installed\n")
    raise typer.Exit(installed_broken())


def _installed() -> list[Pack]:
    from tracelens import context
    from tracelens.plugins import api, manifest, registry
    from tracelens.policies import policies

    current = manifest.current()
    out: dict[str, Pack] = {}

    def pack(distribution: str) -> Pack:
        if distribution not in out:
            out[distribution] = Pack(distribution, _version(distribution))
        return out[distribution]

    for group, named in GROUPS.items():
        for one in getattr(current, group):
            if one.distribution:
                getattr(pack(one.distribution), KEPT[group]).append(getattr(one, named))
    for name in policies() if context.current().packs else ():
        pack(name.partition(":")[0]).policies.append(name)
    for one in current.broken:
        pack(one.distribution).broken.append(one.what)
    for distribution, said in registry.versions().items() if context.current().packs else ():
        held = pack(distribution)
        held.api, held.refused = said.api, bool(said.refused)
        if not said.api and not said.refused:
            held.notes.append(api.UNSAID)
    return [out[name] for name in sorted(out)]


def _version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return str(version(distribution) or "")  # a package may say none
    except (PackageNotFoundError, ValueError):
        return ""


def _told(pack: Pack) -> str:
    lines = [" ".join((pack.distribution, pack.version, pack.state)).replace("  ", " ")]
    lines += [f"  api       {pack.api}"] if pack.api else []
    added = {name: getattr(pack, name) for name in ("rules", "logs", "formats", "policies")}
    lines += [f"  {name:9} {', '.join(sorted(held))}" for name, held in added.items() if held]
    lines += [f"  note      {what}" for what in pack.notes]
    lines += [f"  {pack.state:9} {what}" for what in pack.broken]
    return "".join(f"{line}\n" for line in lines)
