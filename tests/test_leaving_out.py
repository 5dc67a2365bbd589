"""The code that leaves a function of a package out of what is compiled."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest

from tracelens.dynamo.leaving_out import left_out

TEXT = """
import functools

def wrapping(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

class One:
    def forward(self):
        return 1

class Two:
    @wrapping
    def forward(self):
        return 2

def helper():
    return 3

class Three:
    @staticmethod
    def shared():
        return 4

class Scripted:
    def __init__(self, function):
        self._torchdynamo_inline = function

@Scripted
def scripted():
    return 5
"""


@pytest.mark.parametrize(
    ("function", "line", "left"),
    [
        ("forward", 11, ["One"]),  # its first line, as Dynamo names a function
        ("forward", 12, ["One"]),
        ("forward", 17, ["Two"]),
        ("helper", 20, ["helper"]),
        ("forward", 20, []),
    ],
)
def test_the_function_that_holds_the_line_is_left_out(
    function: str, line: int, left: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "site-packages" / "oddlib_left" / "parts.py"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    (file.parent / "user.py").write_text("from oddlib_left.parts import helper, One")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    for name in [one for one in sys.modules if one.startswith("oddlib_left")]:
        monkeypatch.delitem(sys.modules, name)
    user = importlib.import_module("oddlib_left.user")  # it has the function by its name, too
    compiler = types.SimpleNamespace(disable=lambda found: ("left out", found))
    code = left_out(function, str(file), line)
    names = {"torch": types.SimpleNamespace(compiler=compiler)}
    exec(str(code), names)  # noqa: S102 -- it is what is printed
    part = vars(names["part"])
    held = {one: part[one] if one == "helper" else vars(part[one])["forward"] for one in LEFT}
    assert [one for one in LEFT if isinstance(held[one], tuple)] == left
    assert (vars(user)["helper"], vars(user)["One"]) == (part["helper"], part["One"])


LEFT = ("One", "Two", "helper")


@pytest.mark.parametrize(("function", "line"), [("shared", 25), ("scripted", 33)])
def test_a_static_method_and_a_scripted_function_are_left_out(
    function: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "site-packages" / "oddlib_kinds" / "parts.py"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    monkeypatch.delitem(sys.modules, "oddlib_kinds.parts", raising=False)
    monkeypatch.delitem(sys.modules, "oddlib_kinds", raising=False)
    compiler = types.SimpleNamespace(disable=lambda found: ("left out", found))
    part = importlib.import_module("oddlib_kinds.parts")
    held = {
        "shared": vars(part.Three)["shared"].__func__,
        "scripted": part.scripted._torchdynamo_inline,
    }[function]
    exec(  # noqa: S102 -- it is what is printed
        str(left_out(function, str(file), line)),
        {"torch": types.SimpleNamespace(compiler=compiler)},
    )
    kept = vars(part.Three)["shared"]
    left = {"shared": kept.__func__, "scripted": part.scripted}[function]
    assert left == ("left out", held)
    assert isinstance(kept, staticmethod)  # bound as it was


@pytest.mark.parametrize(
    ("function", "file", "code"),
    [
        ("forward", "/home/ana/proj/model.py", "@torch.compiler.disable"),
        ("<lambda>", "/v/site-packages/fast/a.py", None),
        ("forward", "/v/site-packages/fast-one/a.py", None),
        ("forward", "/v/site-packages/fast/a.pyx", None),
    ],
)
def test_what_no_name_leads_to_has_no_code(function: str, file: str, code: str | None) -> None:
    assert left_out(function, file, 3) == code


def test_a_package_is_imported_by_its_name() -> None:
    code = left_out("forward", "C:\\v\\Lib\\site-packages\\fast\\__init__.py", 3)
    assert 'import_module("fast")' in str(code)
