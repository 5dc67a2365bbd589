"""A package that another one lacks is advised to be installed, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

TRACEBACK = """Traceback (most recent call last):
  File "/home/ana/proj/app.py", line 7, in <module>
    model = torch.compile(load("tiny"))
  File "/home/ana/.venv/lib/python3.11/site-packages/transformers/loading.py", line 31, in load
    raise {error}
{error}
"""


def advice(tmp_path: Path, error: str) -> list[str]:
    """Return the advice for an error that a package raises before anything is compiled."""
    log = tmp_path / "run.log"
    log.write_text(TRACEBACK.format(error=error))
    (finding,) = [one for one in analyze(log).findings if one.code == "ERR000"]
    return [one.text for one in finding.advice]


@pytest.mark.parametrize(
    ("error", "package"),
    [
        ("ModuleNotFoundError: No module named 'natten'", "natten"),
        ("ImportError: DinatModel requires the natten library but it was not found in", "natten"),
        (
            "ImportError: Using 8 bits needs Accelerate: `pip install -U accelerate`",
            "accelerate",
        ),
        ("ImportError: This tokenizer needs the `sentencepiece` package.", "sentencepiece"),
    ],
)
def test_what_is_missing_is_installed(tmp_path: Path, error: str, package: str) -> None:
    (text,) = advice(tmp_path, error)
    assert text.startswith(f"Install what provides `{package}`")


@pytest.mark.parametrize(
    "error",
    [
        "ImportError: cannot import name 'load' from 'nets' (/home/ana/nets/__init__.py)",
        "ValueError: this model requires the natten library",
    ],
)
def test_nothing_is_installed_for_another_error(tmp_path: Path, error: str) -> None:
    assert not any("Install what" in text for text in advice(tmp_path, error))
