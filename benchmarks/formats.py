"""Are SARIF, JUnit and the other formats of CI valid for every log of the corpus?

    TRACELENS_CORPUS=../shared python benchmarks/formats.py --schema sarif-schema-2.1.0.json

The schema is that of OASIS, a file of your own; with it or without it SARIF is held to what
``tests/render/valid.py`` asks for, as are the elements, attributes and sums of JUnit as Jenkins and
GitLab read it, the required fields of GitLab's report, and the annotations of GitHub.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.corpus import cases, log_of  # noqa: E402 -- the path is set above
from tests.render.valid import (  # noqa: E402
    github_problems,
    gitlab_problems,
    junit_problems,
    sarif_problems,
)
from tracelens import analyze  # noqa: E402
from tracelens.errors import SourceError  # noqa: E402
from tracelens.render import Options  # noqa: E402
from tracelens.render.github import Github  # noqa: E402
from tracelens.render.gitlab import Gitlab  # noqa: E402
from tracelens.render.junit import Junit  # noqa: E402
from tracelens.render.sarif import GithubSarif, Sarif  # noqa: E402


def problems(log: str, schema: jsonschema.Draft7Validator | None) -> list[str]:
    report = analyze(log)
    found = []
    for cls in (Sarif, GithubSarif):
        data = json.loads(cls.render(report, Options(redact=True)))
        found += sarif_problems(data)
        if schema is not None:
            found += [f"{e.json_path}: {e.message[:200]}" for e in schema.iter_errors(data)]
    junit = ET.fromstring(Junit.render(report, Options(redact=True)))  # noqa: S314 -- our own
    found += junit_problems(junit)
    found += gitlab_problems(json.loads(Gitlab.render(report, Options(redact=True))))
    return found + github_problems(Github.render(report, Options(redact=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schema", type=Path)
    parser.add_argument("--pattern", default="*/*")
    parser.add_argument("-o", dest="out", type=Path)
    options = parser.parse_args()
    schema = None
    if options.schema:
        schema = jsonschema.Draft7Validator(json.loads(options.schema.read_text()))
    result: dict[str, Any] = {"logs": 0, "problems": {}, "nothing in it": []}
    counts: Counter[str] = Counter()
    for case in cases(options.pattern):
        if not list(case.glob("log.txt*")):
            continue
        try:
            said = problems(log_of(case), schema)
        except SourceError:  # a run that logged nothing
            result["nothing in it"].append(f"{case.parent.name}/{case.name}")
            continue
        result["logs"] += 1
        counts.update(said)
    result["problems"] = dict(counts.most_common())
    result["schema"] = "OASIS 2.1.0" if schema else "ours"
    result["date"] = f"{datetime.date.today()}"
    text = json.dumps(result, indent=2) + "\n"
    print(text)
    if options.out:
        options.out.write_text(text)
    return bool(result["problems"])


if __name__ == "__main__":
    sys.exit(main())
