"""Code that takes too long is ended, wherever it runs, and nobody else's timer is lost."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

import pytest

from tracelens.timelimit import TooSlow, limited


def spin() -> None:
    while True:
        pass


def test_a_loop_and_a_sleep_are_ended() -> None:
    for wait in (spin, lambda: time.sleep(3600)):
        with pytest.raises(TooSlow, match=r"longer than 0\.2 s"), limited(0.2):
            wait()


def test_code_that_is_in_time_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with limited(3600):
        done = True
    assert done
    assert signal.getsignal(signal.SIGALRM) is before


def test_code_that_catches_it_is_told_again() -> None:
    told: list[str] = []

    def stubborn() -> None:
        for _ in range(2):
            try:
                spin()
            except TooSlow as error:
                told.append(str(error))

    with limited(0.1):
        stubborn()
    assert told == ["it took longer than 0.1 s, and was ended"] * 2


def test_in_a_thread_a_loop_is_ended() -> None:
    ended: list[BaseException] = []

    def run() -> None:
        try:
            with limited(0.2):
                spin()
        except TooSlow as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert [str(error) for error in ended] == ["it took longer than 0.2 s, and was ended"]


def test_the_timer_of_somebody_else_goes_on() -> None:
    rung: list[int] = []
    theirs = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    held = signal.setitimer(signal.ITIMER_REAL, 3600)
    try:
        with suppress(TooSlow), limited(0.1):
            spin()
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        assert 3000 < left <= 3600
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        end = time.monotonic() + 60
        while not rung and time.monotonic() < end:
            time.sleep(0.01)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, *held)
        signal.signal(signal.SIGALRM, theirs)


def test_limits_nest() -> None:
    with limited(3600):
        with pytest.raises(TooSlow, match=r"0\.1 s"), limited(0.1):
            spin()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 3000
