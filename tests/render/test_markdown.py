"""The Markdown format, parsed again as GitHub would."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tracelens.render import Options
from tracelens.render._github import text
from tracelens.render._strings import one_line, spans
from tracelens.render.markdown import MAX_CHARS, Markdown
from tracelens.report import EvidenceLine, Report

OURS = re.compile(r"</?details>|<summary>[^<>]*</summary>|\s+")
LIVE = re.compile(r"@\w|#\d|\bGH-\d|https?://\w|\bwww\.\w|:[a-z0-9_+-]+:", re.IGNORECASE)


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def leaves(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from leaves(token.children or [])


def test_nothing_of_a_log_is_live(report: Report) -> None:
    for token in leaves(parsed(Markdown.render(report, Options()))):
        assert token.type not in {"link_open", "image", "html_inline", "em_open", "s_open"}
        if token.type == "html_block":
            assert not OURS.sub("", token.content)
        if token.type in {"text", "html_block"}:
            assert not LIVE.search(token.content), token.content


def test_every_fence_is_closed(report: Report) -> None:
    text = Markdown.render(report, Options())
    lines = text.splitlines()
    for token in parsed(text):
        if token.type == "fence":
            assert token.map is not None
            assert lines[token.map[1] - 1] == token.markup
            assert token.info in {"text", "sh", "python"}


def test_the_text_is_all_there(reports: dict[str, Report], hostile_texts: tuple[str, ...]) -> None:
    tokens = list(leaves(parsed(Markdown.render(reports["hostile"], Options(redact=False)))))
    code = "\n".join(token.content for token in tokens if token.type == "fence")
    words = "".join(t.content for t in tokens if t.type in {"text", "code_inline"})
    assert hostile_texts[0] in code
    assert hostile_texts[4] in code
    assert hostile_texts[0] in words
    assert "@\u200boctocat fixes #\u200b123 and GH-\u200b7" in words


def test_a_place_can_be_copied() -> None:
    said = text("it breaks at <site-packages>/torch/nn/modules.py:239: see model.py:7 and x.py:9.")
    assert "`<site-packages>/torch/nn/modules.py:239`" in said
    assert "`model.py:7`" in said
    assert "\u200b" not in said


@pytest.mark.parametrize("said", ["https://`evil.test`", "https://evil.test", "x:https://\\e.test"])
def test_an_address_is_broken_before_its_slashes(said: str) -> None:
    assert "://" not in text(said)
    assert ":\u200b//" in text(said)


def test_tables_have_as_many_cells_as_columns(report: Report) -> None:
    cells: list[int] = []
    for token in parsed(Markdown.render(report, Options())):
        if token.type == "tr_open":
            cells.append(0)
        elif token.type in {"th_open", "td_open"}:
            cells[-1] += 1
        elif token.type == "table_close":
            assert len(set(cells)) == 1
            cells = []


def test_it_reads_well(reports: dict[str, Report]) -> None:
    text = Markdown.render(reports["reference"], Options())
    assert text.startswith("## tracelens: 1 error, 1 warning and 1 info in `run.log`\n")
    assert "torch 2.10.0 · oneDNN 3.7.1" in text
    assert "### error ONE001: inner_product 64x64x64 bf16" in text
    assert "**Where** `~/proj/seed.py:14 in forward` · **Cost** 340 ms, 76 %" in text
    assert "```sh\nTORCHINDUCTOR_FREEZING=0\n```" in text
    assert "<summary>Evidence (5 lines)</summary>" in text
    assert "2 mentions of names, paths or secrets replaced." in text
    logs = "graph_breaks,graph_code,guards,output_code,recompiles"
    command = f'ONEDNN_VERBOSE=1 TORCH_LOGS="{logs}" python your_program.py > run.log 2>&1'
    assert f"```sh\n{command}\n```" in text


def big(report: Report, count: int) -> Report:
    finding = report.findings[0]
    evidence = tuple(
        EvidenceLine(input="run.log", line=n, text="`" * (n % 9) + "word " * 60) for n in range(9)
    )
    findings = tuple(
        finding.model_copy(
            update={
                "id": f"ONE001-{n:06}",
                "title": f"number {n}",
                "message": "Why it matters. " * 9,
                "evidence": evidence,
            }
        )
        for n in range(count)
    )
    return report.model_copy(update={"findings": findings})


@pytest.mark.parametrize("limit", [0, 200, 1_000, 3_000, 8_000, 20_000, 65_536])
def test_the_budget_holds_and_the_worst_stays(reports: dict[str, Report], limit: int) -> None:
    report = big(reports["reference"], 300)
    text = Markdown.render(report, Options(max_chars=limit))
    assert len(text) <= (limit or MAX_CHARS)
    assert text.startswith("## tracelens: 300 errors")
    if limit in {0, 20_000}:
        assert "### error ONE001: number 0\n" in text
        assert "### error ONE001: number 299" not in text
        assert re.search(r"_Left out to stay below [\d,]+ characters: .* and \d+ more\._\n$", text)
    numbers = [
        int(found) for found in re.findall(r"^### error ONE001: number (\d+)$", text, re.MULTILINE)
    ]
    assert numbers == list(range(len(numbers)))
    lines = text.splitlines()
    for token in parsed(text):
        if token.type == "fence":
            assert token.map is not None
            assert lines[token.map[1] - 1] == token.markup
    assert text.count("<details>") == text.count("</details>")


def test_a_long_page_says_what_to_do_first_and_folds_the_rest(reports: dict[str, Report]) -> None:
    report = reports["reference"]
    like = report.told[0]
    many = [
        like.model_copy(update={"id": f"ONE001-{n:06x}", "title": f"`f` number {n}"})
        for n in range(60)
    ]
    page = Markdown.render(report.model_copy(update={"findings": tuple(many)}), Options())
    assert page.index("**Start here**") < page.index("| Rule |")
    assert len(re.findall(r"^### error ONE001", page, re.MULTILINE)) == 10
    assert "<summary>error ONE001-00000a: f number 10</summary>" in page
    assert "<summary>error ONE001-000009: f number 9</summary>" not in page
    few = Markdown.render(report, Options())
    assert "**Start here**" not in few
    assert re.search(r"\| GRD001 \|.*\| unknown \|$", few, re.MULTILINE)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="`*_[]()<>@#|\\~:$&!-+= a1./\n\u202e", max_size=40))
def test_any_text_stays_text(value: str) -> None:
    tokens = list(leaves(parsed(f"{text(value)}\n")))
    assert {token.type for token in tokens} <= {
        "paragraph_open",
        "paragraph_close",
        "inline",
        "text",
        "code_inline",
    }
    shown = "".join(token.content for token in tokens if token.type in {"text", "code_inline"})
    wanted = "".join(part.strip() if ticked else part for ticked, part in spans(one_line(value)))
    # What stands on both sides of a code span does not touch.
    assert not LIVE.search("".join(t.content if t.type == "text" else "\0" for t in tokens))
    assert "".join(shown.replace("\u200b", "").split()) == "".join(wanted.split())
