"""The commands: inputs, outputs, exit status, wrong arguments."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import process

from wirelens.cli import main as main_module
from wirelens.cli.main import COMMANDS
from wirelens.cli.output import Output
from wirelens.codecs import CODES, registry

if TYPE_CHECKING:
    from commands import Run

MESSAGE = bytes.fromhex("1e0000010800000000")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000001f4000000fa0802000000")
DAMAGED = bytes.fromhex("1e00000108000000")


@pytest.fixture
def message(tmp_path: Path) -> Path:
    path = tmp_path / "message.bin"
    path.write_bytes(MESSAGE)
    return path


def test_help_without_arguments(run: Run) -> None:
    bare = run()
    assert bare.exit_code == 0
    assert bare.output == run("-h").output == run("--help").output
    for name in COMMANDS:
        assert f"  {name} " in bare.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str, run: Run) -> None:
    result = run(name, "-h")
    assert result.exit_code == 0
    assert "Examples:" in result.output or name in ("bulk", "doctor")
    assert COMMANDS[name][1] in run().output


def test_version(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.startswith("wirelens ")


def test_protocols(run: Run) -> None:
    rows = json.loads(run("protocols", "--format", "json").stdout)
    assert [row["protocol"] for row in rows] == registry.names()
    assert [row["title"] for row in rows] == [protocol.title for protocol in registry.PROTOCOLS]
    text = run("protocols").stdout
    assert [line.split()[0] for line in text.splitlines()] == registry.names()


@pytest.mark.parametrize("protocol", registry.names())
def test_a_protocol_explains_itself(protocol: str, run: Run) -> None:
    notation = registry.notation(protocol)
    text = run("protocols", protocol, "--width", "80").stdout
    assert max(map(len, text.splitlines())) <= 80
    everything = json.loads(run("protocols", protocol, "--format", "json").stdout)
    assert everything["kinds"] == list(registry.get(protocol).kinds)
    for schema, shown in zip(notation.objects, everything["objects"], strict=True):
        assert not schema.members or f"\n{schema.title}\n" in text
        assert [member["name"] for member in shown["members"]] == list(schema.members)
        for member in schema.members.values():
            assert f"  {member.name}" in text
            assert [name for name in (*member.names.values(), *member.choices) if name not in text] == []
    for name in notation.examples:
        written = run("protocols", protocol, "--example", name).stdout
        assert json.loads(written)["message"] == notation.examples[name]
        encoded = run("encode", "-", stdin=written)
        assert (encoded.exit_code, encoded.stderr) == (0, "")
        decoded = run("decode", "--input", "raw", "--as", protocol, "-", stdin=encoded.stdout_bytes)
        assert decoded.exit_code == 0
    assert run("protocols", protocol, "--example").stdout == run("protocols", "--example", protocol).stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["dubo"], "Did you mean 'dubbo'?"),
        (["dubbo", "--example", "ask"], "there are request, response, exception"),
        (["--example"], "--example needs a protocol"),
        (["dubbo", "--codes"], "not of one protocol"),
    ],
)
def test_mistakes_about_a_protocol(words: list[str], text: str, run: Run) -> None:
    result = run("protocols", *words)
    assert result.exit_code == 2
    assert text in result.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("decode --protocol dubbo x", "Did you mean '--as'?"),
        ("decode --formt json x", "Did you mean '--format'?"),
        ("decode --quiet x", "No such option '--quiet'."),
        ("calls -r x", "Name files alone: wirelens calls FILE"),
        ("convert x", "Did you mean 'bulk'?"),
        ("hepl", "Did you mean 'help'?"),
    ],
)
def test_unknown_options_and_commands(words: str, text: str, run: Run) -> None:
    result = run(*words.split())
    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith(text)


def test_protocols_inside_another_are_taken_for_it(run: Run) -> None:
    for name in ("grpc", "triple"):
        assert run("protocols", name).stdout == run("protocols", "http2").stdout
        assert run("encode", "--as", name, "-", stdin='{"preface": true}').stdout.startswith("PRI * HTTP/2.0")
    assert json.loads(run("protocols", "triple", "--format", "json").stdout)["protocol"] == "http2"


def test_codes(run: Run) -> None:
    rows = json.loads(run("protocols", "--codes", "--format", "json").stdout)
    assert {row["code"]: row["text"] for row in rows} == {name: code.text for name, code in CODES.items()}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["decode", "--hex", MESSAGE.hex()], 0),
        (["decode", "--as", "esnp-line", "--hex", DAMAGED.hex()], 1),
        (["decode", "--hex", PNG.hex()], 1),
        (
            ["decode", "--as", "esnp-line", "--hex", "1500000402 6b0599 00000000"],
            1,
        ),  # an error inside a message
        (["decode", "no-such-file"], 2),
        (["decode", "--hex", MESSAGE.hex(), "no-such-file"], 2),
        (["decode", "--no-such-option"], 2),
        (["decode", "--as", "no-such-protocol", "--hex", "00"], 2),
        (["decode", "--input", "hex", "--hex", "no hex"], 2),
        (["detect", "--hex", MESSAGE.hex()], 0),
        (["detect", "--hex", PNG.hex()], 1),
        (["detect", "no-such-file"], 2),
        (["encode", "--json", '{"lines": []}', "--as", "esnp-line"], 0),
        (["encode", "--json", '{"lines": []}'], 2),
        (["encode", "--json", "{"], 2),
        (["bytes", "--hex", "0xca"], 0),
        (["bytes", "no-such-file"], 2),
        (["flows", "--hex", MESSAGE.hex()], 2),
        (["no-such-command"], 2),
    ],
)
def test_exit_status(words: list[str], status: int, run: Run) -> None:
    result = run(*words)
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output


def test_standard_input(run: Run) -> None:
    for words in (["decode"], ["decode", "-"]):
        for given in (MESSAGE, MESSAGE.hex().encode(), gzip.compress(MESSAGE)):
            result = run(*words, "--format", "jsonl", stdin=given)
            assert result.exit_code == 0
            assert json.loads(result.stdout)["message"]["lines"][0]["flag"] == "REQUEST"


def test_records_of_several_inputs_have_their_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "payloads"
    (folder / "below").mkdir(parents=True)
    (folder / ".hidden").write_bytes(b"no")
    for name in ("b.bin", "a.hex", "below/c.bin.gz"):
        given = MESSAGE.hex().encode() if name.endswith("hex") else MESSAGE
        (folder / name).write_bytes(gzip.compress(given) if name.endswith("gz") else given)
    result = run("decode", "--format", "jsonl", str(folder))
    files = [json.loads(line)["source"]["file"] for line in result.stdout.splitlines()]
    assert files == [str(folder / name) for name in ("a.hex", "b.bin", "below/c.bin.gz")]
    tree = run("decode", str(folder)).stdout
    assert [line for line in tree.splitlines() if line.startswith(str(tmp_path))] == files
    summary = run("decode", "--format", "summary", str(folder)).stdout
    assert [line.split()[0] for line in summary.splitlines()] == files


def test_an_unreadable_input_does_not_stop_the_others(run: Run, message: Path) -> None:
    result = run("decode", "--format", "summary", "no-such-file", str(message))
    assert result.exit_code == 2
    assert "no-such-file: No such file" in result.stderr
    assert "esnp-line" in result.stdout


def test_result_and_reports_are_separate(run: Run, message: Path) -> None:
    result = run("decode", "-v", "--format", "jsonl", str(message))
    assert json.loads(result.stdout)["protocol"] == "esnp-line"
    assert f"{message}: read as raw" in result.stderr
    assert "bits of evidence" in result.stderr


def test_forced_form(run: Run) -> None:
    text = b"cafe"
    assert run("bytes", "--to", "hex", stdin=text).stdout == "cafe\n"
    assert run("bytes", "--to", "hex", "--input", "raw", stdin=text).stdout == text.hex() + "\n"
    refused = run("bytes", "--input", "base64", stdin=b"\0\1")
    assert refused.exit_code == 2
    assert "base64" in refused.stderr


def test_output_file_is_complete_or_absent(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    assert run("encode", "--as", "esnp-line", "--json", '{"lines": []}', "-o", str(target)).exit_code == 0
    assert target.read_bytes() == b"\0\0\0\0"
    target.chmod(0o600)
    failed = run("encode", "--as", "esnp-line", "--json", '{"lines": [{}]}', "-o", str(target))
    assert failed.exit_code == 2
    assert target.read_bytes() == b"\0\0\0\0"
    assert run("bytes", "--hex", "cafe", "-o", str(target)).exit_code == 0
    assert target.read_bytes() == b"\xca\xfe"
    assert target.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["out.bin"]
    refused = run("bytes", "--hex", "cafe", "-o", str(tmp_path))
    assert refused.exit_code == 2
    assert "is a directory" in refused.stderr


def test_output_is_written_if_something_did_not_decode(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    result = run("decode", "--hex", PNG.hex(), "-o", str(target))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "89 50 4e 47" in target.read_text()


def test_input_is_not_overwritten(run: Run, message: Path) -> None:
    result = run("decode", str(message), "-o", str(message))
    assert result.exit_code == 2
    assert "is an input" in result.stderr
    assert message.read_bytes() == MESSAGE


def test_output_in_a_missing_folder(run: Run) -> None:
    result = run("decode", "--hex", MESSAGE.hex(), "-o", "/no/such/folder/x")
    assert result.exit_code == 2
    assert "no such folder" in result.stderr


def test_output_that_cannot_be_written_is_named(run: Run) -> None:
    result = run("decode", "--hex", MESSAGE.hex(), "-o", "/proc/wirelens")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: /proc/wirelens: ")


@pytest.mark.parametrize("options", [(), ("--input", "hex")])
@pytest.mark.parametrize(
    ("text", "byte", "column", "wrong"),
    [
        ("1e00000108000g0000", 13, 14, "g"),
        ("1e 00 0g", 7, 8, "g"),
        ("1e 00 00 01 08 0g 00 00 00", 16, 17, "g"),
        ("0x1e00zz", 7, 7, "z"),
        ("hello", 1, 1, "h"),
        ("da bb o2", 7, 7, "o"),
    ],
)
def test_a_wrong_digit_of_hex_has_its_place(
    run: Run, text: str, byte: int, column: int, wrong: str, options: tuple[str, ...]
) -> None:
    result = run("bytes", *options, "--hex", text)
    assert result.exit_code == 2
    assert result.stdout == ""
    place = f"--hex:1:{byte}: {wrong!r} at line 1, column {column} is not a hex digit"
    assert place in result.stderr


def test_what_was_taken_of_a_text_is_reported(run: Run) -> None:
    dump = "\n".join(f"{at:08x}: {MESSAGE[at : at + 16].hex(' ')}" for at in range(0, len(MESSAGE), 16))
    result = run("bytes", "--to", "hex", stdin=f"Hello,\n\nwe get this:\n{dump}\n\nWhat is it?\n")
    assert result.stdout.strip() == MESSAGE.hex()
    last = 3 + len(dump.splitlines())
    lines = "line 4 was" if last == 4 else f"lines 4 to {last} were"
    assert result.stderr == f"-: {lines} taken as the bytes; the text around was left out\n"
    result = run("bytes", stdin="dabbe20000000000\n00000001 or so\n000000014e\n")
    assert result.stderr == (
        "-: mostly hex, but at line 2, column 10 'or' fits no form of bytes; using the text itself\n"
    )


def test_text_given_as_raw_is_its_own_bytes(run: Run) -> None:
    assert run("bytes", "--input", "raw", "--hex", "hello").stdout == "hello"
    assert run("bytes", "--input", "raw", "--hex", "hello").stderr == ""
    assert run("bytes", "--hex", "ca fe").stderr == ""


def test_digits_given_with_hex_are_hex(run: Run) -> None:
    assert run("bytes", "--hex", "68 65 79").stdout == "hey"
    assert run("bytes", "--input", "decimal", "--hex", "68 65 79").stdout == "DAO"
    assert "pasted-ambiguous" in run("bytes", stdin="68 65 79").stderr


def test_the_detection_that_decoded_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wirelens.cli.input.CHUNK", 8)  # too few bytes in a chunk for detection
    order = b"POST /order HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    result = run("decode", "-v", "--format", "summary", "--input", "raw", stdin=order)
    assert "POST /order" in result.stdout
    assert "-: http, " in result.stderr
    assert "unknown" not in result.stderr


def test_damaged_gzip_is_reported(run: Run) -> None:
    packed = gzip.compress(MESSAGE + os.urandom(4096))
    cut = run("decode", "--as", "esnp-line", "--format", "jsonl", stdin=packed[:2000])
    assert cut.exit_code == 1
    assert "the gzip data is cut off" in cut.stderr
    assert json.loads(cut.stdout.splitlines()[0])["message"]["lines"]
    broken = run("decode", "--as", "esnp-line", stdin=packed[:2000] + b"\xff" * 2000)
    assert broken.exit_code == 1


def test_every_command_reports_the_form_and_truncation(run: Run, shared: Path) -> None:
    capture = gzip.compress((shared / "captures" / "sessions" / "esnp_line_tcp.pcap").read_bytes())[:-9]
    message = gzip.compress(MESSAGE)[:-9]
    for command, packed, form in (
        ("decode", message, "raw"),
        ("decode", capture, "pcap"),
        ("detect", message, "raw"),
        ("flows", capture, "pcap"),
        ("bytes", message, "raw"),
    ):
        result = run(command, "-v", stdin=packed)
        assert result.exit_code == 1, command
        assert f"-: read as gzipped {form}" in result.stderr
        assert "the gzip data is cut off" in result.stderr


def test_a_wrong_gzip_checksum_loses_nothing(run: Run, shared: Path, tmp_path: Path) -> None:
    capture = (shared / "captures" / "sessions" / "esnp_line_tcp.pcap").read_bytes()
    record = run("decode", "--format", "jsonl", stdin=MESSAGE).stdout.encode()
    for command, content in (
        ("decode", MESSAGE),
        ("decode", capture),
        ("detect", MESSAGE),
        ("detect", capture),
        ("flows", capture),
        ("bytes", MESSAGE),
        ("encode", record),
    ):
        packed = bytearray(gzip.compress(content))
        packed[-6] ^= 1
        result = run(command, stdin=bytes(packed))
        assert result.stdout == run(command, stdin=content).stdout != "", command
        assert "the gzip checksum does not match" in result.stderr
        assert result.exit_code == 1, command
    result = run("encode", stdin=gzip.compress(record)[:-20])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the gzip data is cut off" in result.stderr


def test_an_error_in_pasted_text_has_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.txt"
    path.write_text("ca fe ba be 00 11 22 33\n44 55 66 77 88 zz 99 aa\n")
    result = run("decode", str(path))
    assert result.exit_code == 2
    assert f"{path}:2:" in result.stderr
    assert result.stdout == ""


def test_an_unexpected_error_is_reported_in_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_output: Output, _line: object) -> None:
        raise RuntimeError("something\nodd")

    monkeypatch.setattr(Output, "line", broken)
    result = run("protocols")
    assert result.exit_code == main_module.FAILED
    assert "RuntimeError: something odd" in result.stderr
    assert "Traceback" not in result.stderr
    shown = run("--debug", "protocols")
    assert "Traceback" in shown.stderr
    monkeypatch.delenv(main_module.DEBUG)


def test_color(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("decode", "--hex", MESSAGE.hex())
    plain = run(*words).stdout
    assert "\x1b" not in plain
    painted = run(*words, "--color", "always").stdout
    assert "\x1b[" in painted
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(*words).stdout == painted
    assert run(*words, "--color", "never").stdout == plain
    assert "\x1b" not in run(*words, "--format", "json").stdout


def test_records_of_several_directions_need_flow(run: Run) -> None:
    rows = [
        {"protocol": "esnp-line", "source": {"flow": flow}, "message": {"lines": lines}}
        for flow, lines in (("tcp a > b", []), ("tcp b > a", [{"type": "TRACE"}]), ("tcp a > b", []))
    ]
    given = "".join(json.dumps(row) + "\n" for row in rows)
    refused = run("encode", stdin=given)
    assert refused.exit_code == 2
    assert "--flow" in refused.stderr
    assert "tcp b > a" in refused.stderr
    assert run("encode", "--to", "hex", "--flow", "tcp a > b", stdin=given).stdout == "0000000000000000\n"
    assert run("encode", "--to", "hex", "--flow", "2", stdin=given).stdout == "1900000000000000\n"
    assert run("encode", "--flow", "3", stdin=given).exit_code == 2


def test_errors_of_encode_name_line_and_path(run: Run) -> None:
    good = '{"protocol": "esnp-line", "message": {"lines": []}}\n'
    bad = '{"protocol": "esnp-line", "message": {"lines": [{"type": "FLAG", "flag": "NO"}]}}\n'
    assert "line 2: message.lines[0].flag" in run("encode", stdin=good + bad).stderr
    assert "[1].message.lines[0].flag" in run("encode", stdin=f"[{good}, {bad}]").stderr
    assert "-:2:" in run("encode", stdin=good + '{"protocol": \n').stderr
    assert "-:2:1" in run("encode", stdin="[\n}").stderr
    assert "lines[0].flag (line 2, column 74): 'NO' is not one of" in run("encode", stdin=good + bad).stderr
    deep = '{"values": [\n [1, {"a.b": [2,\n  {"$long": "x"}]}]]}'
    refused = run("encode", "--as", "hessian2", "--json", deep)
    assert "values[0][1].a.b[1].$long (line 3, column 13): expected an integer" in refused.stderr
    assert refused.exit_code == 2


def test_encode_reports_what_is_odd_about_the_result(run: Run) -> None:
    written = '{"lines": [{"type": "DATA", "name": "a", "value": 1}, {"type": "FLAG", "flag": "INFO"}]}'
    result = run("encode", "--as", "esnp-line", "--to", "hex", "--json", f"[{written}, {written}]")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    text = "at byte 8: the header line FLAG comes after a body line (header-after-body)"
    assert lines == [f"--json: [0]: {text}", f"--json: [1]: {text}"]
    decoded = run("decode", "--as", "esnp-line", "--format", "jsonl", "--hex", result.stdout)
    assert "header-after-body" in decoded.stdout
    assert run("encode", stdin=decoded.stdout).stderr == ""
    many = run("encode", "--as", "esnp-line", "--json", f"[{', '.join([written] * 25)}]")
    assert many.stderr.splitlines()[20:] == ["5 more notes"]


# --- as a process -------------------------------------------------------------------------------------


def test_what_a_piped_decode_imports() -> None:
    code = (
        "import sys\n"
        "from wirelens.cli.main import group\n"
        f"sys.argv = ['wirelens', 'decode', '--hex', '{MESSAGE.hex()}']\n"
        "try:\n    group(prog_name='wirelens')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'rich', 'pyspark', 'pyarrow', 'pandas', 'asyncio', 'subprocess', 'tempfile', 'socket'}\n"
        "heavy |= {'dataclasses', 'gettext', 'importlib.metadata', 'inspect', 'locale'}\n"
        "heavy |= {'wirelens.codecs.file_kinds', 'wirelens.codecs.hessian.gadgets'}\n"
        "heavy |= {'wirelens.codecs.hessian.java', 'wirelens.formatters.summary'}\n"
        "light = {'wirelens.codecs.captures', 'wirelens.codecs.captures.magic'}\n"
        "heavy |= {name for name in sys.modules if '.captures' in name} - light\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert b"esnp-line" in done.stdout
    assert done.stderr.strip() == b"[]"


def test_closed_pipe_ends_quietly() -> None:
    with process("decode", "--as", "esnp-line", "--format", "jsonl", "-") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            for _ in range(2000):
                running.stdin.write(MESSAGE * 100)
        with contextlib.suppress(BrokenPipeError):
            running.stdin.close()
        assert running.wait(60) == 141
        assert running.stderr.read() == b""


def test_interrupt_is_quiet() -> None:
    with process("decode", "--as", "esnp-line", "--format", "jsonl", "-") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(MESSAGE)
        running.stdin.flush()
        assert running.stdout.readline()  # it has read this and waits for more
        status = None
        while status is None:  # a signal just before the process waits for input is handled only after it
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = running.wait(5)
        assert status == 130
        assert b"Traceback" not in running.stderr.read()


def test_an_ended_process_leaves_no_file(tmp_path: Path) -> None:
    with process("decode", "--as", "esnp-line", "-o", str(tmp_path / "out"), "-") as running:
        assert running.stdin is not None
        running.stdin.write(MESSAGE * 10_000)
        running.stdin.flush()
        while not os.listdir(tmp_path):
            time.sleep(0.01)
        running.terminate()
        assert running.wait(60) == -signal.SIGTERM
    assert os.listdir(tmp_path) == []


def test_messages_are_shown_as_soon_as_they_are_complete() -> None:
    """The first as soon as there is enough evidence before the end of the input; then each at once."""
    request = bytes.fromhex("1e000001081700000628086563686f170000063c087465737411000008")
    request += (1795818524420933762).to_bytes(8, "big") + bytes(4)
    with process("decode", "--format", "summary", "-") as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for _ in range(3):
            running.stdin.write(request)
            running.stdin.flush()
            assert b"REQUEST test.echo" in running.stdout.readline()
        running.stdin.close()
        assert running.wait(60) == 0


def test_completion() -> None:
    def complete(line: str) -> list[str]:
        words = line.split(" ")
        environment = {
            **os.environ,
            "_WIRELENS_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        command = [sys.executable, "-m", "wirelens.cli.main"]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        return [item.partition(",")[2] for item in done.stdout.decode().splitlines()]

    assert complete("wirelens de") == ["decode", "detect"]
    assert complete("wirelens decode --as esnp-") == ["esnp-line", "esnp-frame"]
    assert "tree" in complete("wirelens decode --format t")
    assert "base64" in complete("wirelens bytes --input base")
    assert complete("wirelens decode examples/") != ["decode"]


def test_detect_shows_the_reasons(run: Run) -> None:
    found = json.loads(run("detect", "--format", "json", "--hex", MESSAGE.hex()).stdout)
    best = found["candidates"][0]
    assert found["protocol"] == best["protocol"] == "esnp-line"
    assert "esnp-frame" in found["equal"]
    assert best["bits"] >= best["asked"]
    assert best["reasons"]
    text = run("detect", "--hex", MESSAGE.hex()).stdout
    assert text.startswith(f"esnp-line  {best['bits']:.0f} bits of evidence")
    assert "the same meaning as esnp-frame" in text
    for reason in best["reasons"]:
        assert reason in text
    everything = run("detect", "--all", "--hex", MESSAGE.hex()).stdout
    assert len(everything.splitlines()) > len(text.splitlines())


def test_detect_of_an_unknown_protocol(run: Run) -> None:
    result = run("detect", "--hex", PNG.hex())
    assert result.exit_code == 1
    assert result.stdout.startswith("unknown  ")
    assert json.loads(run("detect", "--format", "json", "--hex", PNG.hex()).stdout)["protocol"] == "unknown"


def test_detect_of_several_inputs(run: Run, message: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.png"
    other.write_bytes(PNG)
    result = run("detect", "--format", "json", str(message), str(other))
    assert result.exit_code == 1
    rows = json.loads(result.stdout)
    assert [(row["file"], row["protocol"]) for row in rows] == [
        (str(message), "esnp-line"),
        (str(other), "unknown"),
    ]
    blocks = run("detect", str(message), str(other)).stdout.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [str(message), str(other)]
