"""ERR026 main-guard-missing."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["MainGuardMissing"]


class MainGuardMissing(FailureRule):
    """A worker imports the program anew, since it has no __main__ guard.

    ## Why it matters
    Where processes are spawned (Windows, macOS, workers of Inductor that are told to), each
    imports the program's file. Without a guard it begins to compile there, too, and Python
    refuses.

    ## What it looks like
        RuntimeError:
                An attempt has been made to start a new process before the
                current process has finished its bootstrapping phase.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Put what the program does behind ``if __name__ == "__main__":``.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR024.
    """

    code = "ERR026"
    name = "main-guard-missing"
    of_causes: ClassVar[frozenset[str]] = frozenset({"main-guard"})
    remedies = (
        Remedy(
            "guard",
            "Put what the program does into a function, behind the guard.",
            code='if __name__ == "__main__":\n    main()',
            basis="untestable",
            proof="the bench runs a program within another file",
        ),
        Remedy(
            "one-thread",
            "Or compile without worker processes.",
            env="TORCHINDUCTOR_COMPILE_THREADS=1",
            basis="untestable",
            proof="the bench runs a program within another file",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        del data
        return 'the program has no `if __name__ == "__main__":`, and a worker process runs it again'
