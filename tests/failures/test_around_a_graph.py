"""What AOTAutograd does around a compiled graph is no line of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

ERROR = (
    "RuntimeError: The size of tensor a (64) must match the size of tensor b (32) at "
    "non-singleton dimension 1"
)
CALL = """V1126 10:00:00.000000 7 torch/_dynamo/symbolic_convert.py:1] [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/train.py:13
Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 22, in <module>
    loss = train_step(x, y)
  File "/home/ana/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 1166, in compile_wrapper
    result = fn(*args, **kwargs)
  File "/home/ana/proj/train.py", line 13, in torch_dynamo_resume_in_train_step_at_13
    loss.backward()
  File "/home/ana/venv/lib/python3.11/site-packages/torch/_functorch/aot_autograd.py", line 1277, in forward
    return compiled_fn(full_args)
"""  # noqa: E501 -- lines of a log
AROUND = '  File "/home/ana/venv/lib/python3.11/site-packages/torch/_functorch/_aot_autograd/runtime_wrappers.py", line 1080, in <lambda>\n    apply()\n'  # noqa: E501
OWN = '  File "/home/ana/proj/layers.py", line 5, in added\n    return a + b\n'


@pytest.mark.parametrize(("last", "around"), [(AROUND, True), (OWN, False)])
def test_shapes_are_compared_where_the_program_combines_them(
    last: str, around: bool, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(f"{CALL}{last}{ERROR}\n")
    (found,) = [one for one in analyze(log).findings if one.code.startswith("ERR")]
    advice = " ".join(one.text for one in found.advice)
    assert ("around a compiled graph" in found.message) is around
    assert ("Print both shapes" in advice) is not around
