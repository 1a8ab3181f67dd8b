"""The command line: what comes out byte for byte, exit codes, reports, trees, colours, pipes."""

import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from jsonrepair_lark import formats, repair
from jsonrepair_lark.__main__ import main

COMMAND: Final = [sys.executable, "-P", "-m", "jsonrepair_lark"]
ESCAPE: Final = "\x1b["


def run(*arguments: str, text: bytes = b"", **environment: str) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of a process that reads `text`."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=text,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def cut(tmp_path: Path) -> str:
    path = tmp_path / "cut.json"
    path.write_bytes('{"a": "café\nx", "b": [1, 2'.encode())
    return str(path)


# -- repair ----------------------------------------------------------------------------------------


def test_a_file_comes_out_repaired(cut: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["repair", cut]) == 0
    out, err = capsysbinary.readouterr()
    assert out.decode() == '{"a": "café\\nx", "b": [1, 2]}'
    assert err == b""


@pytest.mark.parametrize("arguments", [["repair"], ["repair", "-"]])
def test_without_a_file_stdin_is_read(arguments: list[str]) -> None:
    assert run(*arguments, text=b'{"a": [1') == (0, b'{"a": [1]}', b"")


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": 1}',
        b' {"a" :\t1.0 ,\r\n"b":[ ] }\r\n',
        b"[1]\n",
        b"[1]\n\n",
        '["é\u2028\U0001f600"]'.encode(),
        b'"\\u00e9\\/"',
    ],
)
def test_valid_text_comes_out_byte_for_byte(text: bytes) -> None:
    assert run("repair", text=text) == (0, text, b"")
    # Whatever the locale says.
    assert run("repair", text=text, PYTHONIOENCODING="ascii", LC_ALL="C") == (0, text, b"")


def test_line_ends_of_a_repaired_text_stay(tmp_path: Path) -> None:
    path = tmp_path / "text.json"
    path.write_bytes(b'{"a":\r\n [1,\n2,\r]\r\n')
    assert run("repair", str(path)) == (0, b'{"a":\r\n [1,\n2\r]}\r\n', b"")


def test_other_encodings_come_out_as_utf_8() -> None:
    assert run("repair", text='{"a": "é'.encode("utf-16") + '"'.encode("utf-16-le")) == (
        0,
        '{"a": "é"}'.encode(),
        b"",
    )


def test_a_refused_text_leaves_stdout_empty() -> None:
    code, out, err = run("repair", text=b'{"a":\n ["x", ')
    assert (code, out) == (1, b"")
    assert err.decode() == (
        "status: rejected\n"
        "dangling_comma at $.a[1]: Expected a value, got end of text: line 2 column 8 (char 13)\n"
        '   ["x", \n'
        "         ^\n"
        'sound so far: {"a": ["x"]}\n'
    )


def test_a_report_tells_of_each_edit(cut: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "--report", cut]) == 0
    out, err = capsys.readouterr()
    assert out == (
        "status: repaired\n"
        "control_character at line 1 column 12 (char 11)\n"
        "  - '\\n'\n"
        "  + '\\\\n'\n"
        "missing_closer at line 2 column 15 (char 26)\n"
        "  + ']}'\n"
    )
    assert err == ""


def test_a_report_of_a_refusal_has_a_caret_under_the_place(tmp_path: Path) -> None:
    path = tmp_path / "refused.json"
    for before, after in (("", ""), ("x" * 300, "y" * 300), ("é\u3000\t" * 5, "\x07" * 9)):
        text = f'[\n"{before}" @{after}\n]'
        path.write_text(text, encoding="utf-8", newline="")
        code, out, _ = run("repair", "--report", str(path))
        assert code == 1
        lines = out.decode().split("\n")
        (index,) = [number for number, line in enumerate(lines) if line.strip() == "^"]
        assert lines[index - 1][lines[index].index("^")] == "@"
        assert len(lines[index - 1]) < 100
        assert lines[0] == "status: rejected"
        assert "unexpected_input" in lines[1]


def test_a_report_of_valid_text_is_short(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "valid.json"
    path.write_bytes(b"[1]")
    assert main(["repair", "--report", str(path)]) == 0
    assert capsys.readouterr().out == "status: valid\n"


def test_a_report_for_machines(cut: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "--json", cut]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == {
        "status": "repaired",
        "text": '{"a": "café\\nx", "b": [1, 2]}',
        "span": [0, 26],
        "repairs": [
            {
                "kind": "control_character",
                "offset": 11,
                "line": 1,
                "column": 12,
                "removed": "\n",
                "inserted": "\\n",
            },
            {
                "kind": "missing_closer",
                "offset": 26,
                "line": 2,
                "column": 15,
                "removed": "",
                "inserted": "]}",
            },
        ],
    }


def test_a_refusal_for_machines() -> None:
    code, out, err = run("repair", "--json", text=b'{"a": [1, {"b": ')
    assert (code, err) == (1, b"")
    data = json.loads(out)
    assert data["status"] == "rejected"
    assert data["reason"] == "missing_value"
    assert data["partial"] == {"a": [1, {}]}
    assert data["repairs"] == []
    assert "text" not in data
    rejection = data["rejection"]
    assert [rule["rule"] for rule in rejection.pop("open_rules")] == [
        "object",
        "pair",
        "array",
        "object",
        "pair",
    ]
    assert rejection == {
        "offset": 16,
        "line": 1,
        "column": 17,
        "path": "$.a[1].b",
        "expected": ["a value"],
        "kind": None,
        "message": "Expected a value for $.a[1].b, got end of text",
    }


@pytest.mark.parametrize("flag", ["--report", "--json"])
@pytest.mark.parametrize(
    "text", [b"\xff", b"", b'["\xed\xa0\x80"]', b'"\\ud800"', b"\x00" * 9, b"[" * 9999]
)
def test_any_bytes_can_be_reported(flag: str, text: bytes) -> None:
    code, out, err = run("repair", flag, text=text)
    assert (code, err) == (1, b"")
    assert out.decode("utf-8")


# -- lines -----------------------------------------------------------------------------------------

LINES: Final = b'{"a":1}\r\n[1,2\n\n \t \nxx\n{"b":None}\r\n[1,2]'


def test_each_line_is_a_text() -> None:
    code, out, err = run("repair", "--lines", text=LINES)
    assert code == 1
    assert out == b'{"a":1}\n[1,2]\n{"b":null}\n[1,2]\n'
    assert err.decode().startswith("line 5: status: rejected\n")
    assert err.decode().count("line ") == 2  # the label, and the place in the message


def test_lines_that_are_all_fine_exit_with_0() -> None:
    assert run("repair", "--lines", text=b"[1\n\n[2]\n") == (0, b"[1]\n[2]\n", b"")
    assert run("repair", "--lines", text=b"") == (0, b"", b"")
    assert run("repair", "--lines", text=b"\n\n") == (0, b"", b"")


def test_lines_for_machines() -> None:
    code, out, err = run("repair", "--lines", "--json", text=LINES)
    assert (code, err) == (1, b"")
    reports = [json.loads(line) for line in out.splitlines()]
    assert [report["status"] for report in reports] == [
        "valid",
        "repaired",
        "rejected",
        "repaired",
        "valid",
    ]
    assert [report.get("text") for report in reports] == [
        '{"a":1}',
        "[1,2]",
        None,
        '{"b":null}',
        "[1,2]",
    ]


def test_a_report_of_lines_names_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(LINES)
    assert main(["repair", "--lines", "--report", str(path)]) == 1
    out = capsys.readouterr().out
    assert re.findall(r"^line (\d+): status: (\w+)$", out, re.MULTILINE) == [
        ("1", "valid"),
        ("2", "repaired"),
        ("5", "rejected"),
        ("6", "repaired"),
        ("7", "valid"),
    ]


def test_refusals_and_texts_come_in_the_order_of_the_lines(tmp_path: Path) -> None:
    with (tmp_path / "both").open("w+b") as both:
        subprocess.run(
            [*COMMAND, "repair", "--lines"],
            input=b"[1\nx\n[2\ny\n[3",
            stdout=both,
            stderr=both,
            check=False,
        )
        both.seek(0)
        lines = both.read().decode().splitlines()
    shown = [line for line in lines if line.startswith(("[", "line "))]
    assert [line.partition(":")[0] for line in shown] == ["[1]", "line 2", "[2]", "line 4", "[3]"]


# -- tree ------------------------------------------------------------------------------------------

TREE: Final = """\
tree
  start
    object
      pair
        string
          STRING '"a"' 1..4
        array
          number
            NUMBER '1' 7..8
          number
            NUMBER '2' 10..11
open rules, outermost first: • is where each stands
  object: '{' • pairs '}' from 0
  pair: string ':' • value from 1
  array: '[' • items ']' from 6
closers ']}' at 11
status: repaired
missing_closer at line 1 column 12 (char 11)
  + ']}'
"""


def test_a_tree_shows_tokens_open_rules_and_closers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes(b'{"a": [1, 2')
    assert main(["tree", str(path)]) == 0
    assert capsys.readouterr().out == TREE


def test_a_tree_of_a_refused_text_shows_what_is_open() -> None:
    code, out, err = run("tree", text=b'{"a": [1, {"b')
    assert (code, err) == (1, b"")
    shown = out.decode()
    assert "STRING_TEXT 'b' 12..13" in shown
    assert shown.index("object: '{' ") < shown.index("array: '[' ") < shown.index("string: '\"' ")
    assert "closers" not in shown
    assert "incomplete_string at $.a[1]" in shown
    assert 'sound so far: {"a": [1, {}]}' in shown


def test_a_tree_shows_no_closers_that_were_not_allowed() -> None:
    code, out, _ = run("tree", "--profile", "strict", text=b"[1")
    assert code == 1
    assert "closers" not in out.decode()
    assert "repair_not_allowed" in out.decode()


def test_a_tree_for_machines() -> None:
    code, out, err = run("tree", "--json", text=b"[1, null,")
    assert (code, err) == (1, b"")
    data = json.loads(out)
    assert data["closers"] == []
    assert data["reason"] == "dangling_comma"
    assert data["partial"] == [1, None]
    assert data["open_rules"][0]["rule"] == "array"
    assert data["open_rules"][0]["start"] == 0
    assert data["tree"] == [
        {"depth": 0, "rule": "array"},
        {"depth": 1, "rule": "number"},
        {"depth": 2, "token": "NUMBER", "text": "1", "start": 1, "end": 2},
        {"depth": 1, "rule": "null"},
        {"depth": 2, "token": "NULL", "text": "null", "start": 4, "end": 8},
    ]


def test_trees_of_lines() -> None:
    code, out, _ = run("tree", "--lines", text=b"[1\n\nx\n{}\n")
    assert code == 1
    assert re.findall(r"^line (\d+): tree$", out.decode(), re.MULTILINE) == ["1", "3", "4"]
    code, out, _ = run("tree", "--lines", "--json", text=b"[1\n\n{}\n")
    assert code == 0
    assert [json.loads(line)["closers"] for line in out.splitlines()] == [["]"], []]


@pytest.mark.parametrize(
    "text", [b"", b"\xff", b"[" * 9999, b'{"a":' * 9999, b'"' + b"x" * 9999, b"[" + b"1," * 9999]
)
def test_any_bytes_have_a_tree(text: bytes) -> None:
    for flags in ([], ["--json"]):
        code, out, err = run("tree", *flags, text=text)
        assert (code, err) == (1, b"")
        assert out


# -- options and usage -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "text", "options"),
    [
        (["--profile", "strict"], "[1", {"profile": "strict"}),
        (["--profile", "safe"], "[1", {}),
        (["--number-at-end", "reject"], "[1", {"number_at_end": "reject"}),
        (["--empty-container", "close"], "[", {"empty_container": "close"}),
        (["--nonfinite", "null"], "[NaN]", {"nonfinite": "null"}),
        (["--lone-surrogates", "replace"], '"\\ud800"', {"lone_surrogates": "replace"}),
        (["--duplicate-keys", "reject"], '{"a":1,"a":2}', {"duplicate_keys": "reject"}),
        (["--max-depth", "1"], "[[1]]", {"max_depth": 1}),
        (["--finish-reason", "length"], "[1", {"finish_reason": "length"}),
        (
            ["--empty-container=close", "--nonfinite=null", "--max-depth=2"],
            "[NaN, [",
            {"empty_container": "close", "nonfinite": "null", "max_depth": 2},
        ),
    ],
)
def test_each_option_is_one_of_the_command_line(
    flags: list[str],
    text: str,
    options: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "text.json"
    path.write_text(text)
    result = repair(text, **options)
    assert main(["repair", *flags, "--json", str(path)]) == (result.status == "rejected")
    data = json.loads(capsys.readouterr().out)
    assert (data["status"], data.get("reason")) == (result.status, result.reason)
    assert data.get("text", result.text) == result.text
    assert main(["tree", "--json", str(path), *flags]) == (result.status == "rejected")
    assert json.loads(capsys.readouterr().out)["status"] == result.status


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["mend"],
        ["repair", "--nonfinite", "maybe"],
        ["repair", "--profile", "lenient"],
        ["repair", "--max-depth", "deep"],
        ["repair", "--no-such-option"],
        ["repair", "one", "two"],
        ["tree", "--report"],
        ["split", "one", "two"],
        ["extract", "--no-such-option"],
        ["coerce"],
        ["coerce", "--schema"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: jsonrepair-lark")


@pytest.mark.parametrize("command", ["repair", "tree", "split", "extract"])
def test_what_cannot_be_read_exits_with_2(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        assert main([command, str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("jsonrepair-lark: ")
        assert str(path) in err
        assert err.count("\n") == 1


def test_a_value_that_an_option_does_not_take_exits_with_2(
    cut: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", "--max-depth", "0", cut]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "jsonrepair-lark: max_depth must be at least 1, not 0\n")


@pytest.mark.parametrize("arguments", [["--help"], ["repair", "--help"], ["tree", "-h"]])
def test_help_is_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("usage: jsonrepair-lark")


# -- split, extract, coerce ------------------------------------------------------------------------

SIDE_BY_SIDE: Final = b'{"a":1,} [2]"\xc3\xa9"\n{"b":[3'


def test_split_writes_each_value_on_a_line() -> None:
    assert run("split", text=SIDE_BY_SIDE) == (
        0,
        '{"a":1}\n[2]\n"é"\n{"b":[3]}\n'.encode(),
        b"",
    )
    assert run("split", text=b" \n") == (0, b"", b"")


def test_split_tells_of_what_it_refuses() -> None:
    code, out, err = run("split", text=b'{"a":1} x {"b":2}')
    assert (code, out) == (1, b'{"a":1}\n')
    assert err.decode().startswith("status: rejected\nunexpected_input at $: ")


def test_split_for_machines_tells_the_spans() -> None:
    code, out, err = run("split", "--json", text=SIDE_BY_SIDE + b", ")
    assert (code, err) == (1, b"")
    reports = [json.loads(line) for line in out.splitlines()]
    assert [(report["status"], report["span"]) for report in reports] == [
        ("repaired", [0, 8]),
        ("valid", [9, 12]),
        ("valid", [12, 15]),
        ("rejected", [16, 24]),
    ]
    assert reports[0]["repairs"][0]["offset"] == 6
    assert reports[3]["reason"] == "dangling_comma"
    assert reports[3]["partial"] == {"b": [3]}


def test_extract_writes_what_it_finds() -> None:
    text = b'Use {name}:\n```json\n{"a": [1,],\n"b": None}\n```\nor [2]. \xe2\x80\xa8'
    assert run("extract", text=text) == (0, b'{"a": [1],\n"b": null}\n[2]\n', b"")
    assert run("extract", text=b"nothing {here}") == (0, b"", b"")
    code, out, err = run("extract", text=b'see {"a": 1} and {"b": "x')
    assert (code, out) == (1, b'{"a": 1}\n')
    assert "incomplete_string" in err.decode()


def test_extract_for_machines_tells_the_spans() -> None:
    code, out, err = run("extract", "--json", text='é {"a": 1,} and [2'.encode())
    assert (code, err) == (1, b"")
    reports = [json.loads(line) for line in out.splitlines()]
    assert [(report["status"], report["span"]) for report in reports] == [
        ("repaired", [2, 11]),
        ("rejected", [16, 18]),
    ]
    assert reports[1]["reason"] == "truncated"


@pytest.mark.parametrize("command", ["split", "extract"])
def test_reports_of_several_values_are_one_after_the_other(command: str) -> None:
    code, out, err = run(command, "--report", text=b'[1] {"a": [2}{"b": ')
    assert (code, err) == (1, b"")
    assert re.findall(r"^status: (\w+)$", out.decode(), re.MULTILINE) == [
        "valid",
        "repaired",
        "rejected",
    ]
    assert "missing_closer at line 1 column 9 (char 8)\n  + ']'\n" in out.decode()


@pytest.mark.parametrize("command", ["split", "extract"])
def test_lines_may_hold_several_values(command: str) -> None:
    text = b'{"a":1}{"b":2}\r\n\n[3,]\n{"c":\n'
    code, out, err = run(command, "--lines", text=text)
    assert (code, out) == (1, b'{"a":1}\n{"b":2}\n[3]\n')
    assert err.decode().startswith("line 4: status: rejected\n")
    code, out, _ = run(command, "--lines", "--report", text=text)
    labels = re.findall(r"^(line \d): status", out.decode(), re.MULTILINE)
    assert labels == ["line 1", "line 1", "line 3", "line 4"]


@pytest.mark.parametrize("command", ["split", "extract"])
def test_options_reach_every_value(command: str) -> None:
    for flags, text, out in (
        (["--nonfinite", "null"], b"[NaN] [1e999,]", b"[null]\n[null]\n"),
        (["--max-depth=1"], b"[1] [2,]", b"[1]\n[2]\n"),
        (["--lone-surrogates=replace"], b'["\\ud800"][]', b'["\\ufffd"]\n[]\n'),
    ):
        assert run(command, *flags, text=text) == (0, out, b"")
    for flags, text in (
        (["--profile", "strict"], b"[1] [2"),
        (["--finish-reason", "length"], b"[1] [2"),
    ):
        code, out, _ = run(command, *flags, text=text)
        assert (code, out) == (1, b"[1]\n")


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.json"
    properties = {"n": {"type": "integer", "minimum": 5}, "ok": {"type": "boolean"}}
    path.write_text(json.dumps({"properties": properties, "required": ["n"]}))
    return str(path)


def test_coerce_writes_the_text_with_the_types_of_the_schema(schema: str) -> None:
    text = b'{"n": "3", "ok": "Yes", "x": "1"'
    assert run("coerce", "--schema", schema, text=text) == (
        0,
        b'{"n": 3, "ok": true, "x": "1"}',
        b"",
    )
    assert run("coerce", "--schema", schema, text=b'{"n": 7}\n') == (0, b'{"n": 7}\n', b"")
    code, out, err = run("coerce", "--schema", schema, text=b'{"n": ')
    assert (code, out) == (1, b"")
    assert "missing_value" in err.decode()


def test_coerce_reports_its_changes(schema: str) -> None:
    text = b'{"n": "3", "ok": "Yes"'
    code, out, err = run("coerce", "--schema", schema, "--json", text=text)
    assert (code, err) == (0, b"")
    data = json.loads(out)
    assert data["coercions"] == [
        {"path": "$.n", "from": "3", "to": 3},
        {"path": "$.ok", "from": "Yes", "to": True},
    ]
    assert [edit["kind"] for edit in data["repairs"]] == ["coercion"] * 2 + ["missing_closer"]
    code, out, err = run("coerce", "--schema", schema, "--report", text=text)
    assert (code, err) == (0, b"")
    assert "coercion at line 1 column 7 (char 6)\n  - '\"3\"'\n  + '3'\n" in out.decode()


def test_coerce_validates_on_demand(schema: str) -> None:
    text = b'{"n": "3"}'
    code, out, err = run("coerce", "--schema", schema, "--validate", text=text)
    assert (code, out) == (1, b'{"n": 3}')
    assert err == b"schema: $.n: 3 is less than the minimum of 5\n"
    code, out, _ = run("coerce", "--schema", schema, "--validate", "--json", text=text)
    assert code == 1
    assert json.loads(out)["schema_errors"] == ["$.n: 3 is less than the minimum of 5"]
    code, out, _ = run("coerce", "--schema", schema, "--validate", "--report", text=text)
    assert code == 1
    assert "minimum of 5" in out.decode()
    assert run("coerce", "--schema", schema, "--validate", text=b'{"n": "5"}')[0] == 0
    assert run("coerce", "--schema", schema, text=text)[0] == 0


def test_coerce_takes_lines(schema: str) -> None:
    text = b'{"n": "7"}\n\n{"ok": 1\n{"n":\n'
    code, out, err = run("coerce", "--schema", schema, "--validate", "--lines", text=text)
    assert (code, out) == (1, b'{"n": 7}\n{"ok": true}\n')
    assert err.decode().startswith("line 3: schema: $: 'n' is a required property\nline 4: status:")


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b'{"type": "nope"}'])
def test_a_schema_that_is_none_exits_with_2(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    if content is not None:
        path.write_bytes(content)
    code, out, err = run("coerce", "--schema", str(path), "--validate", text=b'{"n": 1}')
    assert (code, out) == (2, b"")
    assert err.startswith(b"jsonrepair-lark: ")
    assert err.count(b"\n") == 1, err.decode()


# -- calls and formats -----------------------------------------------------------------------------

CALLS: Final = (
    'So: <tool_call>{"name": "f", "arguments": {"n": 1, "s": "é"}}</tool_call>'
    '<tool_call>{"name": "g", "arguments": {}}</tool_call>'
)


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(
        '[{"type": "function", "function": {"name": "f", "parameters":'
        ' {"type": "object", "properties": {"n": {"type": "integer"}}}}}]'
    )
    return str(path)


def test_calls_are_printed_as_json() -> None:
    code, out, err = run("calls", "--format", "hermes", text=CALLS.encode())
    assert (code, err) == (0, b"")
    assert out.endswith(b"\n")
    assert "é" in out.decode()
    data = json.loads(out)
    assert data["content"] == "So: "
    assert data["rejected"] == []
    assert [(call["index"], call["name"], call["arguments"]) for call in data["calls"]] == [
        (0, "f", {"n": 1, "s": "é"}),
        (1, "g", {}),
    ]
    for call in data["calls"]:
        start, end = call["span"]
        assert CALLS[start:end].startswith("<tool_call>")
        assert re.fullmatch("call_[0-9a-f]{12}", call["id"])


def test_calls_of_tools_that_were_not_offered_are_rejected(
    tools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "message.txt"
    path.write_text(CALLS, encoding="utf-8")
    assert main(["calls", "--format", "qwen25", "--tools", tools, str(path)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [call["name"] for call in data["calls"]] == ["f"]
    assert [(one["reason"], one["name"]) for one in data["rejected"]] == [("unknown_tool", "g")]
    assert data["format"] == "hermes"


def test_untyped_arguments_get_the_types_of_the_tools(tools: str) -> None:
    text = "<tool_call>f<arg_key>n</arg_key><arg_value>12</arg_value></tool_call>"
    for arguments, expected in (([], "12"), (["--tools", tools], 12)):
        code, out, _ = run("calls", "--format", "glm45", *arguments, text=text.encode())
        assert code == 0
        assert json.loads(out)["calls"][0]["arguments"] == {"n": expected}


def test_the_format_of_calls_is_recognised() -> None:
    code, out, _ = run("calls", "--format", "auto", text=b'[TOOL_CALLS]f{"x": 1}')
    assert code == 0
    assert json.loads(out)["calls"][0]["arguments"] == {"x": 1}
    code, out, _ = run("calls", "--format", "auto", text=b"No calls.")
    assert code == 0
    data = json.loads(out)
    assert (data["content"], data["calls"], data["rejected"]) == ("No calls.", [], [])


def test_each_line_may_be_a_message() -> None:
    text = b"[TOOL_CALLS]f{}\n\nNo calls.\n[TOOL_CALLS]f{\n"
    code, out, _ = run("calls", "--format", "mistral", "--lines", text=text)
    assert code == 1
    counts = [
        (len(data["calls"]), len(data["rejected"])) for data in map(json.loads, out.splitlines())
    ]
    assert counts == [(1, 0), (0, 0), (0, 1)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "no_such_format"],
        ["--format", "hermes", "--tools", "no_such_file"],
        ["--format", "hermes", "--max-depth", "0"],
    ],
)
def test_calls_that_can_not_be_read_exit_with_2(arguments: list[str]) -> None:
    code, out, err = run("calls", *arguments, text=CALLS.encode())
    assert (code, out) == (2, b"")
    assert err.startswith(b"jsonrepair-lark: ")
    assert err.count(b"\n") == 1


def test_the_format_of_calls_must_be_named() -> None:
    assert run("calls", text=CALLS.encode())[0] == 2


def test_bytes_that_are_no_text_are_replaced() -> None:
    code, out, _ = run("calls", "--format", "hermes", text=b"a\xff" + CALLS.encode())
    assert code == 0
    assert json.loads(out)["content"].startswith("a\ufffd")


def test_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(formats())
    for line, one in zip(lines, formats(), strict=True):
        assert re.split(r"[ :]", line)[0] == one.name
        assert line.endswith(f": {one.title}")
        assert all(alias in line for alias in one.aliases)


# -- pipes and terminals ---------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [["--lines"], ["--lines", "--json"], ["--lines", "--report"]])
def test_a_reader_that_goes_away_is_no_error(flags: list[str]) -> None:
    process = subprocess.Popen(
        [*COMMAND, "repair", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        try:
            process.stdin.write(b"[1\n" * 100_000)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.stderr.read() == b""
        assert process.wait(60) in (0, 141)


def test_a_pipe_that_is_closed_at_the_very_end_is_no_error() -> None:
    process = subprocess.Popen(
        [*COMMAND, "repair"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(b"[1")
        process.stdin.close()
        assert process.stderr.read() == b""


def on_a_terminal(*arguments: str, text: bytes, **environment: str) -> str:
    """What a process writes whose stdout and stderr are a terminal."""
    pty = pytest.importorskip("pty", reason="no terminals on this system")
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=theirs,
            stderr=theirs,
            env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **environment},
        )
        os.close(theirs)
        with process:
            assert process.stdin
            process.stdin.write(text)
            process.stdin.close()
            shown = bytearray()
            while select.select([ours], [], [], 60)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    # Linux says so where the other side is closed.
                    break
                if not piece:
                    break
                shown += piece
    finally:
        os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_colours_are_for_terminals_only(cut: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["repair", "--report", cut], ["tree", cut]):
        assert main(arguments) == 0
        plain = capsys.readouterr().out
        assert ESCAPE not in plain
        coloured = on_a_terminal(*arguments, text=b"")
        assert ESCAPE in coloured
        assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
        assert coloured.count(ESCAPE + "0m") * 2 == coloured.count(ESCAPE)
        assert on_a_terminal(*arguments, text=b"", NO_COLOR="1") == plain


def test_a_refusal_on_a_terminal_is_coloured() -> None:
    shown = on_a_terminal("repair", text=b'{"a":')
    assert f"{ESCAPE}31mmissing_value{ESCAPE}0m" in shown
    assert f"{ESCAPE}31m^{ESCAPE}0m" in shown
    assert ESCAPE not in on_a_terminal("repair", text=b'{"a":', NO_COLOR="1")


def test_text_and_json_are_never_coloured() -> None:
    # A prompt needs its newline, which the text has not.
    assert on_a_terminal("repair", text=b"[1") == "[1]\n"
    for command in ("repair", "tree"):
        assert ESCAPE not in on_a_terminal(command, "--json", text=b"[1")


def test_what_a_text_holds_does_not_reach_the_terminal() -> None:
    text = b'["\x1b[31m\x07 \xc2\x9b31m" @'
    for command in (["repair"], ["repair", "--report"], ["tree"]):
        shown = on_a_terminal(*command, text=text, NO_COLOR="1")
        assert "\x1b" not in shown, command
        assert "\x07" not in shown, command
        assert "\x9b" not in shown, command


# -- size ------------------------------------------------------------------------------------------


def test_large_texts_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    item = b'{"name": "x", "n": [1, 2.5, null]}'
    path.write_bytes(b"[" + b",\n".join([item] * 100_000))
    code, out, err = run("repair", str(path))
    assert (code, err) == (0, b"")
    assert out == path.read_bytes() + b"]"
    code, out, err = run("tree", str(path))
    assert (code, err) == (0, b"")
    assert len(out) < 1_000_000
    assert b"more" in out
    lines = tmp_path / "large.jsonl"
    lines.write_bytes((item[:-1] + b"\n") * 20_000)
    assert run("repair", "--lines", str(lines)) == (0, (item + b"\n") * 20_000, b"")
