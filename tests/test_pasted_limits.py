# ruff: noqa: E501 -- what torch prints
"""The limit of recompiles and sizes that became constants, of which only some lines were pasted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_pasted_breaks import codes, told
from tracelens import Finding, Severity

HEAD = "W0618 14:26:16.647000 112591 venv/lib/python3.12/site-packages/torch/_dynamo/convert_frame.py:1358] [11/8] "
FUNCTION = "   function: 'forward' (/home/ana/proj/wan/model.py:59)\n"
REASON = "   last reason: 11/7: self._modules['k'].weight_function[0].key == 'blocks.6.self_attn.k.weight'  # patches = self.pre\n"
ADVICE = 'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n'


def test_the_limit_is_told_by_its_second_and_third_line(tmp_path: Path) -> None:
    (found,) = told(tmp_path, f"{HEAD}{FUNCTION}{HEAD}{REASON}")
    assert (found.code, found.severity) == ("RCP001", Severity.ERROR)
    assert "`forward` hit the limit of its entries" in found.title
    assert "0 entries" not in found.title + found.message
    assert "key" in found.message
    assert not [one for one in found.advice if one.setting and one.setting.endswith("= 0")]


@pytest.mark.parametrize("lines", [(FUNCTION,), (REASON,), (FUNCTION, REASON, ADVICE)])
def test_any_of_its_lines_is_enough(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert codes(tmp_path, "".join(f"{HEAD}{line}" for line in lines)) == ["RCP001"]


def test_a_reason_belongs_to_the_only_function_that_is_named(tmp_path: Path) -> None:
    size = "   last reason: 1/0: tensor 'L['images']' size mismatch at index 2. expected 1696, actual 1248\n"
    text = (
        f"[rank6]:{HEAD}{size}"
        f"[rank3]:{HEAD}torch._dynamo hit config.cache_size_limit (64)\n[rank3]:{HEAD}{FUNCTION}"
    )
    (found,) = told(tmp_path, text)
    assert found.code == "RCP001"
    assert "`forward` hit the limit of 64 entries" in found.title
    assert "`images` in dimension 2" in found.message
    assert any("last reason" in line.text for line in found.evidence)


SHAPES = "I1206 13:57:08.357000 1680414 torch/fx/experimental/symbolic_shapes.py:4404] [0/1] "
CREATED = "create_symbol s6 = 3 for L['n'] [-int_oo, int_oo] y = names[n]  # proj/model.py:14 in pick (_dynamo/variables/builder.py:1848 in wrap_symint)\n"
SINGLE = "set_replacement s6 = 3 (range_refined_to_singleton) VR[3, 3]\n"
EVALUATED = "eval Eq(s6, 3) [guard added] y = names[n]  # proj/model.py:14 in pick (_dynamo/utils.py:2585 in run_node)\n"


def test_a_constant_of_one_compilation_is_told_of_a_few_lines(tmp_path: Path) -> None:
    (found,) = told(tmp_path, "".join(SHAPES + one for one in (CREATED, SINGLE, EVALUATED)))
    assert (found.code, found.severity) == ("DYN004", Severity.INFO)
    assert found.where
    assert (found.where.file, found.where.line) == ("proj/model.py", 14)
    assert "If it changes" in found.message


def test_torch_2_2_gives_no_reason_for_it(tmp_path: Path) -> None:
    head = "[2024-03-02 18:11:48,713] [0/3] torch.fx.experimental.symbolic_shapes: [INFO] "
    lines = (
        "create_symbol s2 = 656 for L['x'].size()[0] [2, 9223]\n",
        "set_replacement s2 = 656\n",
    )
    (found,) = told(tmp_path, "".join(head + line for line in lines))
    assert (found.code, "dimension 0 of `x`" in found.title) == ("DYN004", True)


def test_a_symbol_for_a_symbol_is_no_constant(tmp_path: Path) -> None:
    found = codes(tmp_path, f"{SHAPES}{CREATED}{SHAPES}set_replacement s6 = s2 (solve) VR[2, 9]\n")
    assert found == ["LOG001"]


def test_beside_the_recompiles_one_constant_is_one_entry(tmp_path: Path) -> None:
    again = (
        "V1206 13:57:08.300000 1680414 torch/_dynamo/guards.py:4404] [0/1] [__recompiles] "
        "Recompiling function pick in /home/ana/proj/model.py:12\n"
        "V1206 13:57:08.300000 1680414 torch/_dynamo/guards.py:4404] [0/1] [__recompiles]     "
        "triggered by the following guard failure(s):\n"
        "V1206 13:57:08.300000 1680414 torch/_dynamo/guards.py:4404] [0/1] [__recompiles]     "
        "- 0/0: L['n'] == 2\n"
    )
    text = again + "".join(SHAPES + one for one in (CREATED, SINGLE, EVALUATED))
    assert "DYN004" not in codes(tmp_path, text)


def test_what_dynamo_notes_beside_a_size_does_not_hide_it(tmp_path: Path) -> None:
    note = "W1217 11:58:45.107000 63088 torch/_dynamo/guards.py:1853] [2/0] Untracked tensor used in export constraints\n"
    check = "runtime_assert Eq(s0, 4) [guard added] return x + y  # proj/model.py:11 in forward (_subclasses/fake_impls.py:845 in infer_size)\n"
    (found,) = told(tmp_path, f"{SHAPES}{check}{note}{note}")
    assert (found.code, "Eq(s0, 4)" in found.title) == ("LOG001", True)


LIMIT = "torch._dynamo hit config.recompile_limit ({})\n"


def limited(tmp_path: Path, limit: int, reason: str) -> Finding:
    (found,) = told(
        tmp_path,
        f"{HEAD}{LIMIT.format(limit)}{HEAD}{FUNCTION}{HEAD}   last reason: 11/0: {reason}\n",
    )
    assert found.code == "RCP001"
    return found


@pytest.mark.parametrize(
    ("reason", "per_object"),
    [
        ("self.name == 'layers.12.mlp.weight'", True),
        ("self.mode == 'train'", False),
        ("L['name'] == 'layers.12.mlp.weight'", False),
    ],
)
def test_a_name_that_each_object_has_takes_an_entry_per_object(
    reason: str, per_object: bool, tmp_path: Path
) -> None:
    found = limited(tmp_path, 64, reason)
    assert ("leave-method" in [one.id for one in found.advice]) is per_object
    assert ("other objects" in found.title) is per_object


@pytest.mark.parametrize(
    ("limit", "setting", "both"), [(8, "= 64", False), (32, "= 256", False), (64, "= 256", True)]
)
def test_no_limit_is_advised_that_the_accumulated_one_cuts(
    limit: int, setting: str, both: bool, tmp_path: Path
) -> None:
    found = limited(tmp_path, limit, "self.mode == 'train'")
    raised = next(one for one in found.advice if one.id == "raise-limit")
    assert (raised.setting or "").endswith(setting)
    assert ("accumulated_recompile_limit" in raised.text) is both


@pytest.mark.parametrize(
    ("reason", "few"),
    [("GLOBAL_STATE changed: allow_tf32 ", True), ("GLOBAL_STATE changed: num_threads ", False)],
)
def test_a_flag_of_two_values_fills_no_limit(reason: str, few: bool, tmp_path: Path) -> None:
    found = limited(tmp_path, 8, reason)
    ids = [one.id for one in found.advice]
    assert ids[0] == "one-state"
    assert ("TF32" in found.advice[0].text) is few
    assert bool(found.advice[0].code) is few
    assert ("record-recompiles" in ids) is few
    assert ("raise-limit" in ids) is not few
    assert ("too few values" in found.message) is few


OLD = "W0618 14:26:16.647000 112591 torch/_dynamo/convert_frame.py:844] [1/8] "
HIT = "torch._dynamo hit config.cache_size_limit (8)\n"
UPDATES = "   function: '_update_all_' (/home/ana/proj/optim/rules.py:94)\n"
TRAINS = "   function: 'training_step' (/home/ana/proj/train.py:94)\n"
SHAPE = "   last reason: 1/0: tensor 'L['{}']{}' size mismatch at index 0. expected 16, actual 64\n"
IPYTHON = """---------------------------------------------------------------------------
CacheLimitExceeded                        Traceback (most recent call last)
Cell In[7], line 3
      1 for epoch in range(3):
      2     shuffle(data)
----> 3     train(data)
"""
RAISED = """Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 40, in <module>
    optimizer.step()
  File "/home/ana/venv/lib/python3.12/site-packages/torch/_dynamo/eval_frame.py", line 465, in _fn
    return fn(*args, **kwargs)
torch._dynamo.exc.CacheLimitExceeded: cache_size_limit reached
"""
#: The same in torch's log, which goes on.
LOGGED = "".join(
    f"I0618 14:26:16.648000 112591 torch/_dynamo/convert_frame.py:1126] [1/8] {line}\n"
    for line in (
        "WON'T CONVERT training_step /home/ana/proj/train.py line 94",
        *RAISED.splitlines(),
    )
)


def _limited(function: str, name: str, item: str, behind: str, folder: Path) -> Finding:
    reason = SHAPE.format(name, item)
    text = "".join(OLD + line for line in (HIT, function, reason, ADVICE))
    return next(one for one in told(folder, text + behind) if one.code == "RCP001")


@pytest.mark.parametrize(
    ("behind", "ended"), [(IPYTHON, True), (RAISED, True), ("", False), (LOGGED, False)]
)
def test_an_exception_behind_the_limit_ended_the_program(
    behind: str, ended: bool, tmp_path: Path
) -> None:
    found = _limited(TRAINS, "x", "", behind, tmp_path)
    assert ("which ended the program" in found.title) is ended
    assert ("run eagerly" in found.title) is not ended


@pytest.mark.parametrize(
    ("function", "name", "item", "bounded"),
    [
        (UPDATES, "p", "[0]", True),
        (UPDATES, "grads", "[3]", True),
        (TRAINS, "batch", "[0]", False),
        (UPDATES, "batch", "[0]", False),
        (UPDATES, "p", "", False),
    ],
)
def test_shapes_of_parameters_are_as_many_as_the_model_has(
    function: str, name: str, item: str, bounded: bool, tmp_path: Path
) -> None:
    found = _limited(function, name, item, IPYTHON, tmp_path)
    ids = [one.id for one in found.advice]
    assert ("per-shape" in ids) is bounded
    assert ("record-dynamic" in ids) is not bounded
    assert not bounded or found.advice[0].setting == "torch._dynamo.config.cache_size_limit = 64"


FIRST = (
    "[2023-04-05 01:02:03,456] torch._dynamo.convert_frame: [WARNING] torch._dynamo hit config.cache_size_limit (64)\n"
    "   function: 'draw_text' (/home/ana/venv/lib/python3.9/site-packages/matplotlib/backends/text.py:31)\n"
    "   reasons:  d == 2.0\n"
)


@pytest.mark.parametrize(
    ("text", "name"),
    [(FIRST, "torch._dynamo"), (FIRST.replace("reasons: ", "last reason:"), "torch.compiler")],
)
def test_torch_2_0_leaves_out_by_another_name(text: str, name: str, tmp_path: Path) -> None:
    found = next(one for one in told(tmp_path, text) if one.code == "RCP001")
    left = next(one for one in found.advice if one.id == "leave-package")
    assert left.code == f"@{name}.disable"
    assert (left.since == "2.0") is (name == "torch._dynamo")
