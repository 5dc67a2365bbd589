"""Where settings come from: ``[tool.tracelens]`` of a project, and the policy that it extends.

A policy is a file of the same settings: in the project, or in a pack, under the entry-point group
``tracelens.policies``. It is data: no code of the pack is run to read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracelens.errors import UsageError, closest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BUDGETS", "extended", "policies", "table_of"]

#: What may have a budget: the setting, the counter, and the artifact that must have been watched.
BUDGETS = {
    "recompiles": ("recompiles", "recompiles"),
    "graph-breaks": ("graph_breaks", "graph_breaks"),
    "reference-share": ("reference_share", "onednn_verbose"),
    "compile-seconds": ("compile_s", "compile times"),
    "entries": ("entries", "guards"),
    "fallbacks": ("fallbacks", "output_code"),
    "kernels": ("kernels", "output_code"),
    "guards": ("guards", "guards"),
    "onednn-ms": ("onednn_ms", "onednn_verbose"),
    "idle-ms": ("idle_ms", "a trace"),
}
#: Policies that extend each other, at most.
DEPTH = 8


def table_of(file: Path) -> Mapping[str, Any] | None:
    """Return the table ``[tool.tracelens]`` of a file; None where it has none.

    Raises:
        UsageError: The file is no TOML, or this is no table.
    """
    table = _toml(file).get("tool", {}).get("tracelens")
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{file}: [tool.tracelens] is not a table")
    return table


def extended(table: Mapping[str, Any], file: Path, depth: int = DEPTH) -> Mapping[str, Any]:
    """Return the settings with those that they extend below them.

    Lists are joined, tables are merged, anything else is the nearer one.

    Raises:
        UsageError: What they extend is not there.
    """
    name = table.get("extends")
    if not isinstance(name, str) or not name:
        return table
    if not depth:
        raise UsageError(f"{file}: extends: more than {DEPTH} policies, one after the other")
    base = _place(name, file)
    below = extended(_toml(base), base, depth - 1)
    return {**below, **{key: _over(below.get(key), value) for key, value in table.items()}}


def policies() -> Mapping[str, EntryPoint]:
    """Return what packs offer, as ``pack:policy`` names it."""
    from importlib.metadata import entry_points  # noqa: PLC0415 -- costly, and rarely

    found = entry_points(group="tracelens.policies")
    return {f"{one.dist.name if one.dist else one.value}:{one.name}": one for one in found}


def _over(below: Any, value: Any) -> Any:
    if isinstance(below, list) and isinstance(value, list):
        return [*below, *value]
    if isinstance(below, dict) and isinstance(value, dict):
        return {**below, **value}
    return value


def _place(name: str, file: Path) -> Path:
    """Return the file of a policy: beside the project's, or in a pack."""
    if ":" not in name:
        path = file.parent / name
        if not path.is_file():
            raise UsageError(f"{file}: extends: {name}: no such file")
        return path
    offered = policies()
    if name not in offered:
        hint = closest(name, offered, f"one of {', '.join(sorted(offered)) or 'none'}")
        raise UsageError(f"{file}: extends: no installed pack has the policy {name!r}", hint=hint)
    entry = offered[name]
    relative = Path(*entry.value.split(".")).with_suffix(".toml")
    if entry.dist is not None and Path(str(entry.dist.locate_file(relative))).is_file():
        return Path(str(entry.dist.locate_file(relative)))
    return _in_checkout(relative, f"{file}: extends: {name}")


def _in_checkout(relative: Path, where: str) -> Path:
    """Return the file where a pack is installed from a checkout; its package is not imported."""
    from importlib.util import find_spec  # noqa: PLC0415 -- rarely

    spec = find_spec(relative.parts[0])
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, *relative.parts[1:])
        if path.is_file():
            return path
    raise UsageError(f"{where}: the pack has no {relative}")


def _toml(file: Path) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415 -- costly, and only for those who have such a file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error
