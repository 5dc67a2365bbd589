"""A recompile that the program itself made an error is told as that, with the guard that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze
from tracelens.errors import SourceError

TREE = "/home/ana/src/torch/_dynamo"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/ana/proj/serve.py", line 31, in <module>\n    step(batch)\n'
    f'  File "{TREE}/eval_frame.py", line 304, in fail_callback\n    raise RuntimeError(message)\n'
)
STANCE = (
    "RuntimeError: Detected recompile when torch.compile stance is 'fail_on_recompile'. "
    "filename: '/home/ana/proj/serve.py', function name: 'step', line number: 12\n"
)
HEAD = "    triggered by the following guard failure(s):\n    - 0/0: "
SETTING = (
    "torch._dynamo.exc.RecompileError: Recompiling function step in /home/ana/proj/serve.py:12\n"
    f"{HEAD}"
)
SIZE = "tensor 'batch' size mismatch at index 0. expected 4, actual 6"
STRIDE = "tensor 'batch' stride mismatch at index 1. expected 1, actual 8"
TITLE = "a recompile was made an error"


def first(text: str, folder: Path) -> Finding:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def test_a_stance_says_no_more_than_that_and_how_to_see_the_guard(tmp_path: Path) -> None:
    found = first(STANCE, tmp_path)
    assert (found.code, found.title) == ("ERR000", TITLE)
    assert [one.id for one in found.advice] == ["recompile-which", "recompile-warm"]
    assert found.advice[0].env == 'TORCH_LOGS="recompiles"'


def test_the_guard_of_a_newer_torch_is_quoted(tmp_path: Path) -> None:
    found = first(f"{STANCE}{HEAD}{SIZE}\n", tmp_path)
    assert found.title == f"{TITLE}: {SIZE}"
    assert [one.id for one in found.advice] == ["recompile-size", "recompile-warm"]


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (SIZE, ["recompile-size", "recompile-allow"]),
        (STRIDE, ["recompile-stride", "recompile-allow"]),
        ("n == 3", ["recompile-allow"]),
    ],
)
def test_a_setting_has_the_guard_and_what_helps_of_it(
    reason: str, advice: list[str], tmp_path: Path
) -> None:
    found = first(f"{SETTING}{reason}  # y = x * n  # serve.py:14 in step\n", tmp_path)
    assert (found.code, found.title) == ("ERR000", f"{TITLE}: {reason}")
    assert [one.id for one in found.advice] == advice


def test_the_place_is_the_programs_and_never_torchs_own_file(tmp_path: Path) -> None:
    whole = first(TRACEBACK + STANCE, tmp_path)
    assert whole.where
    assert (whole.where.file, whole.where.line) == ("/home/ana/proj/serve.py", 31)
    assert first(TRACEBACK.partition("step(batch)\n")[2] + STANCE, tmp_path).where is None


def test_another_programs_error_of_that_name_is_not_torchs(tmp_path: Path) -> None:
    frame = 'Traceback (most recent call last):\n  File "/home/ana/proj/web.py", line 3, in f\n'
    with pytest.raises(SourceError):
        first(f"{frame}    reload()\nRecompileError: Recompiling template a.html\n", tmp_path)
