"""A buffer that compiled code saves for its backward pass, written behind a graph break."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze
from tracelens.report import Finding

LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/ERR000-unexplained-error/fires-queue-behind-a-break-2.13.log"
)


def failure(path: Path) -> Finding:
    return next(one for one in analyze(str(path)).findings if one.code == "ERR000")


def test_the_buffer_and_the_line_are_named() -> None:
    found = failure(LOG)
    assert found.title.startswith("`self.queue` is changed at contrast/train.py:15, before")
    assert ids(found) == ["write-after-backward"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FloatTensor [4, 16]", "FloatTensor [4, 17]"),  # another tensor
        ("torch_dynamo_resume_in_put", "put"),  # in one graph, copies are made first
        ("self.queue[:, at : at + 4] = keys.T", "keys = self.queue[:, at : at + 4]"),  # it reads
        ("_compiled_backward", "backward"),  # an eager graph keeps the copy
    ],
)
def test_else_it_is_what_the_message_says(tmp_path: Path, old: str, new: str) -> None:
    text = LOG.read_text()
    assert old in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(old, new).replace("CompiledFunction", "Function"))
    found = failure(log)
    assert found.title.startswith("a tensor that backward needs was changed in place")
    assert ids(found)[0] == "known-message"
