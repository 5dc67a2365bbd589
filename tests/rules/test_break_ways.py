"""What stands beside the way to a break in a package, and by which modules it is reached."""

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.wrapped import outside_of
from tracelens.logs.graph_breaks import StackFrame
from tracelens.report import Finding
from tracelens.rules.gbr._break_data import _is_all

(FOLDER,) = (Path(__file__).parents[2] / "fixtures" / "rules").glob("GBR001-*")
IN_PLACE = (FOLDER / "fires-compiled-in-place-2.13.log").read_text()
INNER = (FOLDER / "fires-helper-of-inner-2.13.log").read_text()
RETURNED = (FOLDER / "fires-returned-last-2.13.log").read_text()
MODULE = "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"


def told(room: Path, text: str) -> Finding:
    log = room / "run.log"
    log.write_text(text)
    return next(found for found in analyze(str(log)).shown if found.code == "GBR001")


def advised(found: Finding) -> dict[str, str]:
    return {one.id: one.text for one in found.advice}


def test_what_the_callers_of_a_method_call_is_beside_the_way(tmp_path: Path) -> None:
    """`forward` calls `self.embedded`, which calls the module that reads a number."""
    text = advised(told(tmp_path, IN_PLACE))["compile-inner"]
    assert "such as `self.blocks.0`, `self.blocks.1`, each" in text
    assert "`self.rotary`" not in text  # a method of it is called, and no `forward`
    assert "It is reached through `self.text` (from" in text


def test_what_a_function_of_another_object_calls_is_not_beside_the_way(tmp_path: Path) -> None:
    other = IN_PLACE.replace(
        "    x = self.embedded(x, lengths)", "    x = held.embedded(x, lengths)"
    )
    assert other != IN_PLACE
    assert "compile-inner" not in advised(told(tmp_path, other))


def test_a_module_with_a_forward_called_is_beside_the_way(tmp_path: Path) -> None:
    called = IN_PLACE.replace("self.rotary.turned(x)", "self.rotary(x)")
    text = advised(told(tmp_path, called))["compile-inner"]
    assert "`self.blocks.1`, `self.rotary`, each" in text


@pytest.mark.parametrize("in_place", [True, False])
def test_a_module_compiled_in_place_begins_the_way(*, in_place: bool) -> None:
    name = "_compiled_call_impl" if in_place else "_call_impl"
    frames = [
        ("/home/ana/proj/model.py", "forward", "x = self.net(x)"),
        (MODULE, "_wrapped_call_impl", f"return self.{name}(*args, **kwargs)"),
        (MODULE, "_call_impl", "return forward_call(*args, **kwargs)"),
        ("/home/ana/proj/net.py", "forward", "x = self.head(x)"),
    ]
    stack = [StackFrame(file=f, line=1, function=name, code=code) for f, name, code in frames]
    assert outside_of(stack) == (2 if in_place else 0)


def test_what_calls_a_function_without_self_is_reached_by_name(tmp_path: Path) -> None:
    message = told(tmp_path, INNER).message
    assert "It is reached through `self.encoder`." in message
    assert "does not tell by which modules" not in message
    assert "the guards name no module beside the path to it" in message  # `self.head.turned(x)`


def test_an_encoder_that_no_guard_names_is_not_named(tmp_path: Path) -> None:
    other = INNER.replace(
        "type=<class 'oddlib.Encoder'>  # x = self", "type=<class 'X'>  # x = self"
    )
    assert other != INNER
    message = told(tmp_path, other).message
    assert "the record does not tell by which modules it is reached." in message


def test_a_call_behind_other_modules_is_not_all_that_is_compiled(tmp_path: Path) -> None:
    advice = advised(told(tmp_path, RETURNED))
    assert "proj/pooled.py:13 leads there: leave it out" in advice["leave-call-out"]
    assert "leave-uncompiled" not in advice


@pytest.mark.parametrize("given", ["self.convs", "self.convs[0]"])
def test_modules_that_the_package_calls_are_part_of_its_call(given: str, tmp_path: Path) -> None:
    line = "return pool(x, lengths)"
    advice = advised(told(tmp_path, RETURNED.replace(line, f"return pool({given}, x)")))
    assert advice["leave-uncompiled"].startswith(
        "`forward` returns what this call of `oddlib` does"
    )
    assert "nearly all" not in advice["leave-uncompiled"]
    assert "leave-call-out" not in advice


@pytest.mark.parametrize(
    ("line", "is_all"),
    [
        ("return pool(x)", True),
        ("return odd.pool(x.float())", True),
        ("return named(x)", True),
        ("return self.head(pool(x))", False),
        ("return normalize(pool(x))", False),
        ("return pool(self.net(x))", False),
        ("y = pool(x)", False),
    ],
)
def test_only_what_returns_the_call_itself_is_all(line: str, *, is_all: bool) -> None:
    frame = StackFrame(file="model.py", line=3, function="forward", code=line)
    assert _is_all(frame, "pool") == is_all


def test_a_class_that_no_guard_names_is_found_by_its_file(tmp_path: Path) -> None:
    """Its `forward` breaks before it reads anything of itself, so it has no guard on its class."""
    (folder,) = FOLDER.parent.glob("GBR008-*")
    text = gzip.decompress((folder / "fires-class-by-file-2.13.log.gz").read_bytes()).decode()
    log = tmp_path / "run.log"

    def advice(told: str) -> dict[str, str]:
        log.write_text(told)
        return advised(
            next(one for one in analyze(log).findings if "dynamic_modules.py:179" in one.title)
        )

    found = advice(text)["compile-inner"]
    assert "such as `self.features`" in found
    assert "reached through `self.head`" in found
    elsewhere = text.replace(
        "avalanche.models.dynamic_modules.Multi", "avalanche.models.heads.Multi"
    )
    assert elsewhere != text
    assert "compile-inner" not in advice(elsewhere)
