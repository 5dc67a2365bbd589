"""ERR020 donated-buffer-used-again."""

from __future__ import annotations

from typing import ClassVar

from tracelens.dynamo import user_code
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["DonatedBufferUsedAgain"]


def _is_twice(data: FailureData) -> bool:
    return "create_graph" in data.facts


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
    Call backward once, or switch donated buffers off. That does not help where a gradient is
    differentiated itself (``create_graph=True``: a gradient penalty, meta-learning): a compiled
    backward cannot be, and the next error says so. The model is called uncompiled there.

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
            when="a graph is kept for another backward, and no gradient is differentiated",
            applies=lambda data: not _is_twice(data),
            setting="torch._functorch.config.donated_buffer = False",
            since="2.6",
            basis="tested",
            proof="tests/advice/ERR020/off.py",
        ),
        Remedy(
            "uncompiled",
            "Call the uncompiled module where its gradient is differentiated again, and keep the "
            "compiled one for the rest. To switch donated buffers off only shows the next error: "
            "compiled code cannot be differentiated twice.",
            when="the traceback runs the compiled backward so that it can be differentiated: "
            "create_graph=True",
            applies=_is_twice,
            code="model(x)  # and compiled(x) elsewhere, of compiled = torch.compile(model)",
            basis="tested",
            proof="tests/advice/ERR020/uncompiled.py",
        ),
        Remedy(
            "once",
            "Or call backward once: add the losses, and leave out retain_graph=True.",
            code="(loss_a + loss_b).backward()",
            when="code of your own calls it, and no gradient is differentiated",
            applies=lambda data: not user_code.package(data.file) and not _is_twice(data),
            proof="https://github.com/pytorch/pytorch/blob/main/torch/_functorch/config.py",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        if _is_twice(data):
            return "a gradient through compiled code is differentiated again"
        return "backward ran with retain_graph or create_graph over donated buffers"

    def why(self, data: FailureData) -> str:
        """Say what is behind the message, which names a setting that does not help."""
        if not _is_twice(data):
            return ""
        return (
            "With `create_graph=True` autograd would have to differentiate the compiled backward, "
            "which AOTAutograd does not support: the setting that the message names does not help."
        )
