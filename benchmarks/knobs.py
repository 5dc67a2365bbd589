"""Write down which torch has which setting, for the advice that names it.

    python benchmarks/knobs.py FOLDER       FOLDER/2.6.0/torch/_inductor/config.py ...

FOLDER holds the Python files of one wheel per minor release, under its version. Every setting and
every variable of torch that a rule names is looked for there, and the first and the last release
that has it go to tests/advice/knobs.json.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.advice.knobs import TABLE, named_in_rules  # noqa: E402

OWNERS = {
    "_inductor": "_inductor/config.py",
    "_dynamo": "_dynamo/config.py",
    "_functorch": "_functorch/config.py",
}
#: Folders whose files name what users set.
ROOMS = ("_inductor", "_dynamo", "_functorch", "_logging", "_utils", "compiler", "distributed")
ROOMS += ("backends", "utils", "fx", "nn/attention", "__init__", "library", "autograd", "export")


def main(folder: Path) -> int:
    """Look for each knob in each release."""
    releases = sorted((path for path in folder.iterdir() if path.is_dir()), key=_version)
    words = {release.name: _words(release / "torch") for release in releases}
    found = {}
    for knob in sorted(named_in_rules()):
        having = [release.name for release in releases if _has(knob, release, words)]
        if having:
            last = None if having[-1] == releases[-1].name else _minor(having[-1])
            found[knob] = [_minor(having[0]), last]
        else:
            print(f"{knob}: in no release")
    table = {"releases": [_minor(release.name) for release in releases], "knobs": found}
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


def _has(knob: str, release: Path, words: dict[str, set[str]]) -> bool:
    _, _, rest = knob.partition("torch.")
    owner, _, name = rest.partition(".config.")
    if not name:
        return knob.rpartition(".")[2] in words[release.name]
    text = (release / "torch" / OWNERS[owner]).read_text(encoding="utf-8")
    return re.search(rf"^\s*{name.rpartition('.')[2]}\b", text, re.MULTILINE) is not None


def _words(torch: Path) -> set[str]:
    top = torch.resolve()
    paths = [p for p in top.rglob("*.py") if p.relative_to(top).as_posix().startswith(ROOMS)]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _version(path: Path) -> list[int]:
    return [int(part) for part in path.name.split(".")]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
