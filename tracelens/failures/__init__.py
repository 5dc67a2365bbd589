"""Failures: one record for each, whatever dress its text came in.

``tracelens.source.watch`` keeps the lines, ``tracelens.logs.failures`` reads them line by line, and
what they mean together is decided here: the cause, the stage, the chain of exceptions, and whose
line it is about.
"""

from tracelens.failures.record import Failure

__all__ = ["Failure"]
