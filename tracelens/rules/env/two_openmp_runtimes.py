"""ENV010 two-openmp-runtimes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, SkipValidation

from tracelens.dynamo.run_facts import InRun, facts_of
from tracelens.evidence import Seen, Table
from tracelens.logs import Joined
from tracelens.logs.shared_libraries import LoadedLibrary, RuntimeClash, SharedLibraries
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Confidence, EvidenceLine, Finding, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.variables import EnvironmentVariable

__all__ = ["TwoOpenmpRuntimes"]

#: Variables that tie threads to cores: each runtime then ties its own to the same ones.
BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


class Loaded(Joined):
    """What one process loaded, or complained of."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )
    switch = SharedLibraries.switch

    libraries: SkipValidation[tuple[Seen[LoadedLibrary], ...]] = ()
    #: What says that two runtimes met.
    complaints: SkipValidation[tuple[EvidenceLine, ...]] = ()

    @classmethod
    def join(
        cls,
        *,
        libraries: Table[LoadedLibrary],
        clashes: Table[RuntimeClash],
        warnings: Table[TorchWarning],
    ) -> Iterator[Seen[Loaded]]:
        """Gather by process, or by writer where none is named."""
        groups: defaultdict[tuple[str, str, str], dict[str, Seen[LoadedLibrary]]]
        groups = defaultdict(dict)
        for row in libraries:
            for place in row.places:
                key = (place.input, place.writer, row.record.process)
                at = Seen(row.record, 1, [place], row.text)
                groups[key].setdefault(row.record.identity, at)
        for held in groups.values():
            rows = tuple(held.values())
            yield Seen(cls(libraries=rows), 1, rows[0].places, rows[0].text)
        met = warnings.where(
            lambda one: one.topic == "openmp-runtime" and "already initialized" in one.text
        )
        for seen in (*clashes, *met):
            yield Seen(cls(complaints=(seen.quote(),)), seen.count, seen.places, seen.text)


#: Longest first: one name is in another.
_FAMILIES = ("libiomp5", "libgomp", "libomp")


def _system(said: str) -> str | None:
    return "macos" if ".dylib" in said else "windows" if ".dll" in said else None


def _met(said: str) -> str:
    """Say whose runtimes met: two copies of one, or those of two makers."""
    found = [name for name in _FAMILIES if name in said]
    if len(found) == 1:
        return f"two copies of {found[0]} met in one process"
    return "two different OpenMP runtimes are loaded in one process"


class TwoOpenmpRuntimes(Rule):
    """Two OpenMP runtimes are loaded into one process.

    ## Why it matters
    Each runtime has its own threads and its own settings: ``torch.set_num_threads`` reaches one of
    them, both tie their threads to the same cores, and together they run twice as many threads as
    there are cores. GNU's, Intel's and LLVM's runtimes also crash or deadlock side by side.

    ## What it looks like
    Two files in what the loader prints with ``LD_DEBUG=libs``, or in threadpoolctl's list; or, of
    Intel's and LLVM's runtime, an error:

        OMP: Error #15: Initializing libomp.so, but found libgomp.so already initialized.

    ## When it is harmless
    Two copies of GNU's ``libgomp`` (wheels of scikit-learn bring one) only get in each other's way
    where both compute at the same time, or where threads are tied to cores: without such a variable
    in the log, the finding is information. A link and its target are one library. That oneDNN
    reports another number of threads (``nthr``) than the program uses proves nothing: it is printed
    once, at the first primitive, and ``torch.set_num_threads`` may come later.

    ## What to do
    Let the process load one runtime, first of all: preload the one that torch brings. Do not set
    ``KMP_DUPLICATE_LIB_OK``: it hides the error, and results may be wrong.

    ## How a live run confirms it
    The program runs with torch's runtime preloaded. Confirmed when the second one is gone from the
    list, and steps get faster.

    ## See also
    ENV001 (more threads than cores).
    <https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html>
    """

    code = "ENV010"
    name = "two-openmp-runtimes"
    severity = Severity.WARNING
    unconfirmable = (
        "which file to preload depends on the machine: preload it, record again, and compare"
    )

    class Data(InRun):
        """The runtimes of one process, or what they complain of."""

        #: File names without versions.
        files: tuple[str, ...] = ()
        #: ``libgomp``, ``libiomp5``, ``libomp``.
        families: tuple[str, ...] = ()
        #: A runtime refused to start, or warned.
        has_complaint: bool = False
        ended_program: bool = False
        system: str | None = None
        #: The runtime that torch brings, where the log shows its path.
        torchs: str = ""

    remedies = (
        Remedy(
            id="newer-torch",
            text="The wheel of torch 2.3.0 for macOS brings two copies of libomp itself: take a "
            "newer torch. KMP_DUPLICATE_LIB_OK=TRUE lets the program go on, unsafely: results may "
            "be wrong.",
            when="macOS, and two copies of libomp",
            applies=lambda data: (
                data.system == "macos" and data.has_complaint and data.families == ("libomp",)
            ),
            code="python -m pip install -U torch",
            basis="untestable",
            proof="https://github.com/pytorch/pytorch/issues/122705",
        ),
        Remedy(
            id="preload",
            text=lambda data: (
                "Preload the runtime that torch brings, so that all libraries use it: "
                f"`export LD_PRELOAD={data.torchs or '<path of libgomp under torch/lib>'}`."
            ),
            when="Linux, or unknown",
            applies=lambda data: data.system in {None, "linux"},
            basis="untestable",
            proof="which file to preload depends on the machine",
        ),
        Remedy(
            id="one-source",
            text="Install all libraries from one source (one conda channel, or wheels that share "
            "a runtime).",
            basis="untestable",
            proof="which libraries clash depends on the machine",
        ),
        Remedy(
            id="import-first",
            text="Import torch first, so that its libomp is the one that is loaded; remove the "
            "copy that another package (conda's MKL, Homebrew) brings.",
            when="macOS, Windows",
            applies=lambda data: data.system in {"macos", "windows"},
            basis="untestable",
            proof="needs macOS or Windows",
        ),
    )

    def check(
        self,
        processes: Table[Loaded],
        *,
        variables: Table[EnvironmentVariable],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding per set of runtimes, and one for what runtimes complain of."""
        lines = {row.first: row.quote() for row in variables if row.record.name in BINDING}
        bound = list(lines.values())
        sets: defaultdict[tuple[str, ...], list[Loaded]] = defaultdict(list)
        complaints = [line for row in processes for line in row.record.complaints]
        for row in processes:
            if len(row.record.libraries) > 1:
                files = tuple(sorted(one.record.identity for one in row.record.libraries))
                sets[files].append(row.record)
        for loaded in sets.values():
            yield self._several(loaded, bound, run)
        if complaints:
            grave = "Error" in complaints[0].text
            said = " ".join(line.text for line in complaints)
            data = self.Data.of(
                run,
                has_complaint=True,
                ended_program=grave,
                system=_system(said) or facts_of(run).os,
                families=tuple(name for name in _FAMILIES if name in said),
            )
            yield self.finding(
                "complaint",
                title=_met(said),
                message=(
                    "The second one refuses to start, or says that the program may crash, hang or "
                    "compute wrong results."
                ),
                severity=Severity.ERROR if grave else None,
                count=len(complaints),
                evidence=complaints,
                advice=self.advise(data),
                data=data,
            )

    def _several(
        self, loaded: list[Loaded], bound: list[EvidenceLine], run: Table[RunFacts]
    ) -> Finding:
        rows = loaded[0].libraries
        families = sorted({row.record.family for row in rows})
        inputs = {row.first.input for one in loaded for row in one.libraries}
        tied = [line for line in bound if line.input in inputs]
        from_ldd = all("=>" in row.record.how for row in rows)
        alike = len(families) == 1
        what = f"{len(rows)} copies of {families[0]}" if alike else " and ".join(families)
        why = (
            "Each has its own threads, and a number of threads that is set in one does not reach "
            "the other."
        )
        if tied:
            why += " Threads are tied to cores, and both tie theirs to the same ones."
        paths = [row.record.path for row in rows]
        data = self.Data.of(
            run,
            files=tuple(row.record.identity.rpartition("/")[2] for row in rows),
            families=tuple(families),
            system="macos" if any(".dylib" in path for path in paths) else facts_of(run).os,
            torchs=next((path for path in paths if "/torch/lib" in path), ""),
        )
        return self.finding(
            *(row.record.identity.rpartition("/")[2] for row in rows),
            title=f"{what} in one process",
            message=f"The process loads {what}. {why}",
            severity=Severity.INFO if alike and not tied else Severity.WARNING,
            confidence=Confidence.MEDIUM if from_ldd else Confidence.HIGH,
            count=len(loaded),
            evidence=[row.quote() for one in loaded for row in one.libraries] + tied[:2],
            advice=self.advise(data),
            data=data,
        )
