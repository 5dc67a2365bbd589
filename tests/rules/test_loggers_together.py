"""Lines that break for a logger: the setting of one is the setting of all."""

from pathlib import Path

from tracelens import analyze

AT = "V0812 03:18:23.088000 1912 torch/_dynamo/symbolic_convert.py:618] [0/0] [__graph_breaks]"


def broken(line: int, code: str, method: str) -> str:
    return "".join(
        f"{AT} {text}\n"
        for text in (
            f"Graph break in user code at /home/ana/proj/net.py:{line}",
            "Graph Break Reason: logging.Logger method not supported for non-export cases",
            "  Explanation: logging.Logger methods are not supported for non-export cases.",
            "  Hint: Add the logging method to `torch._dynamo.config.ignore_logging_functions`.",
            f"  Developer debug context: method: <Logger net (INFO)>.{method}, args: []",
            "User code traceback:",
            f'  File "/home/ana/proj/net.py", line {line}, in forward',
            f"    {code}",
        )
    )


def codes(text: str, folder: Path) -> dict[int, list[str]]:
    log = folder / "run.log"
    log.write_text(text)
    return {
        one.where.line or 0: [str(advice.model_dump()) for advice in one.advice]
        for one in analyze(str(log)).findings
        if one.code == "GBR004" and one.where is not None
    }


def test_the_setting_of_each_line_is_for_all_of_them(tmp_path: Path) -> None:
    asked = broken(8, "if log.isEnabledFor(10):", "isEnabledFor")
    said = broken(9, 'log.debug("x")', "debug")
    both = codes(said + asked, tmp_path)
    called = "{logging.Logger.debug, logging.Logger.isEnabledFor}"
    assert sorted(both) == [8, 9]
    for advice in both.values():
        assert f"ignore_logging_functions.update({called})" in advice[0]
        assert f"ignore_logger_methods.update({called})" in advice[1]
    alone = codes(said, tmp_path)
    assert "ignore_logging_functions.add(logging.Logger.debug)" in alone[9][0]


def test_what_has_to_answer_is_left_alone(tmp_path: Path) -> None:
    level = broken(8, "if log.getEffectiveLevel() < 20:", "getEffectiveLevel")
    told = codes(level + broken(9, 'log.debug("x")', "debug"), tmp_path)
    assert "ignore_logging_functions.add(logging.Logger.debug)" in told[9][0]
    assert not any("getEffectiveLevel" in one for one in told[8])


def test_functions_of_logging_are_no_methods_of_older_versions(tmp_path: Path) -> None:
    module = broken(8, 'logging.info("x")', "info")
    told = codes(module + broken(9, 'log.debug("x")', "debug"), tmp_path)
    assert "functions.update({logging.Logger.debug, logging.info})" in told[9][0]
    assert "methods.add(logging.Logger.debug)" in told[9][1]
