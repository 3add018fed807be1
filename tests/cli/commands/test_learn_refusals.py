"""What the command `learn` refuses: wrong use, and tables that cannot be used."""

import pytest
from command_line import QUICK, learn, refused


@pytest.mark.parametrize(("option", "value"), [("density", "smooth"), ("line", "yes")])
def test_an_unknown_kind_of_density_is_refused_before_the_table_is_read(table, tmp_path, option, value):
    assert f"--{option} must be one of" in refused(
        2, "learn", tmp_path / "none.csv", *QUICK, f"--{option}", value
    )
    result = learn(table, *QUICK, f"--{option}", value)
    assert result.exit_code == 2
    assert option in result.stderr
    assert value in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-bins", "1"], "--max-bins must be an integer from 2 to 255"),
        (["--max-bins", "many"], "--max-bins"),
        (["--max-indegree", "-1"], "--max-indegree"),
        (["--discretizer", "kmeans"], "--discretizer must be one of"),
        (["--scoring-method", "mdl"], "--scoring-method must be one of"),
        (["--scoring-method", "bdeu"], "--scoring-method bdeu is for discrete columns only"),
        (["--penalty", "mdl"], "--penalty must be"),
        (["--penalty", "nan"], "--penalty must be"),
        (["--prior", "flat"], "--prior must be"),
        (["--prior", "bdeu"], "--discretizer optimal cannot price cuts under --prior bdeu"),
        (["--discretizer", "mdlp"], "learn with its cuts as --cut-points"),
        (["--ess", "0"], "--ess must be"),
        (["--pseudo-count", "-1"], "--pseudo-count"),
        (["--pseudo-count", "nan"], "pseudo"),
        (["--missing", "fill"], "--missing must be one of 'available', 'error', 'drop'"),
        (["--max-seconds", "nan"], "max"),
        (
            ["--max-seconds", "0", "--patience", "0"],
            "Set a limit: --max-seconds, --max-evaluations, --max-generations or --patience.",
        ),
        (["--max-evaluations", "0"], "--max-evaluations"),
        (["--kind", "a"], "--kind must be name=continuous"),
        (["--kind", "a=real"], "continuous or discrete"),
        (["--kind", "aa=discrete"], "unknown column 'aa'. Did you mean 'a'?"),
        (["--kind", "a=discrete", "--kind", "a=discrete"], "twice"),
        (["--cut-points", "a=x"], "must be numbers"),
        (["--cut-points", "z=1"], "--cut-points: unknown column 'z'"),
        (["--cut-points", "a=99"], "--cut-points of column 'a' must lie inside the range"),
        (["--require", "a"], "--require must be parent,child"),
        (["--require", "a,b,c"], "--require must be parent,child"),
        (["--require", "a,z"], "--require: unknown column 'z'"),
        (["--require", "a,b", "--forbid", "a->b"], "both required and forbidden"),
        (["--require", "a,b", "--require", "b,a"], "--require: "),
        (["--require", "a,b", "--tier", "b", "--tier", "a"], "--require: 'a' -> 'b' runs against --tier."),
        (["--forbid", "a,z"], "--forbid: unknown column 'z'"),
        (["--tier", "a", "--tier", "a"], "--tier: duplicate 'a'"),
        (["--tier", "a,,b"], "--tier must be column names"),
        (["--tiers", "none.txt"], "does not exist"),
        (["--max-candidates", "few"], "--max-candidates must be an integer of at least 1, or auto or all"),
        (["--max-table-cells", "1"], "--max-table-cells must be"),
        (["--colour"], "--colour"),
        (["more.csv"], "more.csv"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(table, tmp_path, arguments, message):
    result = learn(table, *QUICK[2:], *arguments, "--quiet", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_a_message_names_the_file_option_that_the_user_wrote(table, tmp_path):
    cuts, tiers = tmp_path / "cuts.json", tmp_path / "tiers.txt"
    cuts.write_text('{"format": "gomea-bn cut points", "format_version": 1, "cut_points": {"z": [1]}}')
    tiers.write_text("a\nz\n")
    for arguments, option in (
        (["--cuts", cuts], "--cuts"),
        (["--cuts", cuts, "--cut-points", "a=0"], "--cut-points or --cuts"),
        (["--tiers", tiers], "--tiers"),
    ):
        result = learn(table, *QUICK[2:], *arguments, "--quiet")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: {option}: unknown column 'z'."), result.stderr


def test_the_rule_of_kinds_names_the_option_of_the_command(table):
    printed = learn(table, *QUICK).stderr
    assert "; --kind NAME=continuous or NAME=discrete overrides it." in printed
    assert "kinds=" not in printed


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "does not exist"),
        ("rows.doc", b"a,b\n1,2\n", "must end in .csv"),
        ("empty.csv", b"", "is empty"),
        ("binary.csv", bytes(range(256)), "is not UTF-8 text"),
        ("latin.csv", "ä,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
        ("ragged.csv", b"a,b\n1,2,3\n1,2\n", "ragged"),
        ("few.csv", b"a,b\n1,2\n3,4\n", "at least 10 rows"),
        ("double.csv", b"a,a\n" + b"1,2\n" * 12, "occurs more than once"),
        (
            "constant.csv",
            b"a,b\n" + b"1,2\n" * 12,
            "All columns of the table are constant: 'a' is 1, 'b' is 2",
        ),
        ("ids.csv", b"a,b\n" + b"".join(b"%d,n%d\n" % (i, i) for i in range(60)), "Give --kind a=continuous"),
        ("many.csv", b"a,b\n" + b"".join(b"%d,n%d\n" % (i, i % 60) for i in range(180)), "at most 50 levels"),
        ("rows.parquet", b"PAR1 no parquet", "not a readable Parquet file"),
    ],
)
def test_unusable_data_is_one_line_and_exit_3(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = learn(tmp_path / name, *QUICK, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
