"""Fixtures that several test modules share."""

import signal

import pytest
from hypothesis import settings
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

# How long one example takes is the machine's affair. The examples are the same at every run;
# --hypothesis-profile search looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")

# A shell that starts the tests in the background lets them, and all that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let one run write the reports of the gallery anew."""
    parser.addoption("--update-gallery", action="store_true", help="rewrite reports/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: at the end, nobody waits for it alone."""
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)


class Text(SingleFileSnapshotExtension):
    """One readable file per snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def text_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Return a snapshot that is kept as a text file of its own."""
    return snapshot.use_extension(Text)
