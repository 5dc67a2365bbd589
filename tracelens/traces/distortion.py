"""What the profiler adds to the time of the host: a bound, subtracted from what is said of it.

Measured with torch 2.13 on the CPU: 0.25 us per Python call with ``with_stack``, 1.1 us per
operator with ``record_shapes``, 1.5 us with everything; slower processors and older versions get a
factor of two for calls. Devices are not slowed. A launch takes longer while the driver tells of it:
6 to 10 us with torch 2.11 on an H200, whatever else is recorded.
"""

from __future__ import annotations

from tracelens.traces.measured import TraceHeader

__all__ = ["PER_CALL_US", "PER_LAUNCH_US", "PER_OPERATOR_US", "added_ms"]

#: Microseconds that one Python call takes longer, at most.
PER_CALL_US = 0.5
#: ... and one operator, where shapes, memory or operations are recorded.
PER_OPERATOR_US = 1.5
#: ... and one launch of a kernel.
PER_LAUNCH_US = 8.0


def added_ms(header: TraceHeader, calls: int, operators: int, launches: int) -> float:
    """Return by how many milliseconds the profiler can have slowed the host in all of a trace."""
    heavy = header.record_shapes or header.profile_memory or header.with_flops
    us = calls * PER_CALL_US + (operators * PER_OPERATOR_US if heavy else 0.0)
    us += launches * PER_LAUNCH_US
    return round(us / 1000, 6)
