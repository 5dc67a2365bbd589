"""Printed tables of launches, which have sums alone."""

from __future__ import annotations

from tracelens.traces.printed import PrintedProfile

__all__ = ["is_launching"]

#: In a printed table, which is of many steps.
MIN_PRINTED = 1000
#: ... and in some of its rows.
MIN_OF_ROWS = 100
SHORT_US = 10.0
#: Share of the step that the calls take which launch kernels.
MIN_LAUNCHING = 0.3


def is_launching(told: PrintedProfile) -> bool:
    """Tell whether a printed table shows many short kernels, and a host that is slower."""
    if told.launches < (MIN_OF_ROWS if told.is_part else MIN_PRINTED) or told.host_ms <= 0:
        return False
    if told.device_ms is None:
        return (
            told.is_part or not told.by_torch
        ) and told.launch_ms >= MIN_LAUNCHING * told.host_ms
    short = 1000 * told.device_ms < 2 * SHORT_US * told.launches
    return short and told.host_ms - told.wait_ms > 1.25 * told.device_ms
