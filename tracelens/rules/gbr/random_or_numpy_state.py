"""GBR016 random-or-numpy-state."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from tracelens.dynamo.breaks import BreakSite
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.remedies import Remedy
from tracelens.report import Severity
from tracelens.rules.gbr._called import editable
from tracelens.rules.gbr._drawn import masked, outside_of
from tracelens.rules.gbr._rounds import named_calls, unrolls
from tracelens.rules.gbr._site_rule import LIBRARY, BreakData, SiteRule, named
from tracelens.rules.gbr._values import UNSPECIALIZED

__all__ = ["RandomOrNumpyState"]

FILLED = "Tensor.random_"
#: What a number drawn in compiled code is needed for wants no tensor.
_NUMBER = frozenset({FILLED, UNSPECIALIZED})
#: How beartype names the wrapper that it makes around a function: its class, and its name.
_CHECKS = re.compile(r"<@beartype\((?:\w+\.){0,20}?(\w+\.\w+)\) at ")


def _checked(data: BreakData) -> str:
    """Return the function whose arguments beartype checks there; empty for anything else."""
    found = (match[1] for line in data.stack if (match := _CHECKS.match(line.file)))
    return next(found, "")


def _chosen(data: BreakData) -> str | None:
    """Return the choice of an ``if`` on a number that is drawn, as an operator of tensors."""
    code = data.code.strip()
    if not code.startswith("if "):
        return None
    body = _parsed(code) or _parsed(f"{code}\n    pass")  # a comment may end the line
    if not body:
        return None
    test = body[0].test if isinstance(body[0], ast.If) else None
    both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    parts = test.values if both and isinstance(test, ast.BoolOp) else [test]
    given = [_selected(part) for part in parts]
    if sum(one is not None for one in given) != 1:
        return None
    select = next(one for one in given if one)
    rest = [part for part, one in zip(parts, given, strict=True) if one is None and part]
    if any(_drawn(node) for part in rest for node in ast.walk(part)):
        return None
    if not rest:
        return select
    kept = rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)
    return f"if {ast.unparse(kept)}:\n    x = {select}"


def _parsed(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _selected(node: ast.expr | None) -> str | None:
    """Return a comparison with a number that is drawn, as a choice between two tensors."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    sides = node.left, node.comparators[0]
    if _drawn(sides[0]) == _drawn(sides[1]):
        return None
    left, right = ("torch.rand(())" if _drawn(side) else ast.unparse(side) for side in sides)
    sign = ast.unparse(ast.Compare(ast.Name("a"), node.ops, [ast.Name("b")]))[1:-1]
    return f"torch.where({left}{sign}{right}, if_true, if_false)"


def _drawn(node: ast.AST) -> bool:
    """Whether it is a call that draws a number between 0 and 1."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"rand", "random", "random_sample", "uniform"}
        and not (node.args or node.keywords)
    )


def _branches(data: BreakData) -> bool:
    return data.code.strip().startswith(("if ", "elif ", "while ", "assert "))


def _own(data: BreakData) -> bool:
    return editable(data) and not _checked(data)


def _decides_in_loop(data: BreakData) -> bool:
    return data.leaves and _branches(data)


def _goes_round(data: BreakData) -> bool:
    """Whether the loop that holds the line may go round more or less often in another call."""
    return data.leaves and unrolls(data)


def _to_python(data: BreakData) -> str:
    """Say what to compile, in place of what holds the loop."""
    named = f", such as {calls}" if (calls := named_calls(data)) else ""
    text = (
        "Or leave the loop to Python, which decides as before, and compile the modules or "
        f"functions that it calls{named}, each by itself, instead of what holds the loop."
    )
    if _goes_round(data):
        text += " Without the break it is unrolled, and each number of rounds is an entry."
    return text + (
        " A bool for each round would need an entry for every combination."
        if _branches(data)
        else ""
    )


class RandomOrNumpyState(SiteRule):
    """A generator of random numbers, of numpy, Python or torch, breaks the graph.

    ## Why it matters
    A graph must not depend on hidden state. Dynamo knows torch's default generator and leaves most
    others to Python: the graph ends where one is made, seeded or asked.

    ## What it looks like
    The class stands in the context, the method behind it:

        [1/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:21
        [1/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):
        [1/0] [__graph_breaks]
        [1/0] [__graph_breaks] Unsupported method call
        [1/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace method `rand` of class `RandomState`
        [1/0] [__graph_breaks]
        [1/0] [__graph_breaks]   Developer debug context: call_method UserDefinedObjectVariable(RandomState) rand [] {}

    Making the generator and drawing from it are two breaks, at two lines.

    ## When it is harmless
    In set-up code that runs once.

    ## What to do
    Draw with torch, on the device of the data, or pass the numbers in.

    ## How a live run confirms it
    The same calls with ``torch.rand``: one graph less per call and line.

    ## See also
    GBR009 (functions that are not traced), GBR012 (all breaks).
    <https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0156.html>
    """  # noqa: E501 -- the excerpt is lines of a log

    code = "GBR016"
    name = "random-or-numpy-state"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        confirms="with a number of torch, the break is gone and the step is faster",
        refutes="the break stays",
        leaves_open="the break is gone, and the step as slow: the break was cheap",
    )
    families: ClassVar[frozenset[str]] = frozenset({"random"})
    remedies = (
        Remedy(
            "unwrap",
            lambda data: (
                f"beartype's wrapper around `{_checked(data)}` draws a number, to check one item "
                "of what it is given. Take it off before you compile: arguments are then not "
                "checked."
            ),
            when="a function that beartype checks",
            applies=lambda data: bool(_checked(data)),
            code=lambda data: f"{_checked(data)} = {_checked(data)}.__wrapped__",
            proof="https://github.com/beartype/beartype",
        ),
        Remedy(
            "randint",
            "Make the numbers instead of filling a tensor with them.",
            when="`Tensor.random_` in code of your own",
            applies=lambda data: data.name == FILLED and _own(data),
            basis="tested",
            proof="tests/advice/GBR016/randint.py",
        ),
        Remedy(
            "select",
            "Draw a tensor with torch's default generator, and select with it: a branch of Python "
            "on it would break the graph, too.",
            when="an `if` on a number that another generator draws, in code of your own, in no "
            "loop that goes round as often as the input says",
            applies=lambda data: _own(data) and bool(_chosen(data)) and not _goes_round(data),
            code=_chosen,
            basis="tested",
            proof="tests/advice/GBR016/select.py",
        ),
        Remedy(
            "torch-random",
            "Draw with torch's default generator, such as `torch.rand(())`, seeded by "
            "`torch.manual_seed`.",
            when="another generator, in code of your own, no branch on the number, and in no such "
            "loop",
            applies=lambda data: (
                data.name not in _NUMBER
                and _own(data)
                and not (_branches(data) or _goes_round(data))
            ),
            basis="tested",
            proof="tests/advice/GBR016/torch-random.py",
        ),
        Remedy(
            "draw-outside",
            outside_of,
            when="a number that Python's generator draws, where a number is needed, in code of "
            "your own",
            applies=lambda data: data.name == UNSPECIALIZED and _own(data),
            code=masked,
            basis="tested",
            proof="tests/advice/GBR016/draw-outside.py",
        ),
        Remedy(
            "draw-before",
            lambda data: (
                "Or draw and decide before the compiled function is called, and pass a bool in."
                if _branches(data)
                else "Or draw before the compiled function is called, and pass the numbers in as "
                "tensors."
            ),
            when="another generator, in code of your own",
            applies=lambda data: (
                data.name not in _NUMBER
                and _own(data)
                and not (_decides_in_loop(data) or _goes_round(data))
            ),
            basis="tested",
            proof="tests/advice/GBR016/draw-before.py",
        ),
        Remedy(
            "choose-drawn",
            "Where the loop goes round as often in every call, and the branch only chooses between "
            "tensors of one shape (teacher forcing), draw the decisions for all rounds before the "
            "call, as one tensor of bools, pass it in, and choose with it: the function is then "
            "one graph.",
            when="an `if` that compares the number, in a loop that goes round as often as the "
            "input says, in code of your own",
            applies=lambda data: (
                data.name not in _NUMBER
                and _own(data)
                and _goes_round(data)
                and bool(_chosen(data))
            ),
            code="drawn = torch.rand(rounds) < p  # before the call\n"
            "x = torch.where(drawn[t], if_true, if_false)",
            basis="tested",
            proof="tests/advice/GBR016/choose-drawn.py",
        ),
        Remedy(
            "compile-called",
            _to_python,
            when="an `if` on the number in a loop, or a loop that goes round as often as the input "
            "says, in code of your own",
            applies=lambda data: (
                data.name not in _NUMBER
                and _own(data)
                and (_decides_in_loop(data) or _goes_round(data))
            ),
            basis="tested",
            proof="tests/advice/GBR016/compile-called.py",
        ),
        *LIBRARY,
    )

    def what(self, site: BreakSite) -> str:
        """Name the generator and the method."""
        if match := _CHECKS.match(site.record.file):
            return f"beartype's check of `{match[1]}` breaks the graph"
        name = self.named(site)
        if name == UNSPECIALIZED:
            return "a number that `random` draws in compiled code breaks the graph"
        if name:
            return f"`{name}` breaks the graph"
        return "a generator of random numbers breaks the graph"

    def named(self, site: BreakSite) -> str:
        """Return the generator with its method, where the record has them."""
        cause = site.record.cause
        context = cause.context if cause is not None else None
        state = context.state if context is not None else ""
        name = (state or named(site)).removeprefix("None.")
        return name or (FILLED if "random_" in site.record.text else "")
