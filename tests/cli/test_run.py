"""`beyond-ram run`: the Snakemake command, from any folder."""

import json

import pytest

from beyond_ram.cli.run import check, snakemake

from ..conftest import ROOT

IN_PROJECT = ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(ROOT)]


def test_arguments_go_to_snakemake_with_absolute_config_paths(tmp_path):
    (tmp_path / "mine.yaml").write_text("{}\n")
    words = ["tokenize", "-n", "--configfile", "mine.yaml", "--cores", "2", "--config", "budget_min=3"]
    folder = f'folder=!!str "{tmp_path}" #'
    assert snakemake(words, tmp_path, ROOT) == [
        "snakemake", "--configfile", str(tmp_path / "mine.yaml"), "--config", folder, "budget_min=3",
        *IN_PROJECT, "tokenize", "-n", "--cores", "2",
    ]  # fmt: skip
    assert snakemake(["-j3", "--", "all"], ROOT, ROOT) == ["snakemake", *IN_PROJECT, "-j3", "--", "all"]
    assert snakemake([], ROOT, ROOT) == ["snakemake", "--cores", "all", *IN_PROJECT]


def test_folder_of_a_config_is_seen_from_the_callers(tmp_path):
    (tmp_path / "first.yaml").write_text("folder: there\n")
    (tmp_path / "last.yaml").write_text("budget_min: 9000\n")
    words = snakemake(["--configfile", "first.yaml", "last.yaml"], tmp_path, ROOT)
    assert f'folder=!!str "{tmp_path / "there"}" #' in words


@pytest.mark.parametrize("name", ["a b", "a: 'b' # \"c\"", "1", "é\\n"])
def test_any_folder_name_reaches_snakemake_unchanged(tmp_path, name):
    from snakemake.cli import parse_config  # half a second for each process that collects the tests

    (word,) = [word for word in snakemake([], tmp_path / name, ROOT) if word.startswith("folder=")]
    assert parse_config([word]) == {"folder": str(tmp_path / name)}


@pytest.mark.slow
def test_dry_run_works_from_another_folder(tmp_path, run_in):
    """Paths in the config are relative to the caller's folder. Nothing of the default config is planned."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.jsonl").write_text('{"body": "a"}\n' * 4)
    corpus = {"source": "files", "glob": "data/*.jsonl", "text_column": "body", "tokenizer": {"train": "byte-level"}}
    matrix = {"stack": ["current"], "corpus": ["mine"], "num_files": [2, 4]}
    experiments = {"growth": {"workload": "tokenize", "matrix": matrix}}
    config = {"defaults": "none", "corpora": {"mine": corpus}, "experiments": experiments}
    (tmp_path / "mine.yaml").write_text(json.dumps(config))
    done = run_in(*snakemake(["tokenize", "--configfile", "mine.yaml", "--dry-run"], tmp_path, ROOT), cwd=ROOT)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert f"{tmp_path}/results-mine/runs/growth/" in done.stdout + done.stderr
    assert {tuple(line.split()) for line in done.stdout.splitlines() if line.startswith("measure")} == {
        ("measure", "2")
    }


@pytest.mark.slow
def test_mistyped_option_is_one_line(path, monkeypatch):
    monkeypatch.setenv("PATH", path)
    check(["-nc4", "all", "--config", "a=-1", "-j", "-1", "-A x", "--quie=rules", "--", "--none"])
    for word, hint in (("--confgfile=x", "did you mean '--configfile'"), ("-y", "no option -y")):
        with pytest.raises(ValueError, match=hint):
            check(["-n", word])
