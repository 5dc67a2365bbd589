"""What a line that branches on a tensor says: its condition, and whether it is only a check."""

from __future__ import annotations

import ast
import re

from tracelens.dynamo import empties
from tracelens.rules.gbr._site_rule import BreakData, own
from tracelens.rules.gbr._values import is_symbol

__all__ = [
    "asks_empty",
    "asserted",
    "branches",
    "computes",
    "condition",
    "eager_only",
    "is_check",
    "leaves_early",
    "may_check",
    "may_divide",
    "raises",
    "selected",
]

#: What only a check of values calls.
_CHECKS = frozenset({"isfinite", "isinf", "isnan"})
#: What draws numbers: ``torch.rand``, ``torch.randn_like``, ``x.uniform_``, ``torch.bernoulli``.
_DRAWS = re.compile(r"rand|bernoulli|multinomial|normal_?$|uniform|exponential_|poisson")
#: What both a check and a branch that computes call.
_MAYBE = _CHECKS | {"all", "allclose", "any", "equal", "max", "min"}


def branches(data: BreakData, word: str) -> bool:
    """Whether the line is of the user's own and begins with ``word``, and its condition is read."""
    return own(data) and _word(data) == word and _tested(data) is not None


def _tested(data: BreakData) -> ast.expr | None:
    """Return the condition of an ``if``, ``while`` or ``assert``; None where there is none."""
    statement = _statement(data)
    if isinstance(statement, ast.Assert | ast.If | ast.While):
        return statement.test
    return None


def asks_empty(data: BreakData) -> bool:
    """Whether an ``if`` asks if a tensor has elements, and is no check that raises."""
    if not branches(data, "if") or not is_symbol(data) or is_check(data):
        return False
    return empties.asks_empty(data.code)


def is_check(data: BreakData) -> bool:
    """Whether the branch looks like a check that raises: by its body, else by its condition."""
    return _checks(data, _CHECKS)


def raises(data: BreakData) -> bool:
    """Whether the line itself has a `raise`."""
    return isinstance(getattr(_statement(data), "body", [None])[0], ast.Raise)


def may_check(data: BreakData) -> bool:
    """Whether the branch may be a check that raises, or one that computes: nothing tells which."""
    return _checks(data, _MAYBE) and not is_check(data) and not data.leaves


def _checks(data: BreakData, words: frozenset[str]) -> bool:
    statement = _statement(data)
    if not isinstance(statement, ast.If):
        return False
    if not isinstance(statement.body[0], ast.Pass):  # the body stands in the line
        return isinstance(statement.body[0], ast.Raise)
    called = (node.func for node in ast.walk(statement.test) if isinstance(node, ast.Call))
    names = {getattr(func, "attr", getattr(func, "id", "")) for func in called}
    return bool(names & words)


def computes(data: BreakData) -> bool:
    """Whether it is an ``if`` that operators of tensors may stand for: no ``raise``, no ``break``.

    What asks for NaN may raise, and may put something else in its place: ``torch.clamp``.
    """
    if not branches(data, "if") or condition(data) is None or data.leaves or is_symbol(data):
        return False
    statement = _statement(data)
    return not isinstance(
        getattr(statement, "body", [None])[0],
        ast.Break | ast.Continue | ast.Raise,
    ) and not _returns_several(data)


def leaves_early(data: BreakData) -> bool:
    """Whether the branch returns: from a module, or what cannot be selected."""
    body = getattr(_statement(data), "body", [None])[0]
    is_return = branches(data, "if") and isinstance(body, ast.Return)
    return is_return and (data.function == "forward" or _returns_several(data))


def _returns_several(data: BreakData) -> bool:
    """Whether the line returns nothing, a constant or several values."""
    body = getattr(_statement(data), "body", [None])[0]
    return isinstance(body, ast.Return) and (
        body.value is None or isinstance(body.value, ast.Constant | ast.Tuple | ast.List | ast.Dict)
    )


def condition(data: BreakData) -> str | None:
    """Return the condition as operators of tensors; None where Python itself combines several."""
    test = _tested(data)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _of_tensors(ast.UnaryOp(ast.Invert(), test.operand))
    return _of_tensors(test)


def selected(data: BreakData) -> str:
    """Return how to select, with what a side may divide by where the condition asks for 0."""
    chosen = f"torch.where({condition(data)}, if_true, if_false)"
    safe = _safe(data)
    return f"safe = {safe}  # in place of what may be 0\n{chosen}" if safe else chosen


def may_divide(data: BreakData) -> bool:
    """Whether the branch may keep a side from dividing by 0, and gradients may be computed.

    The gradient of the side that is not taken is 0 times infinity there: NaN.
    """
    test = _tested(data)
    inner = test.operand if isinstance(test, ast.UnaryOp) else test
    called = inner.func if isinstance(inner, ast.Call) else None
    asks = isinstance(called, ast.Attribute) and called.attr == "any"
    return bool(_safe(data)) or (asks and not data.inference)


def _safe(data: BreakData) -> str:
    """Return what never is 0, of a condition that compares something with about 0; else nothing."""
    test = _tested(data)
    if data.inference or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return ""
    bound, asked = test.comparators[0], ast.unparse(test.left)
    if not isinstance(bound, ast.Constant) or not isinstance(bound.value, int | float):
        return ""
    if not 0 <= bound.value < 1 or isinstance(test.left, ast.Constant) or _draws(test.left):
        return ""
    if isinstance(test.ops[0], ast.Eq | ast.Lt | ast.LtE):
        return f"torch.where({ast.unparse(test)}, 1, {asked})"
    return f"torch.where({ast.unparse(test)}, {asked}, 1)"


def _draws(asked: ast.expr) -> bool:
    """Whether it is drawn where it stands: nothing divides by that, a copy is another number."""
    called = (node.func for node in ast.walk(asked) if isinstance(node, ast.Call))
    names = [getattr(func, "attr", getattr(func, "id", "")) for func in called]
    return any(_DRAWS.match(name) for name in names)


def asserted(data: BreakData) -> str | None:
    """Return the same check as an operator of the graph; None where it is not one condition.

    It needs a message: Inductor drops the operator without one. A number is no tensor.
    """
    test = _tested(data)
    if is_symbol(data):
        return None
    if isinstance(_statement(data), ast.If) and test is not None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        else:
            test = ast.UnaryOp(ast.Invert(), test)
    holds = _of_tensors(test)
    if holds is None:
        return None
    said = holds.replace("\\", "").replace('"', "'")
    return f'torch._assert_async({holds}, "{said}")'


def eager_only(data: BreakData) -> str | None:
    """Return the line with its check left to eager runs."""
    test = _tested(data)
    if test is None:
        return None
    if isinstance(_statement(data), ast.Assert):
        return f"assert torch.compiler.is_compiling() or {_within(test, ast.Or)}"
    return f"if not torch.compiler.is_compiling() and {_within(test, ast.And)}:"


def _of_tensors(test: ast.expr | None) -> str | None:
    if test is None:
        return None
    inner = test.operand if isinstance(test, ast.UnaryOp) else test
    if isinstance(inner, ast.Compare):
        tests = all(
            isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq)
            for op in inner.ops
        )
        return ast.unparse(test) if tests and len(inner.ops) == 1 else None
    is_one = isinstance(inner, ast.Call | ast.Name | ast.Attribute | ast.Subscript)
    return ast.unparse(test) if is_one else None


def _within(test: ast.expr, operator: type[ast.boolop]) -> str:
    """Return a condition as an operand of ``and`` or ``or``."""
    text = ast.unparse(test)
    other = isinstance(test, ast.BoolOp) and not isinstance(test.op, operator)
    return (
        f"({text})" if other or isinstance(test, ast.NamedExpr | ast.IfExp | ast.Lambda) else text
    )


def _word(data: BreakData) -> str:
    return data.code.strip().partition(" ")[0]


def _statement(data: BreakData) -> ast.stmt | None:
    text = data.code.strip()
    if _word(data) not in {"if", "while", "assert"}:
        return None
    try:
        body = ast.parse(f"{text} pass" if text.endswith(":") else text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if body else None
