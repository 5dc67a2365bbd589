"""Which lines name an OpenMP runtime, and which files are one."""

import pytest

from tracelens.logs.shared_libraries import LoadedLibrary, SharedLibraries


def loaded(line: str) -> LoadedLibrary:
    assert SharedLibraries.begins is not None
    assert SharedLibraries.begins.match(line)
    (found,) = SharedLibraries.parse(line)
    assert isinstance(found, LoadedLibrary)
    return found


@pytest.mark.parametrize(
    ("line", "path", "process", "family"),
    [
        (" 3048:\tcalling init: /a/libgomp.so.1", "/a/libgomp.so.1", "3048", "libgomp"),
        ("\tlibiomp5.so => /b/libiomp5.so (0x00007f76)", "/b/libiomp5.so", "", "libiomp5"),
        ("\tlibomp.so.5 => /b/libomp-14.so.5 (0x7f)", "/b/libomp-14.so.5", "", "libomp"),
        ("    'filepath': '/c/libomp.dylib',", "/c/libomp.dylib", "", "libomp"),
        ("       filepath: /c/libgomp-a34b3233.so.1", "/c/libgomp-a34b3233.so.1", "", "libgomp"),
    ],
)
def test_what_is_loaded(line: str, path: str, process: str, family: str) -> None:
    found = loaded(line)
    assert (found.path, found.process, found.family) == (path, process, family)


@pytest.mark.parametrize(
    "line",
    [
        " 3048:\tcalling fini: /a/libgomp.so.1 [0]",
        " 3048:\tfind library=libgomp.so.1 [0]; searching",
        "\tlibtorch_cpu.so => /a/libtorch_cpu.so (0x00007f76)",
        '    "filepath": "/a/numpy.libs/libscipy_openblas64_-32a4b2a6.so",',
        " 3048:\tcalling init: /a/_decomp_update.so",
    ],
)
def test_what_is_left_to_the_program(line: str) -> None:
    assert SharedLibraries.begins is not None
    assert not SharedLibraries.begins.match(line)


def test_a_link_and_its_target_are_one() -> None:
    one = loaded("\tlibgomp.so.1 => /lib/x86_64-linux-gnu/libgomp.so.1 (0x7f)")
    same = loaded("    'filepath': '/usr/lib/x86_64-linux-gnu/gcc/../libgomp.so.1.0.0',")
    other = loaded("    'filepath': '/opt/torch/lib/libgomp-a34b3233.so.1',")
    assert one.identity == same.identity != other.identity
