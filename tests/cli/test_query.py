"""`wirelens query`: the rows of bulk's tables, and nothing else."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wirelens.cli.main import group
from wirelens.cli.tables.columns import PARTITIONED, TABLES

pytest.importorskip("duckdb")
parquet = pytest.importorskip("pyarrow.parquet")

ROOT = Path(__file__).resolve().parent.parent.parent
CAPTURES = str(ROOT / "examples" / "captures")
CLIENT = str(ROOT / "examples" / "ends" / "client.pcap")


def query(*words: str) -> Result:
    return CliRunner().invoke(group, ["query", *words], prog_name="wirelens")


def rows(*words: str) -> list[dict[str, object]]:
    done = query(*words, "--format", "json")
    assert done.exit_code < 2, done.output
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


@pytest.mark.once
@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_of_bulk(table: str, tmp_path: Path) -> None:
    """The same query over both gives the same, except what depends on one run."""
    import duckdb

    from wirelens.cli.query.writing import plain

    sys.path.insert(0, str(ROOT / "tests" / "bulk"))
    import inprocess

    inprocess.run([CAPTURES], tmp_path / "out")
    names = [name for name, _, _ in TABLES[table] if name not in ("connection", "pair_id", "waited_us")]
    names += ["protocol", "day"] if table in PARTITIONED else []
    quoted = ", ".join(f'"{name}"' for name in names)
    sql = f"SELECT {quoted} FROM {table} ORDER BY ALL"
    place = f"read_parquet('{tmp_path}/out/{table}/**/*.parquet', hive_partitioning = true)"
    duckdb.execute("SET TimeZone = 'UTC'")
    found = duckdb.execute(sql.replace(f"FROM {table}", f"FROM {place}")).fetchall()
    expected = [dict(zip(names, map(plain, row), strict=True)) for row in found]
    assert rows(sql, CAPTURES) == expected
    assert expected or table == "quarantine"
    described = [row["column_name"] for row in rows(f"DESCRIBE {table}", CAPTURES)]
    assert described == [name for name, _, _ in TABLES[table]] + (
        ["protocol", "day"] if table in PARTITIONED else []
    )


@pytest.mark.once
def test_formats(tmp_path: Path) -> None:
    sql = "SELECT method, latency_us, sent, late, trace FROM calls ORDER BY sent"
    expected = rows(sql, CLIENT)
    assert expected[0]["sent"] == "2023-11-15T03:46:40.081112Z"
    text = query(sql, CLIENT).stdout.splitlines()
    assert text[0].split() == ["method", "latency_us", "sent", "late", "trace"]
    assert text[1].split() == ["create", "9983", "2023-11-15T03:46:40.081112Z", "–", "–"]
    assert len(text) == 1 + len(expected)
    cells = list(csv.reader(io.StringIO(query(sql, CLIENT, "--format", "csv").stdout)))
    assert cells[1] == ["create", "9983", "2023-11-15T03:46:40.081112Z", "", ""]
    out = tmp_path / "x.parquet"
    assert query(sql, CLIENT, "--format", "parquet", "-o", str(out)).exit_code == 0
    assert parquet.read_table(out).column("latency_us").to_pylist() == [row["latency_us"] for row in expected]


@pytest.mark.once
def test_options_select() -> None:
    count = "SELECT count(*) n FROM messages"
    assert rows(count, CLIENT, "--where", "kind=request") == [{"n": 5}]
    assert rows(count, CLIENT, "--flow", "1s") == [{"n": 5}]
    assert rows(count, CAPTURES, "--port", "26000") == rows(
        "SELECT count(*) n FROM messages WHERE 26000 IN (source_port, destination_port)", CAPTURES
    )
    points = rows("SELECT DISTINCT point FROM connections", "--point", "folder", CAPTURES)
    assert points == [{"point": CAPTURES}]
    nothing = query(count, CLIENT, "--where", "method=nosuch")
    assert (nothing.exit_code, nothing.stderr) == (0, "0 of 10 messages match\n")
    beyond = query(count, CLIENT, "--flow", "7")
    assert (beyond.exit_code, "no flow 7" in beyond.stderr) == (2, True)
    # a row as a whole needs its message, though its name is not in the text
    (whole,) = rows("SELECT to_json(m) AS j FROM messages m LIMIT 1", CLIENT)
    assert '"message":"{' in str(whole["j"]).replace(" ", "")
    assert rows(
        "SELECT message->>'$.type' AS t, count(*) AS n FROM messages GROUP BY t ORDER BY t", CLIENT
    ) == [
        {"t": "request", "n": 5},
        {"t": "response", "n": 5},
    ]


@pytest.mark.once
def test_inputs_that_are_not_captures() -> None:
    path = str(ROOT / "examples" / "dubbo-order.xxd")
    (row,) = rows("SELECT protocol, method, file, day FROM messages", path)
    assert (row["protocol"], row["file"], row["day"]) == ("dubbo", path, None)
    assert row["method"]


@pytest.mark.once
@pytest.mark.parametrize(
    ("sql", "texts"),
    [
        (
            "SELECT knd FROM calls",
            ['"knd" not found', "LINE 1: SELECT knd", "\n               ^", "latency_us"],
        ),
        ("SELECT 1 FROM nothing", ["nothing does not exist", "messages, quarantine, calls, connections"]),
        ("SELEC 1", ["syntax error", "LINE 1: SELEC 1"]),
        ("SELECT 1; SELECT 2", ["one SELECT"]),
        ("DROP TABLE calls", ["one SELECT"]),
        ("COPY calls TO 'x.csv'", ["one SELECT"]),
        ("SET enable_external_access = true", ["one SELECT"]),
        ("ATTACH 'x.db'", ["one SELECT"]),
        ("INSTALL httpfs", ["one SELECT"]),
        ("PRAGMA database_list", ["one SELECT"]),
        (f"FROM '{CLIENT}'", ["does not exist"]),
        (f"FROM read_text('{CLIENT}')", ["disabled by configuration"]),
        (f"FROM read_csv('{CLIENT}')", ["disabled by configuration"]),
        (f"FROM glob('{ROOT}/*')", ["disabled by configuration"]),
        ("SELECT 'x'::INTEGER FROM calls", ["Conversion Error"]),
        ("FROM words", ["does not exist"]),  # a variable of this process
    ],
)
def test_nothing_else_can_be_reached(sql: str, texts: list[str]) -> None:
    words = [1]
    assert words
    done = query(sql, CLIENT)
    assert done.exit_code == 2, done.output
    for text in texts:
        assert text in done.stderr
    assert not done.stdout
    assert "Traceback" not in done.output


@pytest.mark.once
def test_text_of_strangers_is_cleaned() -> None:
    done = query("SELECT chr(27) || '[31mx' || chr(8238) AS a, 'two\nlines' AS b", CLIENT)
    assert done.exit_code == 0
    assert not {"\x1b", "\u202e"} & set(done.stdout)
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.once
def test_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import util

    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "duckdb" else True)
    done = query("SELECT 1", CLIENT)
    assert done.exit_code == 2
    assert "needs duckdb. Install with:" in done.stderr
    assert "wirelens" in done.stderr
    assert "[query]" in done.stderr
