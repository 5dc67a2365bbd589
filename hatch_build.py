"""What a wheel holds beside the sources: what is installed, and the tables of all grammars.

Without it every user's first run would find it out, which takes longer than that run. It is made by
the package itself, in a process that sees the entry points of ``pyproject.toml``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: What making it takes; a build without them gives a wheel whose users make it.
NEEDED = ("isal", "jinja2", "lark", "msgspec", "pydantic")


class Built(BuildHookInterface):
    """Adds the folder ``built`` to the package in a wheel; an editable install goes without."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make it, in a folder of its own."""
        self.scratch = ""
        if version == "editable" or any(importlib.util.find_spec(one) is None for one in NEEDED):
            return
        self.scratch = tempfile.mkdtemp()
        built, installed = Path(self.scratch, "built"), Path(self.scratch, "installed")
        built.mkdir()
        self._pretend(installed)
        subprocess.run(  # noqa: S603 -- our own module
            [sys.executable, "-m", "tracelens.plugins.building", str(built)],
            cwd=self.root,
            env={
                **os.environ,
                # pip's isolated builds are told by PYTHONPATH alone what there is to import.
                "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)]),
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            check=True,
        )
        build_data["force_include"][str(built)] = "tracelens/built"

    def _pretend(self, folder: Path) -> None:
        """Write what is installed with the package, by which it finds what is in it."""
        about = folder / f"torch_tracelens-{self.metadata.version}.dist-info"
        about.mkdir(parents=True)
        name, version = self.metadata.core.raw_name, self.metadata.version
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        lines: list[str] = []
        for group, entries in self.metadata.core.entry_points.items():
            lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()), ""]
        (about / "entry_points.txt").write_text("\n".join(lines))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take the folder away again."""
        del version, build_data, artifact_path
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)
