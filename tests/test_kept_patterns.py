"""Compiled patterns are kept between runs: the same ones, without words of the user's."""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tracelens.cli._patterns import MAX_KEPT, kept_patterns

FIXTURES = Path(__file__).parents[1] / "fixtures"
GUARDS = FIXTURES / "rules" / "GRD001-guard-latency-high" / "quiet-2.6.log"

#: Of each sort: bytes, flags within and without, names, groups, sets, look-around, nothing.
WRITTEN: list[tuple[str | bytes, int]] = [
    (r"(?P<year>\d{4})-(?P<month>\d\d)(?(month)x|y)", 0),
    (rb"[^\w\x80-\xff]++(a|b)*?", re.DOTALL),
    (r"(?i:strasse|straße)|[à-ý]", re.IGNORECASE),
    (r"(?xm) ^ \s* (?<!a) b (?=c)  # words", re.ASCII),
    (r"(?:[\u2028\U0001f600-\U0001f64f]|.)\Z", 0),
    ("", 0),
]


def module(written: list[tuple[str | bytes, int]]) -> list[re.Pattern[Any]]:
    """Return the patterns of a module in which they stand."""
    re.purge()
    made = ModuleType("made")
    code = f"import re\nFOUND = [re.compile(text, flags) for text, flags in {written!r}]"
    exec(code, vars(made))  # noqa: S102 -- of this file
    found: list[re.Pattern[Any]] = made.FOUND
    return found


def kept_in(data: bytes) -> dict[Any, Any]:
    kept = marshal.loads(data)  # noqa: S302 -- written by the test
    assert isinstance(kept, dict)
    return kept


def compiles(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list to which each pattern that Python compiles is added."""
    compiler: Any = re._compiler  # type: ignore[attr-defined]
    plainly, made = compiler.compile, []

    def compiled(pattern: Any, flags: int = 0) -> Any:
        made.append(pattern)
        return plainly(pattern, flags)

    monkeypatch.setattr(compiler, "compile", compiled)
    return made


def test_what_is_kept_is_the_same_and_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = module(WRITTEN)
    with kept_patterns(tmp_path):
        assert module(WRITTEN) == plain
    compiled = compiles(monkeypatch)
    with kept_patterns(tmp_path):
        again = module(WRITTEN)
    assert compiled == []
    for one, other in zip(again, plain, strict=True):
        assert one == other
        assert (one.groupindex, one.groups, one.flags) == (
            other.groupindex,
            other.groups,
            other.flags,
        )
    date, tail = again[0], "2026-11x"
    assert date.fullmatch(tail).groupdict() == {"year": "2026", "month": "11"}  # type: ignore[union-attr]


def test_afterwards_python_compiles_as_before(tmp_path: Path) -> None:
    before = re._compiler.compile  # type: ignore[attr-defined]
    with contextlib.suppress(KeyError), kept_patterns(tmp_path):
        assert re._compiler.compile is not before  # type: ignore[attr-defined]
        raise KeyError
    assert re._compiler.compile is before  # type: ignore[attr-defined]
    with kept_patterns(None):
        assert re._compiler.compile is before  # type: ignore[attr-defined]


def test_a_pattern_of_a_function_may_hold_words_of_the_user_and_is_not_kept(
    tmp_path: Path,
) -> None:
    re.purge()
    with kept_patterns(tmp_path):
        re.compile(rf"/home/{'ana' * 2}/")
        module([("of a module", 0)])
    (file,) = tmp_path.iterdir()
    assert b"of a module" in file.read_bytes()
    assert b"anaana" not in file.read_bytes()


@pytest.mark.parametrize(
    "broken", [b"", b"\0\1\2", b"{}", marshal.dumps([1]), marshal.dumps({("a", 0): 3})]
)
def test_a_broken_file_is_no_loss(tmp_path: Path, broken: bytes) -> None:
    with kept_patterns(tmp_path):
        module(WRITTEN)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(broken)
    with kept_patterns(tmp_path):
        assert module(WRITTEN) == module(WRITTEN)
    assert kept_in(file.read_bytes()).keys() >= kept_in(whole).keys()


def test_numbers_that_python_refuses_are_compiled_anew(tmp_path: Path) -> None:
    with kept_patterns(tmp_path):
        module([("a+b", 0)])
    (file,) = tmp_path.iterdir()
    kept = kept_in(file.read_bytes())
    flags, numbers, *rest = kept["a+b", 0]
    file.write_bytes(marshal.dumps({("a+b", 0): (flags, numbers[:-4], *rest)}))
    with kept_patterns(tmp_path):
        (pattern,) = module([("a+b", 0)])
    assert pattern.fullmatch("aab")


def test_they_are_not_kept_without_end(tmp_path: Path) -> None:
    with kept_patterns(tmp_path):
        module([(f"a{number}", 0) for number in range(MAX_KEPT)])
    (file,) = tmp_path.iterdir()
    assert len(kept_in(file.read_bytes())) == MAX_KEPT
    with kept_patterns(tmp_path):
        module([("b", 0)])
    assert kept_in(file.read_bytes()).keys() == {("b", 0)}


RUN = """
import re, sys
plainly, made = re._compiler.compile, []
def compiled(pattern, flags=0):
    made.append(pattern)
    return plainly(pattern, flags)
re._compiler.compile = compiled
from tracelens.cli import main
main(["analyze", sys.argv[1]])
print(len(made), file=sys.stderr)
"""


def test_a_second_run_compiles_few_patterns(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    counts = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(GUARDS)],
            env=os.environ | {"TRACELENS_CACHE": str(cache)},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        counts.append(int(done.stderr.split()[-1]))
    assert counts[0] > 300
    assert counts[1] < 50, counts
