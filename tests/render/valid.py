"""What the readers of SARIF, JUnit and GitLab's reports ask of the parts that we write."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema

TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 0}


def model(required: str, optional: str = "", **properties: Any) -> dict[str, Any]:
    names = {key: {} for key in (*required.split(), *optional.split())} | properties
    return {
        "type": "object",
        "properties": names,
        "required": required.split(),
        "additionalProperties": False,
    }


#: What SARIF 2.1.0 and GitHub's code scanning ask of the parts that we write.
MESSAGE = model("text", "markdown", text=TEXT, markdown=TEXT)
LOCATION = model(
    "physicalLocation",
    "logicalLocations",
    physicalLocation=model(
        "artifactLocation region",
        artifactLocation=model("uri", uri={"type": "string", "pattern": r"^[^/<~:][^<>\\ ]*$"}),
        region=model("startLine", startLine={"type": "integer", "minimum": 1}),
    ),
)
RESULT = model(
    "ruleId ruleIndex kind level message locations partialFingerprints",
    "properties relatedLocations suppressions",
    ruleIndex=COUNT,
    kind={"enum": ["pass", "open", "informational", "review", "fail"]},
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION, "minItems": 1, "maxItems": 1},
    partialFingerprints={"type": "object", "minProperties": 1},
    suppressions={
        "type": "array",
        "items": model("kind justification", kind={"const": "external"}, justification=TEXT),
    },
)
DRIVER = model("name semanticVersion rules", rules={"type": "array", "uniqueItems": True})
RUN = model(
    "tool columnKind invocations results",
    tool=model("driver", driver=DRIVER),
    results={"type": "array", "items": RESULT},
)
SARIF = model(
    "$schema version runs",
    version={"const": "2.1.0"},
    runs={"type": "array", "items": RUN, "minItems": 1},
)

#: Elements of JUnit's schema as Jenkins and GitLab read it: attributes that must be, that may be,
#: children.
JUNIT: dict[str, tuple[str, str, str]] = {
    "testsuites": ("", "name tests failures errors skipped time", "testsuite"),
    "testsuite": (
        "name tests",
        "failures errors skipped time timestamp hostname id package",
        "testcase properties system-out system-err",
    ),
    "testcase": (
        "name classname",
        "time file line status assertions",
        "failure error skipped system-out system-err properties",
    ),
    "failure": ("", "message type", ""),
    "error": ("", "message type", ""),
    "skipped": ("", "message type", ""),
    "system-out": ("", "", ""),
    "system-err": ("", "", ""),
}
GITLAB_SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def sarif_problems(log: dict[str, Any]) -> list[str]:
    """Return what is wrong with a SARIF log; nothing when it is as code scanning wants it."""
    validator = jsonschema.Draft202012Validator(SARIF)
    found = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(log)]
    for run in log["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        found += [f"rule {rule} is there twice" for rule, n in Counter(rules).items() if n > 1]
        for result in run["results"]:
            if rules[result["ruleIndex"]] != result["ruleId"]:
                found.append(f"{result['ruleId']}: another rule's index")
            if (result["kind"] == "fail") is (result["level"] == "none"):
                found.append(f"{result['ruleId']}: {result['kind']} and {result['level']}")
        prints = Counter(json.dumps(result["partialFingerprints"]) for result in run["results"])
        found += [f"fingerprint {one} is there twice" for one, n in prints.items() if n > 1]
    return found


def junit_problems(root: ET.Element) -> list[str]:
    """Return what is wrong with a JUnit report."""
    found = [] if root.tag == "testsuites" else [f"root {root.tag}"]
    for element in root.iter():
        if element.tag not in JUNIT:
            found.append(f"element {element.tag}")
            continue
        must, may, children = (set(one.split()) for one in JUNIT[element.tag])
        found += [f"{element.tag}: no {name}" for name in must - set(element.attrib)]
        found += [f"{element.tag}: {name}" for name in set(element.attrib) - must - may]
        found += [f"{element.tag}/{c.tag}" for c in element if c.tag not in children]
        for name in {"tests", "failures", "errors", "skipped"} & set(element.attrib):
            tag = {"tests": "testcase", "failures": "failure", "errors": "error"}.get(name, name)
            if element.get(name) != str(len(list(element.iter(tag)))):
                found.append(f"{element.tag}: {name}={element.get(name)}")
        if not re.fullmatch(r"\d+(\.\d+)?", element.get("time", "0")):
            found.append(f"{element.tag}: time={element.get('time')}")
    names = Counter((case.get("classname"), case.get("name")) for case in root.iter("testcase"))
    return found + [f"case {one} is there twice" for one, count in names.items() if count > 1]


def gitlab_problems(entries: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with a report of GitLab's code quality."""
    found = [
        f"{entry.get('check_name')}: {entry}"
        for entry in entries
        if entry.get("severity") not in GITLAB_SEVERITIES
        or not entry.get("description")
        or entry["location"]["lines"]["begin"] < 1
        or entry["location"]["path"].startswith(("/", "./", "~"))
    ]
    prints = Counter(entry["fingerprint"] for entry in entries)
    return found + [f"fingerprint {one} is there twice" for one, n in prints.items() if n > 1]


def github_problems(text: str) -> list[str]:
    """Return the lines that are no annotation; one line of our own may stand among them."""
    form = re.compile(r"::(error|warning|notice) file=[^,:]+,line=\d+,title=[^,:]+::[^\r\n]+")
    lines = [line for line in text.splitlines() if not form.fullmatch(line)]
    wrong = [line for line in lines if line.startswith("::")]
    return wrong + [line for line in lines if line not in wrong][1:]
