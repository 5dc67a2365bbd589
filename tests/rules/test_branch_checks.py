"""A branch that only checks a value is no branch to compute both sides of."""

import pytest

from tracelens.rules.gbr._branches import asserted, computes, eager_only, is_check
from tracelens.rules.gbr._site_rule import BreakData

NAN = "torch.isnan(x).any()"


def line(code: str) -> BreakData:
    return BreakData(family="branch", file="/home/ana/proj/model.py", line=3, code=code)


@pytest.mark.parametrize(
    ("code", "in_graph", "in_eager"),
    [
        (
            f"if {NAN}:",
            f'torch._assert_async(~{NAN}, "~{NAN}")',
            f"if not torch.compiler.is_compiling() and {NAN}:",
        ),
        (
            "if not torch.isfinite(x).all():",
            'torch._assert_async(torch.isfinite(x).all(), "torch.isfinite(x).all()")',
            "if not torch.compiler.is_compiling() and (not torch.isfinite(x).all()):",
        ),
        (
            'if x.sum() < 0: raise ValueError("a")',
            'torch._assert_async(~(x.sum() < 0), "~(x.sum() < 0)")',
            "if not torch.compiler.is_compiling() and x.sum() < 0:",
        ),
        # Python's own `or`, and a chain, are no operators of tensors
        (
            "if x.min() < 0 or x.max() > 1:",
            None,
            "if not torch.compiler.is_compiling() and (x.min() < 0 or x.max() > 1):",
        ),
        ("if 0 < x.max() < 1:", None, "if not torch.compiler.is_compiling() and 0 < x.max() < 1:"),
        (
            'assert x.min() > 0, f"{x}"',
            'torch._assert_async(x.min() > 0, "x.min() > 0")',
            "assert torch.compiler.is_compiling() or x.min() > 0",
        ),
        ("elif x.any():", None, None),
        ("y = x if x.any() else 0", None, None),
        ("if x.any(", None, None),
    ],
)
def test_a_check(code: str, in_graph: str | None, in_eager: str | None) -> None:
    said = eager_only(line(code))
    assert asserted(line(code)) == in_graph
    assert (said or "").replace("(", "").replace(")", "") == (in_eager or "").replace(
        "(", ""
    ).replace(")", "")
    if said is not None:
        compile(said + (" pass" if said.endswith(":") else ""), "said", "exec")


@pytest.mark.parametrize(
    ("code", "check", "select"),
    [
        (f"if {NAN}:", True, True),
        ("if x.sum() > 0:", False, True),
        ("if not flag:", False, True),
        ("if x.sum() > 0: return x + 1", False, True),
        ("if x.sum() > 0: return x, 1", False, False),
        ("if x.sum() > 0: return", False, False),
        ("if x.sum() > 0: raise ValueError", True, False),
        ("if x.any(): x = x + 1", False, True),
        ("if x.mean() > 100: break", False, False),
        ("if x.sum() > 0 and y.sum() > 0:", False, False),
        ("while x.sum() > 0:", False, False),
    ],
)
def test_what_can_be_computed_on_both_sides(code: str, check: bool, select: bool) -> None:
    assert is_check(line(code)) is check
    assert computes(line(code)) is select
