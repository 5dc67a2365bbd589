"""Torch's own format strings, filled with what programs fill them with, are all read.

Written after ``SLoc.__str__``, ``format_frame``, ``get_verbose_code_part`` and the guard printers
of torch 2.13: a place of torch alone, a place of the user's alone, both, neither, and code with
signs that the form itself uses.
"""

from itertools import product

import pytest

from tracelens.logs.dynamic import Dynamic, GuardAdded
from tracelens.logs.guards import Guards, GuardTree
from tracelens.logs.recompiles import Recompile, Recompiles

CHECKS = (
    "scale == 1.5",
    "n == 2",
    "mode == 'a: b # c'",
    "2 <= x.size()[0]",
    "2 <= x.size()[0] <= 10",
    "x.size()[0] <= 10",
    "(x.size()[0] % 4) == 0",
    "tensor 'x' size mismatch at index 0. expected 4, actual 8",
    "expected type of 'self.CB' to be a tensor type, ' but found <class 'NoneType'>",
    "___check_obj_id(func.__code__, 94296119093600), type=<class 'code'>",
    "len(xs) == 3",
    "not ___dict_contains('problem_type', self.config.__dict__)",
)
CODES = ("x = f(x)", 'name = f"{x} # of {n}"', "if a: b = (1, 2)", "None", "")
FILES = ("proj/model.py", "mp/a b/model-2.py", "C:\\proj\\model.py", "<string>")
FUNCTIONS = ("forward", "<lambda>", "torch_dynamo_resume_in_forward_at_35")
ZERO_ONE = (
    "user code shown is first use of this value--the guard itself is not due user code but due to "
    "0/1 specialization in the framework; to avoid specialization try "
    "torch._dynamo.decorators.mark_unbacked(tensor, dim)"
)
ORIGINS = (
    "_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs",
    "_subclasses/fake_impls.py:426 in local_scalar_dense",
    "my-backend/passes/x.py:3 in <lambda>",
    ZERO_ONE,
    "",
)


def places() -> list[str]:
    """Return what ``SLoc.__str__`` can be."""
    users = [
        f"{code}  # {file}:7 in {function}"
        for code, file, function in product(CODES, FILES, FUNCTIONS)
    ]
    lone = [f"{file}:7 in {function}" for file, function in product(FILES, FUNCTIONS)]
    both = [f"{user} ({origin})" for user, origin in product(users, ORIGINS)]
    return [*users, *lone, *both, *(f"({origin})" for origin in ORIGINS)]


@pytest.mark.parametrize("check", CHECKS)
def test_a_recompile_is_read_whatever_place_its_guard_names(check: str) -> None:
    heading = "Recompiling function f in /home/ana/proj/model.py:1\n"
    heading += "    triggered by the following guard failure(s):\n"
    bare = _failure(f"{heading}    - 0/0: {check}").check
    assert bare is not None
    for place, pad in product(places(), ("", " " * 40)):
        text = f"{heading}    - 0/0: {check}{pad}  # {place}"
        failure = _failure(text)
        assert failure.check == bare, text
        assert failure.comment is not None, text


def _failure(text: str):  # type: ignore[no-untyped-def]
    (record,) = Recompiles.parse(text)
    assert isinstance(record, Recompile)
    (failure,) = record.failures
    return failure


def test_a_guard_is_read_whatever_place_it_names() -> None:
    for place in places():
        text = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n"
        text += f"| +- EQUALS_MATCH: L['scale'] == 1.5  # {place}"
        (record,) = Guards.parse(text)
        assert isinstance(record, GuardTree)
        assert record.guards[-1].expression == "L['scale'] == 1.5", text


def test_a_condition_on_a_symbol_is_read_whatever_place_it_names() -> None:
    for place, condition in product(places(), ("Eq(s77, 5)", "s0 >= 4", "Ne(Mod(s53, 4), 0)")):
        text = f"eval {condition} [guard added] {place}, for more info run with "
        text += f'TORCHDYNAMO_EXTENDED_DEBUG_GUARD_ADDED="{condition}"'
        (record,) = Dynamic.parse(text)
        assert isinstance(record, GuardAdded)
        assert record.expression == condition, text
