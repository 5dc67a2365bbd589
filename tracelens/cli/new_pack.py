"""``tracelens new-pack``: a package of rules that passes its own tests."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._scaffold import Pack, filled, snapshots, title, words, write
from tracelens.cli._terminal import emit
from tracelens.errors import UsageError

__all__ = ["new_pack"]


@app.command()
def new_pack(
    name: Annotated[str, typer.Argument(help="What the package is called: tile-watch.")],
    code: Annotated[
        str,
        typer.Option(help="The three letters that its codes begin with; else those of its name."),
    ] = "",
    into: Annotated[Path, typer.Option("--in", help="The folder to make it in.")] = Path(),
) -> None:
    """Begin a pack: a log kind, a rule in Python and one in TOML, tests, a policy, a workflow."""
    from tracelens.plugins.api import API

    package = words(name)
    found = find_spec(package)
    if found is not None and found.origin is not None:
        raise UsageError(
            f"there is a package {package} here already: the pack would hide it, or be hidden",
            hint=f"tracelens new-pack {name}-watch",
        )
    prefix = code.upper() or package.replace("_", "")[:3].upper()
    if len(prefix) != 3 or not (prefix.isascii() and prefix.isalpha()):
        raise UsageError(f"{prefix!r}: codes begin with three letters", hint="--code ABC")
    _check_free(prefix)
    values = {
        "name": name,
        "title": name.replace("-", " ").replace("_", " "),
        "package": package,
        "kind": package,
        "Kind": title(package),
        "Record": f"{title(package)}Step",
        "VARIABLE": f"{package.upper()}_LOG",
        "CODE": prefix,
        "API": str(API[0]),
        "NEXT": str(API[0] + 1),
        "module": f"{package}/logs/{package}.py",
    }
    root = into / name
    write({root / path: filled(template, values) for path, template in _files(package).items()})
    logs = {root / "fixtures" / "rules" / path: text for path, text in _logs(values).items()}
    write(logs)
    write(snapshots(Pack.at(root), [path.resolve() for path in logs]))
    emit(f"{root}: {prefix}001 and {prefix}101, with their tests. Next:\n")
    emit(f"  cd {root} && python -m pip install -e '.[test]' && python -m pytest\n")


def _check_free(prefix: str) -> None:
    from tracelens.plugins import manifest

    taken = {rule.code[:3]: rule.distribution or "tracelens" for rule in manifest.current().rules}
    if prefix in taken:
        raise UsageError(f"codes of {taken[prefix]} begin with {prefix}", hint="--code ABC")


def _files(package: str) -> dict[str, str]:
    """Return what is made of which template."""
    return {
        "pyproject.toml": "pack/pyproject.toml",
        "README.md": "pack/README.md",
        ".gitignore": "pack/gitignore",
        ".github/workflows/ci.yml": "pack/ci.yml",
        f"{package}/__init__.py": "pack/init.py",
        f"{package}/tracelens.toml": "pack/tracelens.toml",
        f"{package}/logs/__init__.py": "pack/logs_init.py",
        f"{package}/logs/{package}.py": "log/log.py",
        f"{package}/logs/{package}.lark": "log/log.lark",
        f"{package}/rules/__init__.py": "pack/rules_init.py",
        f"{package}/rules/slow_steps.py": "pack/slow_steps.py",
        f"{package}/rules/worker_restarts.toml": "pack/worker_restarts.toml",
        f"{package}/policies/strict.toml": "pack/strict.toml",
        "tests/test_pack.py": "pack/test_pack.py",
    }


def _logs(values: dict[str, str]) -> dict[str, str]:
    """Return the logs that the two rules are tested with."""
    kind, code = values["kind"], values["CODE"]
    slow, again = f"{code}001-slow-steps", f"{code}101-worker-restarts"
    fast = f"epoch 1\n{kind}: step 1 took 9.5 ms\n{kind}: step 2 took 100.0 ms\n"
    return {
        f"{slow}/fires-slow.log": f"{fast}{kind}: step 3 took 250.0 ms\n",
        f"{slow}/quiet-fast.log": fast,
        f"{slow}/absent-switched-off.log": "epoch 1\n",
        f"{again}/fires-restarted.log": f"{fast}{kind}: restarted worker 3\n",
        f"{again}/quiet-steady.log": fast,
        f"{again}/absent-switched-off.log": "epoch 1\n",
    }
