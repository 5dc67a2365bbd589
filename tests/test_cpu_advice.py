"""Advice about CPUs is printed only where it applies: two-sided cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.inductor.remedies import can_compile, can_freeze, lacks_float16
from tracelens.onednn.data import PrimitiveData
from tracelens.report import Finding, Severity

RULES = Path(__file__).parents[1] / "fixtures" / "rules"


def ids(finding: Finding) -> list[str]:
    return [advice.id for advice in finding.advice]


def first(code: str, path: Path) -> Finding:
    return next(f for f in analyze(str(path), select=[code]).findings if f.code == code)


def changed(tmp_path: Path, name: str, *pairs: tuple[str, str]) -> Path:
    """Return a copy of a fixture with some of its words exchanged."""
    text = (RULES / name).read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / Path(name).name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("facts", "freeze", "build"),
    [
        ({"is_compiled": True}, True, False),
        ({"is_compiled": None}, False, True),
        ({"is_compiled": False}, False, True),
        ({"is_compiled": True, "is_frozen": True}, False, False),
        ({"is_compiled": True, "is_training": True}, False, False),
        ({"is_compiled": None, "is_training": True}, False, False),
        ({"is_compiled": True, "dtypes": "f16"}, False, False),
        ({"is_compiled": True, "dtypes": "f16", "native_types": ("f16",)}, True, False),
        ({"is_compiled": True, "dtypes": "bf16"}, True, False),
        ({"is_compiled": True, "dtypes": "bf16", "arch": "aarch64"}, False, False),
        (
            {"is_compiled": True, "dtypes": "bf16", "arch": "aarch64", "torch": (2, 15, 0)},
            True,
            False,
        ),
    ],
)
def test_when_to_freeze_and_when_to_compile(
    facts: dict[str, object], freeze: bool, build: bool
) -> None:
    data = PrimitiveData.model_validate(facts)
    assert (can_freeze(data), can_compile(data)) == (freeze, build)


def test_float16_is_native_only_where_the_log_says_so() -> None:
    assert lacks_float16(PrimitiveData(dtypes="f16"))
    assert lacks_float16(PrimitiveData(dtypes="f16:f16:f32", native_types=("bf16",)))
    assert not lacks_float16(PrimitiveData(dtypes="f16", native_types=("f16",)))
    assert not lacks_float16(PrimitiveData(dtypes="f16", arch="aarch64"))
    # bf16 ends in f16, and is another type.
    assert not lacks_float16(PrimitiveData(dtypes="bf16", native_types=("bf16",)))


def test_one_thread_is_not_told_to_use_fewer(tmp_path: Path) -> None:
    name = "ENV001-cpu-oversubscription/fires-busy-machine.log"
    several = first("ENV001", RULES / name)
    assert "fewer-threads" in ids(several)
    lines = (RULES / name).read_text(encoding="utf-8").split("\n")
    threads = next(line for line in lines if ",nthr:" in line)
    single = first("ENV001", changed(tmp_path, name, (threads, threads.rsplit(":", 1)[0] + ":1")))
    assert not single.advice
    assert "no change of the program helps" in single.message


def test_others_that_take_the_only_core_are_no_error_of_the_program(tmp_path: Path) -> None:
    name = "ENV001-cpu-oversubscription/fires-busy-machine.log"
    lines = (RULES / name).read_text(encoding="utf-8").split("\n")
    threads = next(line for line in lines if ",nthr:" in line)
    single = first("ENV001", changed(tmp_path, name, (threads, threads.rsplit(":", 1)[0] + ":1")))
    assert first("ENV001", RULES / name).severity is Severity.ERROR
    assert single.severity is Severity.INFO


def test_one_cpu_is_not_divided_between_processes() -> None:
    counted = first(
        "ENV001", RULES / "ENV001-cpu-oversubscription/fires-more-threads-than-cpus.log"
    )
    assert ids(counted) == ["fewer-threads"]


@pytest.mark.parametrize("name", ["ONE003", "ONE004", "ONE013", "ONE010", "ONE018"])
def test_claims_about_shares_are_about_time(name: str) -> None:
    from tracelens.engine import select_rules

    (rule,) = select_rules([name])
    assert rule.claim == "time"


def test_homebrew_is_for_macos(tmp_path: Path) -> None:
    name = "ENV003-cpp-toolchain-or-isa/fires-no-openmp.log"
    assert ids(first("ENV003", RULES / name)) == ["openmp-macos"]
    linux = first("ENV003", changed(tmp_path, name, ("/var/folders/ab", "/home/ana")))
    assert ids(linux) == ["openmp-linux"]
    assert not any("brew" in advice.text for advice in linux.advice)


def test_two_copies_of_one_runtime_on_macos(tmp_path: Path) -> None:
    name = "ENV010-two-openmp-runtimes/fires-error-15.log"
    linux = first("ENV010", RULES / name)
    assert "two different OpenMP runtimes" in linux.title
    mac = changed(tmp_path, name, ("libiomp5.so", "libomp.dylib"), ("libomp.so", "libomp.dylib"))
    found = first("ENV010", mac)
    assert found.title == "two copies of libomp met in one process"
    assert "preload" not in ids(found)
    assert "preload" in ids(linux)


def test_flex_attention_has_no_library_to_fall_back_to(tmp_path: Path) -> None:
    name = "TUN005-no-valid-choice/fires-no-choices.log"
    assert ids(first("TUN005", RULES / name)) == ["allow-library"]
    flex = changed(tmp_path, name, ("target: aten.mm.default", "target: flex_attention"))
    assert ids(first("TUN005", flex)) == ["smaller-blocks", "newer-torch"]


def test_few_bytes_of_a_large_graph_are_no_finding() -> None:
    harmless = [
        finding
        for path in sorted(RULES.glob("IND002-*/*")) + sorted(RULES.glob("IND004-*/*"))
        if path.suffix == ".log"
        for finding in analyze(str(path), select=["IND002", "IND004"]).findings
        if finding.severity is Severity.NONE
    ]
    assert all(finding.harmless and not finding.advice for finding in harmless)


def test_weights_that_are_arguments_are_not_frozen() -> None:
    path = RULES / "IND004-cpu-inference-not-frozen" / "quiet-weights-are-arguments.log"
    assert not analyze(str(path), select=["IND002", "IND004"]).findings


EAGER = (
    Path(__file__).parents[1]
    / "fixtures/rules/ONE003-weight-reorder-every-iteration/fires-eager-beside-compiled.log"
)


@pytest.mark.parametrize(
    ("called", "advice"), [("quantized.linear_dynamic", []), ("aten.convolution", ["freeze"])]
)
def test_what_no_generated_code_calls_is_not_frozen(
    tmp_path: Path, called: str, advice: list[str]
) -> None:
    text = EAGER.read_text()
    log = tmp_path / "run.log"
    call = "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default("
    assert call in text
    log.write_text(text.replace(call, f"torch.ops.{called}.default("))
    (finding,) = analyze(str(log), select=["ONE003"]).findings
    assert [one.id for one in finding.advice] == advice
