"""New packs, rules and log kinds: files that pass their own tests as they are written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracelens.errors import TracelensError, UsageError

__all__ = ["Pack", "ask", "filled", "snapshots", "title", "words", "write"]

TEMPLATES = Path(__file__).parent / "_templates"
_PLACE = re.compile(r"@([A-Za-z]+)@")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
#: What asks the rules in a process where the pack is found, installed or not.
_ASK = """
import json, sys
from pathlib import Path
from tracelens.testing import RuleCase, told, _kept
for log in sys.argv[1:]:
    case = RuleCase(Path(log), None)
    report = case.report()
    print(json.dumps([log, _kept(report), told(report, case.rule)]))
"""


def words(name: str) -> str:
    """Return a name as a module has it.

    Raises:
        UsageError: It can be no module's.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} can be no name", hint="lower case, like tile-watch")
    return name.replace("-", "_")


def title(name: str) -> str:
    """Return a name as a class has it."""
    return name.replace("-", "_").title().replace("_", "")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with values in the places of their names."""
    text = (TEMPLATES / f"{template}.tmpl").read_text(encoding="utf-8")
    return _PLACE.sub(lambda match: values[match[1]], text)


def write(files: Mapping[Path, str]) -> None:
    """Write new files.

    Raises:
        UsageError: One is there already; then none is written.
    """
    if there := [path for path in files if path.exists()]:
        raise UsageError(f"{there[0]} is there already", hint="choose another name")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Pack:
    """A pack's checkout."""

    root: Path
    project: Mapping[str, Any]

    @classmethod
    def at(cls, folder: Path) -> Pack:
        """Return the pack whose checkout ``folder`` is in.

        Raises:
            UsageError: It is in none.
        """
        import tomllib

        for root in (folder.resolve(), *folder.resolve().parents):
            file = root / "pyproject.toml"
            if not file.is_file():
                continue
            try:
                project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
            except (OSError, ValueError) as error:
                raise UsageError(f"{file}: {error}") from error
            groups = project.get("entry-points", {})
            if any(group.startswith("tracelens.") for group in groups):
                return cls(root, project)
        raise UsageError(f"{folder} is in no pack", hint="tracelens new-pack NAME begins one")

    @property
    def name(self) -> str:
        """The distribution."""
        return str(self.project.get("name", ""))

    @property
    def groups(self) -> Mapping[str, Mapping[str, str]]:
        """The entry points."""
        found: Mapping[str, Mapping[str, str]] = self.project["entry-points"]
        return found

    def folder(self, group: str) -> Path:
        """Return the folder that an entry point under ``tracelens.<group>`` names.

        Raises:
            UsageError: There is none.
        """
        for value in self.groups.get(f"tracelens.{group}", {}).values():
            for base in (self.root, self.root / "src"):
                if (found := base.joinpath(*value.split("."))).is_dir():
                    return found
        raise UsageError(
            f"{self.root / 'pyproject.toml'}: no folder is named under tracelens.{group}",
            hint=f'add [project.entry-points."tracelens.{group}"]',
        )

    def module(self, path: Path) -> str:
        """Return what a file of the pack is imported as."""
        base = self.root / "src" if path.is_relative_to(self.root / "src") else self.root
        return ".".join(path.relative_to(base).with_suffix("").parts)

    def test(self) -> tuple[Path, str]:
        """Return the file and the name of the test that takes ``rule_case``."""
        for path in sorted((self.root / "tests").glob("test_*.py")):
            if match := re.search(r"def (test_\w+)\([^)]*\brule_case\b", path.read_text("utf-8")):
                return path, match[1]
        raise UsageError(f"{self.root / 'tests'}: no test asks for rule_case", hint="see docs")


def ask(pack: Pack, code: str, *words: str) -> list[Any]:
    """Return what a program prints where the pack is found, line by line as JSON.

    Raises:
        TracelensError: It failed.
    """
    with tempfile.TemporaryDirectory() as site:
        info = Path(site, f"{re.sub(r'[-_.]+', '_', pack.name)}-0.dist-info")
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {pack.name}\nVersion: 0\n")
        lines = [
            line
            for group, entries in pack.groups.items()
            if isinstance(entries, dict)
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        places = [site, str(pack.root), str(pack.root / "src"), *filter(None, sys.path)]
        done = subprocess.run(  # noqa: S603 -- Python itself, and a program of ours
            [sys.executable, "-c", code, *words],
            cwd=pack.root,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    if done.returncode:
        raise TracelensError(
            f"{pack.name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}",
            hint="tracelens packs says what of the pack is broken",
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def snapshots(pack: Pack, logs: Sequence[Path]) -> dict[Path, str]:
    """Return the snapshots of what rules say about logs, as the pack's test compares them.

    Raises:
        TracelensError: A rule does not do what the name of the log promises.
    """
    path, name = pack.test()
    folder = path.parent / "__snapshots__" / path.stem
    out = {}
    for log, kept, text in ask(pack, _ASK, *map(str, logs)):
        if kept != Path(log).name.partition("-")[0]:
            raise TracelensError(
                f"{Path(log).name}: the rule is {kept}",
                hint="tracelens packs says whether a log kind of the pack is broken",
            )
        code = Path(log).parent.name.partition("-")[0]
        stem = Path(log).name.removesuffix(".log").replace(".", "_")
        out[folder / f"{name}[{code}-{stem}].txt"] = text
    return out
