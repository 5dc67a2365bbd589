"""What the CPU plugin of OpenVINO ran."""

from __future__ import annotations

from tracelens.logs import CountedLog, Record

__all__ = ["NodeExec", "OpenvinoVerbose"]


class OpenvinoVerbose(CountedLog):
    """Lines such as ``ov_cpu_verbose,exec,cpu,...``."""

    name = "openvino_verbose"
    switch = "OV_CPU_VERBOSE=1"
    marks = ("ov_cpu_verbose,",)

    @classmethod
    def measure(cls, line: str) -> tuple[str, float | None]:
        """Return ``line`` up to its time, and the time in milliseconds."""
        comma = line.rfind(",") + 1
        try:
            return line[:comma], float(line[comma:])
        except ValueError:
            return line, None


class NodeExec(Record):
    """A node of the graph ran; its times are the row's ``times``."""

    node: str
    #: ``Convolution``, ``FullyConnected``, ...
    type: str
    impl: str

    @property
    def is_reference(self) -> bool:
        """Whether it ran on the plain implementation."""
        return self.impl.startswith("ref")
