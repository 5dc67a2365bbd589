"""What sets a variable apart from a setting of the compiler's, which holds in one thread."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.render import _words
from tracelens.report import Advice


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("torch._inductor.config.freezing = True", ", for all threads"),
        ('torch.set_float32_matmul_precision("high")', ""),
        (None, ""),
    ],
)
def test_a_setting_of_the_compiler_is_not_for_all_threads(setting: str | None, told: str) -> None:
    advice = Advice(id="a", text="Freeze.", setting=setting, env="TORCHINDUCTOR_FREEZING=1")
    assert _words.for_all_threads(advice) == told


def test_another_thread_has_the_default() -> None:
    """As torch does it: the reason for the words."""
    config = pytest.importorskip("torch._inductor.config")
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(config.freezing))
    with config.patch(freezing=True):
        thread.start()
        thread.join(timeout=60)
    assert found == [False]


HIT = """\
W1128 13:00:00.000000 7 torch/_dynamo/convert_frame.py:1994] [0/8] torch._dynamo hit config.{name} ({limit})
W1128 13:00:00.000000 7 torch/_dynamo/convert_frame.py:1994] [0/8]    function: 'forward' (/home/ana/proj/net.py:14)
W1128 13:00:00.000000 7 torch/_dynamo/convert_frame.py:1994] [0/8]    last reason: 0/7: tensor 'x' rank mismatch. expected 2, actual 3
"""  # noqa: E501 -- whole lines of a log


@pytest.mark.parametrize(
    ("name", "limit", "is_said"),
    [
        ("recompile_limit", 8, True),  # the default: perhaps it was set elsewhere
        ("recompile_limit", 16, False),
        ("cache_size_limit", 8, False),  # of an older torch
    ],
)
def test_a_limit_may_have_been_set_in_another_thread(
    name: str, limit: int, is_said: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    path.write_text(HIT.format(name=name, limit=limit), encoding="utf-8")
    (found,) = [one for one in analyze(str(path)).findings if one.code == "RCP001"]
    (raised,) = [one for one in found.advice if one.id == "raise-limit"]
    assert ("in the thread that makes it" in raised.text) is is_said
