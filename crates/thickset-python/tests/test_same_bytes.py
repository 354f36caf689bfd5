"""Python and the command give the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import thickset


def command(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, "-m", "thickset", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )
    return done


SMALL_SET = {"model.hidden": [16, 8], "model.bins": 4}
SMALL = ("--set", "model.hidden=[16, 8]", "--set", "model.bins=4")


@pytest.fixture(scope="module")
def run(csv, tmp_path_factory):
    """A run that the command trained: its folder of work and the model's file."""
    work = tmp_path_factory.mktemp("work")
    made = command("init", "--data", csv, "--target", "granted", "--out", "run.toml", cwd=work)
    assert made.returncode == 0, made.stderr
    # The network that `init` writes, but smaller: its contributions take most of the time of all of this.
    trained = command("train", "run.toml", *SMALL, "--set", "name=loans", "--set", "train.epochs=3", cwd=work)
    assert trained.returncode == 0, trained.stderr
    return work, work / "runs" / "loans" / "model.safetensors"


def test_a_run_trains_the_same_model(run, monkeypatch):
    work, file = run
    monkeypatch.chdir(work)
    trained = thickset.train("run.toml", set={**SMALL_SET, "name": "loans", "train.epochs": 3})
    assert trained.model.to_bytes() == file.read_bytes()
    assert len(trained.epochs) == 3
    into = thickset.train("run.toml", set={**SMALL_SET, "name": "again", "train.epochs": 3}, out="runs")
    assert (work / "runs" / "again" / "model.safetensors").read_bytes() == into.model.to_bytes()


def test_a_model_that_was_read_is_written_with_the_same_bytes(run, tmp_path):
    _, file = run
    model = thickset.load(file)
    model.save(tmp_path / "copy.safetensors")
    assert (tmp_path / "copy.safetensors").read_bytes() == file.read_bytes()


def test_an_audit_has_the_same_bytes(run, csv, tmp_path):
    work, file = run
    done = command(
        "audit", "--model", file, "--data", csv, "--effort", "quick", "--max-rows", 40, "--out", "audit",
        "--require", "p_at_k>=0.1", cwd=work,
    )
    assert done.returncode == 0, done.stderr
    audit = thickset.audit(thickset.load(file), csv, effort="quick", max_rows=40, require="p_at_k>=0.1")
    assert audit.to_bytes() == (work / "audit" / "audit.json").read_bytes()
    assert audit.passed
    audit.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "report.html").read_bytes() == (work / "audit" / "report.html").read_bytes()
    read = thickset.read_audit(work / "audit" / "audit.json")
    assert read.to_bytes() == audit.to_bytes()


def test_a_data_frame_is_audited_like_its_file(run, csv, frame):
    _, file = run
    X, y = frame
    model = thickset.load(file)
    # All rows of a file that the model was not trained on: the first 30 as a file with another name.
    other = csv.with_name("other.csv")
    other.write_text("".join(csv.read_text().splitlines(keepends=True)[:31]))
    of_file = model.audit(other, effort="quick")
    of_frame = model.audit(X[:30], y[:30], effort="quick", data_name="other.csv")
    assert of_file.to_bytes() == of_frame.to_bytes()


def test_explanations_are_those_of_the_command(run, csv):
    work, file = run
    done = command("explain", "--model", file, "--data", csv, "--max-rows", 0, "--json", cwd=work)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    model = thickset.load(file)
    explained = model.explain(csv)
    assert [list(line["attribution"].values()) for line in lines] == explained.values.tolist()
    assert [line["top"] for line in lines] == explained.top()
    plain = command("explain", "--model", file, "--data", csv, "--max-rows", 0, "--explanation", "grad", "--json", cwd=work)
    lines = [json.loads(line) for line in plain.stdout.splitlines()]
    explained = model.explain(csv, explanation="grad")
    assert [list(line["attribution"].values()) for line in lines] == explained.values.tolist()
    assert [line["top"] for line in lines] == explained.top()


def test_reasons_are_those_of_the_command(run, csv, tmp_path):
    work, file = run
    done = command(
        "reasons", "--model", file, "--data", csv, "--adverse", "no", "--cutoff", 0.4, "--max-rows", 60, "--effort", "quick",
        "--error", "*=5%", "--out", "reasons.csv", "--letters", "letters", cwd=work,
    )
    assert done.returncode == 0, done.stderr
    given = {"adverse": "no", "cutoff": 0.4, "effort": "quick"}
    # `--error` changes the usual threat of a table.
    threat = {"error": {"*": "5%"}, "box": True, "immutable": True, "integer": True, "one_hot": "whole"}
    model = thickset.load(file)
    found = model.reasons(model.rows(csv, max_rows=60), threat=threat, **given)
    found.save(tmp_path / "reasons.csv")
    assert (tmp_path / "reasons.csv").read_bytes() == (work / "reasons.csv").read_bytes()
    found.save(tmp_path / "letters")
    theirs = sorted((work / "letters").iterdir())
    assert [one.name for one in theirs] == sorted(one.name for one in (tmp_path / "letters").iterdir())
    for one in theirs[:5]:
        assert one.read_bytes() == (tmp_path / "letters" / one.name).read_bytes()


def test_exit_codes_pass(run, csv):
    work, file = run
    assert command("--version", cwd=work).stdout.startswith("thickset ")
    failed = command(
        "audit", "--model", file, "--data", csv, "--effort", "quick", "--max-rows", 12, "--out", "gate",
        "--require", "p_at_k>=1.1", cwd=work,
    )
    assert failed.returncode == 1, failed.stderr
    missing = command("model", "nothing.safetensors", cwd=work)
    assert missing.returncode == 2
    assert "error:" in missing.stderr
    assert command("nonsense", cwd=work).returncode == 2


def test_a_comparison_has_the_same_bytes(run, csv):
    work, file = run
    command("train", "run.toml", *SMALL, "--set", "name=plain", "--set", "train.epochs=2", "--set", "objective.kind=vanilla", cwd=work)
    plain = work / "runs" / "plain" / "model.safetensors"
    if not plain.exists():
        # The objective's other settings are r2et's; name the whole objective instead.
        done = command(
            "train", "run.toml", *SMALL, "--set", "name=plain", "--set", "train.epochs=2", "--set", 'objective={ kind = "vanilla" }', cwd=work
        )
        assert done.returncode == 0, done.stderr
    done = command("compare", file, plain, "--data", csv, "--effort", "quick", "--max-rows", 30, "--out", "compared", cwd=work)
    assert done.returncode == 0, done.stderr
    compared = thickset.compare(thickset.load(file), thickset.load(plain), csv, effort="quick", max_rows=30)
    assert compared.to_bytes() == (work / "compared" / "compare.json").read_bytes()
    assert compared.verdict in ("less-stable", "more-stable", "not-shown")
    assert len(compared.to_pandas()) == 30
