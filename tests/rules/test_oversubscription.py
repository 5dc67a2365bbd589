"""A busy rank, or a busy input, is judged by itself."""

from pathlib import Path

import pytest

from tracelens.engine import analyze
from tracelens.report import Finding, Report

LOGS = Path(__file__).parents[2] / "fixtures/rules/ENV001-cpu-oversubscription"
BUSY, CALM = LOGS / "fires-busy-machine.log", LOGS / "quiet-two-threads.log"


def busy(report: Report) -> Finding:
    (found,) = (finding for finding in report.findings if finding.code == "ENV001")
    return found


def test_a_calm_rank_hides_no_busy_one() -> None:
    both = busy(analyze(str(LOGS / "fires-one-of-two-ranks.log"), select=["ENV001"]))
    alone = busy(analyze(str(BUSY), select=["ENV001"]))
    assert both.count == alone.count
    assert both.cost is not None
    assert alone.cost is not None
    assert (both.cost.ms, both.cost.share) == (alone.cost.ms, alone.cost.share)
    assert both.cost.of == f"{alone.cost.of} of 1 of 2 writers"
    assert both.message.startswith("In 1 of 2 writers, ")


def test_a_busy_input_leaves_the_others_alone() -> None:
    report = analyze(str(BUSY), str(CALM))
    found = busy(report)
    assert {line.input for line in found.evidence} == {str(BUSY)}
    inputs = {
        finding.code: {line.input for line in finding.evidence}
        for finding in report.findings
        if finding.suppressed_by == "ENV001"
    }
    assert all(str(BUSY) in names for names in inputs.values())


@pytest.mark.parametrize(
    ("line", "cpus"),
    [
        ("GOMP_CPU_AFFINITY=0", 1),
        ("export GOMP_CPU_AFFINITY=3-3", 1),
        ("GOMP_CPU_AFFINITY=0-1", None),  # as many as there are threads
        ("GOMP_CPU_AFFINITY=0,2", None),
        ("GOMP_CPU_AFFINITY=0-6:2", None),
        ("KMP_AFFINITY=granularity=fine,explicit,proclist=[5]", 1),
        ("KMP_AFFINITY=granularity=fine,compact,1,0", None),  # it names no CPUs
        ("OMP_PROC_BIND=close", None),
        ("GOMP_CPU_AFFINITY=node0", None),
        ("OMP_PROC_BIND=false\nGOMP_CPU_AFFINITY=0", None),  # it has precedence
        ("OMP_PROC_BIND=true\nGOMP_CPU_AFFINITY=0", 1),
    ],
)
def test_threads_that_a_variable_ties_to_fewer_cpus(
    tmp_path: Path, line: str, cpus: int | None
) -> None:
    """The calm log is of two threads."""
    log = tmp_path / "run.log"
    log.write_text(f"{line}\n{CALM.read_text()}")
    report = analyze(str(log), select=["ENV001"])
    found = [(finding.data["seen"], finding.data["cpus"]) for finding in report.findings]
    assert found == ([("bound", cpus)] if cpus else [])


def test_the_order_of_inputs_makes_no_difference() -> None:
    one, other = busy(analyze(str(BUSY), str(CALM))), busy(analyze(str(CALM), str(BUSY)))
    assert (one.id, one.count, one.message) == (other.id, other.count, other.message)


def test_threads_that_are_bound_in_one_input_do_not_hide_the_waits_of_another() -> None:
    bound = LOGS / "fires-bound-to-one-cpu.log"
    report = analyze(str(bound), str(BUSY), select=["ENV001"])
    seen = {finding.data["seen"]: finding for finding in report.findings}
    assert {line.input for line in seen["bound"].evidence} == {str(bound)}
    assert {line.input for line in seen["waiting"].evidence} == {str(BUSY)}
    alone = analyze(str(bound), select=["ENV001"])
    assert [finding.data["seen"] for finding in alone.findings] == ["bound"]
