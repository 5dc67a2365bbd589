"""Loops of C++ kernels: how often they turn, whether they use vectors, where threads start."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.logs.test_modules import modules
from tracelens.logs._generated import fill
from tracelens.logs._loops import Nest, Region, Strip, _walked, nest_of, regions, strips


def source(body: str) -> str:
    return f"r'''\nextern \"C\" void kernel(float* out_ptr0)\n{{\n{body}\n}}\n'''"


def found(body: str) -> list[Strip]:
    nest = nest_of(source(body))
    assert nest is not None
    return list(strips(nest))


def entered(body: str) -> list[Region]:
    nest = nest_of(source(body))
    assert nest is not None
    return list(regions(nest))


def loop(counter: str, bound: str, body: str, by: str = "1L") -> str:
    cast = "static_cast<int64_t>"
    return (
        f"for(int64_t {counter}={cast}(0L); {counter}<{cast}({bound}); {counter}+={cast}({by}))\n"
        f"{{\n{body}\n}}"
    )


SCALAR = "auto tmp0 = std::sin(in_ptr0[x0]);"
VECTOR = "auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0);"


def test_a_strip_covers_the_elements_of_all_loops_around_it() -> None:
    (strip,) = found(loop("x0", "4L", loop("x1", "10L", SCALAR)))
    assert (strip.span, strip.elements, strip.is_symbolic) == (10, 40, False)
    assert not strip.is_vector
    # Line 0 holds the quotes, 1 the signature, 2 the brace.
    assert strip.at == 5


def test_steps_do_not_matter_for_elements() -> None:
    (strip,) = found(loop("x0", "4L", loop("x1", "48L", VECTOR, by="16L")))
    assert (strip.elements, strip.is_vector) == (4 * 48, True)


def test_symbolic_loops_count_as_one_pass() -> None:
    (strip,) = found(loop("x0", "ks0", loop("x1", "16L*ks1", loop("x2", "8L", SCALAR))))
    assert (strip.span, strip.elements, strip.is_symbolic) == (8, 8, True)


def test_loops_one_after_the_other_are_strips_each() -> None:
    first, second = found(loop("x0", "4L", SCALAR) + loop("x0", "6L", VECTOR, by="16L"))
    assert (first.elements, second.elements) == (4, 6)


@pytest.mark.parametrize(
    "header",
    [
        "for(long x0=static_cast<long>(0L); x0<static_cast<long>(64L); x0+=static_cast<long>(1L))",
        "for (int64_t x0 = 0; x0 < 64; x0++)",
        "for(int64_t x0=static_cast<int64_t>(0); x0<static_cast<int64_t>(64L); ++x0)",
    ],
)
def test_headers_of_all_versions_are_read(header: str) -> None:
    (strip,) = found(f"{header}\n{{\n{SCALAR}\n}}")
    assert (strip.elements, strip.is_symbolic) == (64, False)


def test_a_loop_with_another_header_is_no_strip() -> None:
    assert found("for (const auto& one : all)\n{\nuse(one);\n}") == []


def test_loops_over_lanes_belong_to_the_strip_around_them() -> None:
    lanes = """
    auto tmp1 = [&]()
    {
        __at_align__ std::array<float, 16> tmpbuf_out;
        for (int i = 0; i < static_cast<int64_t>(16); i++)
        {
            tmpbuf_out[i] = zeta(tmpbuf0[i], tmpbuf1[i]);
        }
        return at::vec::Vectorized<float>::loadu(tmpbuf_out.data());
    }
    ();
    """
    (strip,) = found(loop("x0", "128L", VECTOR + lanes, by="16L"))
    assert strip.elements == 128
    assert strip.lanes.startswith("tmpbuf_out[i] = zeta(")


def test_a_gathering_load_takes_no_vector_apart() -> None:
    load = """
    for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16L); x0_inner++)
    {
        tmpbuf[x0_inner] = in_ptr0[static_cast<int64_t>(33L*x0_inner)];
    }
    """
    (strip,) = found(loop("x0", "128L", VECTOR + load, by="16L"))
    assert strip.lanes == ""


def test_a_cut_source_has_no_loops() -> None:
    assert nest_of("r'''\nfor(int64_t x0=0; x0<4; x0++)\n{\n") is None


PARALLEL = "#pragma omp parallel num_threads(8)\n{{\nint tid = 0;\n{}\n}}"


def test_a_region_around_the_loops_is_entered_once() -> None:
    assert entered(PARALLEL.format("#pragma omp for\n" + loop("x0", "64L", SCALAR))) == []


def test_a_region_inside_of_serial_loops_is_entered_in_each_turn() -> None:
    inner = PARALLEL.format("#pragma omp for\n" + loop("x2", "4096L", SCALAR))
    (region,) = entered(loop("x0", "96L", loop("x1", "8L", inner, by="16L")))
    assert (region.at, region.entries, region.is_symbolic) == (3, 96, False)


def test_a_region_after_another_is_found_too() -> None:
    once = PARALLEL.format("#pragma omp for\n" + loop("x0", "64L", SCALAR))
    inner = PARALLEL.format("#pragma omp for\n" + loop("x1", "4096L", SCALAR))
    (region,) = entered(once + "\n" + loop("x0", "ks0", inner))
    assert region.is_symbolic


PIECES = st.sampled_from(
    [
        "for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(64L); x0+=16L)",
        "for (long i0=0; i0<ks0; ++i0)",
        "for(auto x : y)",
        "for (",
        "for",
        "before(x);",
        "xfor (int i=0; i<3; i++)",
        "#pragma omp for simd",
        "#pragma omp",
        "# x",
        "#pragma GCC ivdep",
        "auto tmp0 = in_ptr0[x0];",
        "f(x)",
        ", tmp1);",
        ",",
        ";",
        "{",
        "}",
        "\n",
        " ",
        "\t",
        "'''",
        "é",
    ]
)


def walked_alike(text: str) -> bool:
    """Tell whether the grammar was not asked; either way it says the same."""
    quick, plain = _walked(text), fill("nest", text, Nest)
    if quick is not None:
        assert plain is not None
        assert quick == plain
        dumped = [one.model_dump_json(exclude_unset=True) for one in (quick, plain)]
        assert dumped[0] == dumped[1]
    return quick is not None


@given(st.lists(PIECES, max_size=16))
@example(["for (", "{", ", tmp1);", "}", ", tmp1);"])
@example(["{", "}", "}"])
@example(["\n", ", tmp1);"])
@example(["for (", "\n", "for (", "\n", ";", "a;", "b;"])
@example(["for (", "\n", ",", "a;", " "])
def test_loops_are_walked_as_the_grammar_reads_them(pieces: list[str]) -> None:
    walked_alike("".join(pieces))


def test_recorded_kernels_are_walked_as_the_grammar_reads_them() -> None:
    sources = {one for text in modules() for one in text.split("'''") if 'extern "C"' in one}
    assert len(sources) > 50
    assert sum(map(walked_alike, sorted(sources))) > len(sources) * 9 // 10
