"""A candidate kernel that a search left out, posted without the search."""

from __future__ import annotations

from pathlib import Path

from tracelens import analyze

HEAD = "E1120 11:07:09.752000 13431 torch/_inductor/select_algorithm.py:2691] [0/0] "
LINES = (
    "Runtime error during autotuning: ",
    "C++ compile error",
    "",
    "Output:",
    "cduw.main.cpp:422:2: error: expected '}' at end of input",
)


def told(text: str, folder: Path) -> list[tuple[str, str]]:
    log = folder / "run.log"
    log.write_text(text)
    return [(one.code, one.message) for one in analyze(log).told]


def test_a_candidate_that_was_left_out_is_told_for_what_it_is(tmp_path: Path) -> None:
    ((code, message),) = told("".join(f"{HEAD}{line}\n" for line in LINES), tmp_path)
    assert code == "LOG001"
    assert "goes on with the others" in message


def test_an_error_that_ends_the_program_is_none(tmp_path: Path) -> None:
    text = "".join(f"{HEAD}{line}\n" for line in LINES)
    ended = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/train.py", line 9, in <module>\n    model(x)\n'
        "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n"
    )
    assert told(text + ended, tmp_path)[0][0].startswith("ERR")
