"""Generated code out of a log is cut out, and run only on request."""

from pathlib import Path
from typing import Literal

import pytest

from tests.live.reports import finding
from tracelens import engine
from tracelens.experiment import Knob
from tracelens.live.confirming import Means, confirm
from tracelens.live.lab import Lab, Timing
from tracelens.live.logcode import modules, pair
from tracelens.live.statistics import Judgement
from tracelens.live.workload import Side
from tracelens.report import EvidenceLine, Finding

PREFIX = "V1120 10:33:50.028000 24189 torch/_inductor/graph.py:2000] [0/0] [__output_code] "
NARROW = next(Path(__file__).parents[2].glob("fixtures/rules/IND006-*/fires-narrow.log"))
ONE_THREAD = Knob("one OpenMP thread", env={"OMP_NUM_THREADS": "1"})
LOG = [
    "a line of the program",
    f"{PREFIX}Output code: ",
    f"{PREFIX}import torch",
    f"{PREFIX}def call(args):",
    f"{PREFIX}    return args",
    f"{PREFIX}Output code written to: /tmp/torchinductor_ana/ab/cab.py",
    "another",
    f"{PREFIX}Output code: ",
    f"{PREFIX}#pragma omp parallel num_threads(16)",
    f"{PREFIX}def call(args):",
    f"{PREFIX}    return ()",
]


def test_modules_are_cut_out_of_a_log() -> None:
    first, second = modules(LOG)
    assert first[:3] == (2, 5, "import torch\ndef call(args):\n    return args")
    assert (second.first, second.last) == (8, 11)
    assert first.prefix == PREFIX


@pytest.mark.parametrize(
    "knob",
    [
        Knob("frozen", config={"torch._inductor.config.freezing": True}),
        Knob("dynamic", compile={"dynamic": True}),
        Knob("nothing"),
    ],
)
def test_what_changes_how_code_is_made_cannot_be_seen_in_code(tmp_path: Path, knob: Knob) -> None:
    assert pair(quoting(tmp_path, 9), tmp_path / "run.log", knob) is None


def quoting(folder: Path, line: int) -> Finding:
    (folder / "run.log").write_text("\n".join(LOG) + "\n")
    return finding(evidence=(EvidenceLine(input="elsewhere.log", line=line, text=""),))


def test_the_module_that_is_quoted_is_the_program(tmp_path: Path) -> None:
    found = pair(quoting(tmp_path, 9), tmp_path / "run.log", ONE_THREAD)
    assert found is not None
    assert found.before.source.startswith(
        "#pragma omp parallel num_threads(16)\ndef call(args):\n    return ()\n"
    )
    assert "#pragma omp parallel num_threads(1)\n" in found.after.source
    assert "def setup():" in found.before.source
    assert "written to" not in found.before.source
    assert pair(quoting(tmp_path, 1), tmp_path / "run.log", ONE_THREAD) is None


class Untimed(Lab):
    """Records as ever, and takes the timings as given."""

    def blocks(self, before: Side, after: Side, of: Literal["step", "run"] = "step") -> Timing:
        del before, after
        return Timing(Judgement("faster", "", ratio=2.0, before_ms=3.0, blocks=3), of, (), {})


@pytest.mark.live
def test_code_of_a_log_is_run_on_request_and_never_without(
    tmp_path: Path, torch_python: str, torch_environment: dict[str, str]
) -> None:
    """A log of torch 2.13 with a C++ kernel; its module also leaves a file when it is run."""
    # Smaller, since starting threads takes long on a busy machine.
    text = NARROW.read_text().replace("4096", "64").replace("32768", "512")
    first = next(line for line in text.splitlines() if line.endswith("] import torch"))
    lead = first.removesuffix("import torch")
    trap = f"{lead}open({str(tmp_path / 'ran')!r}, 'a').write('x')\n"
    log = tmp_path / "run.log"
    log.write_text(text.replace(f"{first}\n", f"{first}\n{trap}"))
    given = engine.analyze(str(log))
    base = {name: value for name, value in torch_environment.items() if name != "OMP_NUM_THREADS"}
    base["TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"] = "0"  # for one kernel, it takes longer
    with Untimed(base=base, seconds=300) as lab:
        said = confirm(given, lab, Means(None, torch_python), only=["IND006"])
        (tested,) = (f.confirmation for f in said.findings if f.code == "IND006")
        assert (tested.state, "only the program" in tested.note) == ("inconclusive", True)
        assert not (tmp_path / "ran").exists()
        said = confirm(given, lab, Means(None, torch_python, log), only=["IND006"])
        (tested,) = (f.confirmation for f in said.findings if f.code == "IND006")
        assert (tmp_path / "ran").read_text() == "xx", "both sides were run"
    assert (tested.state, tested.reason) == ("inconclusive", "same_form_only"), tested.note
    assert tested.structure is not None
    assert (tested.structure.predicted, tested.structure.before) == ("stays", 1)
    assert tested.settings == {"OMP_NUM_THREADS": "1"}
