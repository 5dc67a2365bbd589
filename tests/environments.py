"""An environment to install packs in: this one's packages, and more that nobody else sees."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

STDLIB = Path(sysconfig.get_paths()["stdlib"])


class Environment:
    """A virtual environment in a folder."""

    def __init__(self, folder: Path) -> None:
        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
        self.python = folder / "bin" / "python"
        (site,) = folder.glob("lib/python*/site-packages")
        root = str(Path(__file__).parents[1])
        places = [
            place
            for place in (root, *sys.path)
            if place and Path(place).is_dir() and not _is_stdlib(Path(place))
        ]
        (site / "below.pth").write_text("".join(f"{place}\n" for place in dict.fromkeys(places)))

    def run(self, *words: str, cwd: Path, code: int = 0) -> str:
        """Run Python, and return all that it prints."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PYTHON"))}
        done = subprocess.run(
            [str(self.python), *words],
            cwd=cwd,
            env=kept | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def install(self, *words: str, cwd: Path) -> None:
        """Install with pip and nothing from elsewhere, where hatchling is at hand."""
        alone = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
        pip = ("-m", "pip", "install", "--no-deps", "-q", "--disable-pip-version-check")
        self.run(*pip, *alone, *words, cwd=cwd)


def _is_stdlib(place: Path) -> bool:
    return place == STDLIB or (place.parent == STDLIB and place.name == "lib-dynload")
