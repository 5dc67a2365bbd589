"""ERR020 donated-buffer-used-again."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["DonatedBufferUsedAgain"]


class DonatedBufferUsedAgain(FailureRule):
    """backward ran twice over buffers that the compiled backward gives away.

    ## Why it matters
    AOTAutograd lets the backward graph overwrite what it needs no more. A second backward over
    the same graph would read garbage, so torch refuses ``retain_graph=True`` and
    ``create_graph=True`` there.

    ## What it looks like
        RuntimeError: This backward function was compiled with non-empty donated buffers which requires create_graph=False and retain_graph=False. Please keep backward(create_graph=False, retain_graph=False) across all backward() function calls, or set torch._functorch.config.donated_buffer=False to disable donated buffer.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Call backward once, or switch donated buffers off.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR020"
    name = "donated-buffer-used-again"
    of_causes: ClassVar[frozenset[str]] = frozenset({"donated-buffer"})
    remedies = (
        Remedy(
            "off",
            "Keep the buffers: it costs some memory.",
            setting="torch._functorch.config.donated_buffer = False",
            since="2.6",
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_functorch/config.py",
        ),
        Remedy(
            "once",
            "Or call backward once: add the losses, and leave out retain_graph=True.",
            code="(loss_a + loss_b).backward()",
            when="code of your own calls it",
            applies=lambda data: not user_code.package(data.file),
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_functorch/config.py",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        del data
        return "backward ran with retain_graph or create_graph over donated buffers"
