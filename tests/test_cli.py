"""The command line, as people and programs meet it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.resources import files as resources

import jsonschema
import pytest
import samples
from attacks.safetensors import file, tensor
from shardproof.cli import _COMMANDS, run
from shardproof.explanations import EXPLANATIONS
from shardproof.findings import KINDS

HF = samples.OWN / "hf_safetensors"
WHOLE, BROKEN = HF / "llama_single_file", HF / "header_overlap"


@pytest.fixture
def command(capsys):
    def call(*arguments):
        status = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_the_first_line_is_the_verdict_and_what_was_not_judged(command):
    status, out, err = command("check", WHOLE)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"{WHOLE}: whole; not judged: payloads"
    status, out, _ = command("check", BROKEN)
    assert status == 1
    assert out.splitlines()[0] == f"{BROKEN}: broken, 1 error; not judged: payloads"
    assert "SP411 range-overlap" in out
    assert "model.norm.weight" in out


def test_of_several_paths_all_are_reported_and_the_highest_status_wins(command, tmp_path):
    (tmp_path / "model_rank_0.bin").write_bytes(b"x")
    status, out, _ = command("check", "-q", WHOLE, BROKEN)
    assert (status, len(out.splitlines())) == (1, 2)
    status, out, _ = command("check", "-q", BROKEN, tmp_path, WHOLE)
    assert (status, len(out.splitlines())) == (2, 3)


def test_what_is_not_there_is_one_sentence_and_the_rest_is_still_checked(command, tmp_path):
    status, out, err = command("check", "-q", tmp_path / "nothing", WHOLE)
    assert status == 2
    assert err == f"shardproof: {tmp_path / 'nothing'}: nothing is there; look in {tmp_path.resolve()}\n"
    assert "whole" in out


@pytest.mark.parametrize(
    "arguments", [[], ["--fail-on", "sometimes", WHOLE], ["--ignore", "SP999", WHOLE], ["--frobnicate"]]
)
def test_wrong_usage_is_two_and_says_so(command, arguments):
    status, out, err = command("check", *arguments)
    assert (status, out) == (2, "")
    assert "Error: " in err


def test_json_is_what_its_schema_says_for_every_sample(command):
    schema = json.loads(resources("shardproof.report").joinpath("report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    directories = [sample.directory for sample in samples.samples(samples.OWN)]
    _, out, _ = command("check", "--format", "json", *directories)
    document = json.loads(out)
    jsonschema.validate(document, schema)
    assert document["version"] == 1
    assert len(document["reports"]) == len(directories)
    assert sum(len(report["findings"]) for report in document["reports"]) > 50


def test_sarif_names_rules_files_and_tensors(command):
    _, out, _ = command("check", "--format", "sarif", BROKEN)
    log = json.loads(out)
    assert log["version"] == "2.1.0"
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "SP411"
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "model.safetensors"
    assert location["physicalLocation"]["region"] == {"byteOffset": 14100, "byteLength": 4}
    assert location["logicalLocations"][0]["name"] == "model.norm.weight"
    assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "SP411"


def test_findings_can_be_left_out_and_the_headline_says_so(command):
    status, out, _ = command("check", "-q", "--ignore", "SP411", BROKEN)
    assert (status, out) == (0, f"{BROKEN}: whole; not judged: payloads, SP411\n")
    assert command("check", "-q", "--select", "SP3,range-overlap", BROKEN)[0] == 1
    assert command("check", "-q", "--select", "SP3", BROKEN)[0] == 0


def test_warnings_fail_only_when_asked(command):
    stale = HF / "file_not_in_index"
    assert command("check", "-q", stale)[0] == 0
    assert command("check", "-q", "--fail-on", "warning", stale)[0] == 1
    assert command("check", "-q", "--fail-on", "note", WHOLE)[0] == 0


def test_long_reports_are_capped_with_totals(command, tmp_path):
    header = {f"t{number}": tensor("F32", [9], 4 * number, 4 * number + 4) for number in range(30)}
    (tmp_path / "model.safetensors").write_bytes(file(header, 120))
    _, out, _ = command("check", tmp_path)
    assert out.count("SP418") == 20
    assert out.splitlines()[-1] == "and 10 more; in all 30 header-size-mismatch"
    assert command("check", "-v", tmp_path)[1].count("SP418") == 30
    assert command("check", "--max-findings", "3", tmp_path)[1].count("SP418") == 3


def test_expected_tensors_are_held_against_those_that_are_there(command, tmp_path):
    (tmp_path / "keys.txt").write_text("a\nlayers.0.weight\n")
    header = {"a": tensor("F32", [2], 0, 8), "layer.0.weight": tensor("F32", [1], 8, 12)}
    (tmp_path / "model.safetensors").write_bytes(file(header, 12))
    status, out, _ = command("check", tmp_path / "model.safetensors", "--expect", tmp_path / "keys.txt")
    assert status == 1
    assert "tensor-missing: the tensor is expected and not there; the nearest name is layer.0.weight" in out
    assert "tensor-unexpected" in out


def test_names_from_files_cannot_drive_the_terminal(command, tmp_path):
    evil = "\x1b]0;pwned\x07\n\u202e"
    (tmp_path / "model.safetensors").write_bytes(file({evil: tensor("F32", [9], 0, 4)}, 4))
    _, out, _ = command("check", tmp_path)
    assert "SP418" in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_colour_is_for_terminals_and_can_be_forced(command):
    assert "\x1b[" not in command("check", BROKEN)[1]
    assert "\x1b[1;31mbroken" in command("check", "--color", "always", BROKEN)[1]


def test_every_code_is_explained_by_number_and_by_name(command):
    for kind in KINDS.values():
        assert command("explain", kind.code) == command("explain", kind.name)
    _, out, _ = command("explain", "sp301")
    assert out.startswith("SP301 chunk-gap (error)")
    words = " ".join(out.split())
    assert all(answer in words for answer in EXPLANATIONS["SP301"])
    assert len(command("explain")[1].splitlines()) == len(KINDS)
    assert command("explain", "SP000")[0] == 2
    _, out, _ = command("explain", "sp303", "CHUNK-GAP")
    assert re.findall(r"^SP\d{3} \S+", out, re.MULTILINE) == ["SP303 chunk-overlap", "SP301 chunk-gap"]


def test_formats_are_listed(command):
    _, out, _ = command("formats")
    assert "safetensors" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["-h"],
        ["check", "-h"],
        ["show", "-h"],
        ["plan", "-h"],
        ["diff", "-h"],
        ["explain", "--help"],
        ["formats", "-h"],
        ["--version"],
    ],
)
def test_help_is_there_for_every_command(command, arguments):
    status, out, err = command(*arguments)
    assert (status, err) == (0, "")
    assert out


def shell(*arguments, **options):
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment, **options
    )


def test_a_reader_that_has_enough_ends_it_quietly():
    script = f"{sys.executable} -m shardproof explain | head -1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-h"],
        ["--version"],
        ["check", BROKEN],
        ["show", WHOLE],
        ["explain"],
        ["formats"],
        ["diff", WHOLE, BROKEN],
    ],
)
def test_a_reader_that_is_gone_is_no_error(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "shardproof", *map(str, arguments)]
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent another way")
def test_ctrl_c_in_the_middle_of_a_check_is_130_and_quiet():
    script = (
        "import sys\n"
        "from shardproof.cli import main\n"
        f"first = ['check', '-q', {str(WHOLE)!r}]\n"
        "print('ready', flush=True)\n"
        f"main(first + [{str(WHOLE)!r}] * 1_000_000)\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


def test_an_interrupt_is_130_and_quiet():
    script = (
        "import shardproof.checkpoint.check as c, shardproof.cli as cli\n"
        "def stop(*a, **k): raise KeyboardInterrupt\n"
        "c.check_checkpoint = stop\n"
        "cli.main(['check', '.'])\n"
    )
    done = shell("-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_check_imports_neither_numpy_nor_a_framework():
    script = (
        "import sys\n"
        "from shardproof.cli import run\n"
        f"assert run(['check', '-q', {str(WHOLE)!r}]) == 0\n"
        "print(sorted({'numpy', 'torch', 'jax', 'rich', 'fsspec', 'shardproof.layout'} & set(sys.modules)))\n"
    )
    assert shell("-c", script).stdout.splitlines()[-1] == "[]"


def test_help_and_errors_of_any_command_import_no_numpy():
    script = (
        "import sys\n"
        "from shardproof.cli import _COMMANDS, run\n"
        "for command in _COMMANDS: assert run([command, '-h']) == 0\n"
        "for command in (['show', 'no'], ['diff', 'no', 'no']): assert run(command) == 2\n"
        "print(len(_COMMANDS), sorted({'numpy', 'shardproof.layout'} & set(sys.modules)))\n"
    )
    assert re.fullmatch(r"\d \[\]", shell("-c", script).stdout.splitlines()[-1])


def test_the_readme_shows_what_the_commands_print():
    text = (samples.HERE.parent / "README.md").read_text()
    shown = re.findall(r"```console\n(\$ shardproof (?:check|explain|show|plan|diff) .*?)```", text, re.DOTALL)
    assert len(shown) == 5
    for block in shown:
        line, _, expected = block.partition("\n")
        arguments = shlex.split(line.removeprefix("$ shardproof "))
        done = shell("-m", "shardproof", *arguments, cwd=samples.HERE.parent)
        assert done.stdout == expected
        assert done.stderr == ""


def test_a_code_that_is_nearly_one_is_suggested(command):
    status, _, err = command("explain", "chunk-gab")
    assert status == 2
    assert "did you mean chunk-gap?" in err


def test_the_help_of_every_command_teaches_by_example(command):
    seen = 0
    for name in ["", *_COMMANDS]:
        out = command(*filter(None, [name]), "-h")[1]
        _, _, examples = out.partition("Examples:\n")
        lines = [line for line in examples.splitlines() if line.strip().startswith("shardproof ")]
        assert lines, name
        for line in lines:
            called = line.split()[1]
            assert called == name or (not name and called in _COMMANDS), line
            seen += 1
    assert seen >= 20


@pytest.mark.parametrize(
    ("shell_name", "words", "expected"),
    [("bash", "explain chunk-ov", "chunk-overlap"), ("zsh", "explain sp30", "SP301"), ("fish", "ma", "map")],
)
def test_shells_complete_commands_and_codes(shell_name, words, expected):
    line = f"shardproof {words}"
    done = subprocess.run(
        [sys.executable, "-c", "from shardproof.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {
            "_SHARDPROOF_COMPLETE": f"{shell_name}_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": words.split()[-1] if shell_name == "fish" else str(len(words.split())),
        },
    )
    assert expected in done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_a_terminal_gets_colour_unless_no_color_says_something_or_it_is_dumb(monkeypatch, variables, colored):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    script = f"import pty, sys; pty.spawn([sys.executable, '-m', 'shardproof', 'check', {str(BROKEN)!r}])"
    out = shell("-c", script).stdout
    assert "broken" in out
    assert ("\x1b[" in out) is colored


OTHER_COMMANDS = [["show"], ["plan", "--mesh", "2", "--placements", "R"], ["map", "-o", "x.svg"], ["diff", WHOLE]]


@pytest.mark.parametrize("line", OTHER_COMMANDS, ids=lambda line: line[0])
def test_what_is_no_checkpoint_is_one_sentence_with_a_next_step(command, tmp_path, line):
    near, empty, other = tmp_path / "step-1000", tmp_path / "empty", tmp_path / "other"
    for directory in (near, empty, other):
        directory.mkdir()
    (other / "notes.txt").write_text("x")
    (other / "none.safetensors").write_bytes(b"")
    for path, sentence in {
        tmp_path / "step-100": f"nothing is there; did you mean {near}?",
        tmp_path / "xyz" / "a": f"nothing is there; look in {tmp_path.resolve()}",
        other / "notes.txt" / "a": f"nothing is there; {other / 'notes.txt'} is a file, name it alone",
        empty: "the directory is empty; `shardproof formats` lists what can be read",
        other
        / "notes.txt": "no reader knows this format: 1 file (notes.txt); `shardproof formats` lists what can be read",
        other / "none.safetensors": "the file has no bytes, not even a header; `shardproof check` says more",
    }.items():
        assert command(*line, path) == (2, "", f"shardproof: {path}: {sentence}\n")
    assert command(*line, "") == (2, "", "shardproof: the path is empty; the current directory is .\n")


def test_a_check_of_no_checkpoint_is_not_proved_and_ends_with_a_next_step(command, tmp_path):
    (tmp_path / "keys.text").touch()
    status, out, err = command("check", tmp_path)
    assert (status, err) == (2, "")
    assert out.startswith(f"{tmp_path}: not proved")
    assert out.endswith("\n\n`shardproof formats` lists what can be read\n")
    assert "formats" not in command("check", WHOLE)[1]
    assert command("check", "") == (2, "", "shardproof: the path is empty; the current directory is .\n")
    _, _, err = command("check", WHOLE, "--expect", tmp_path / "keys.txt")
    assert err == f"shardproof: {tmp_path / 'keys.txt'}: nothing is there; did you mean {tmp_path / 'keys.text'}?\n"


def test_names_of_neighbours_cannot_drive_the_terminal(command, tmp_path):
    (tmp_path / "step\x1b[2J").mkdir()
    status, _, err = command("show", tmp_path / "step[2J")
    assert status == 2
    assert err.endswith("did you mean " + str(tmp_path / "step") + "\\x1b[2J?\n")


def test_a_url_that_cannot_be_reached_is_one_sentence(command):
    status, out, err = command("check", "nowhere://bucket/step")
    assert (status, out) == (2, "")
    assert err.startswith("shardproof: nowhere://bucket/step: ")
    assert err.count("\n") == 1
    assert command("show", "memory://nothing/at/all") == (
        2,
        "",
        "shardproof: memory://nothing/at/all: nothing is there; look at what its store lists\n",
    )
