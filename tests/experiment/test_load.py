"""Faults of a config: their place and length, and limits on runs and values."""

import re
import tracemalloc

import pytest
import yaml

from beyond_ram.experiment import ConfigError, load

from ..conftest import ROOT


def faults(config, files=()):
    with pytest.raises(ConfigError) as error:
        load(config, files, ROOT)
    return str(error.value)


def test_too_many_runs_are_refused_before_they_are_listed(config):
    config["experiments"]["growth"]["repeats"] = 10**8
    tracemalloc.start()
    message = faults(config)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "experiments.growth: 200,000,000 runs are planned here" in message
    assert "the most are 100,000" in message
    assert peak_bytes < 50e6
    config["experiments"]["growth"]["repeats"] = 60_000
    assert "120,000 runs" in faults(config)
    config["experiments"]["growth"] |= {"repeats": 1}
    config["experiments"]["growth"]["matrix"]["batch_size"] = list(range(1, 100_000))
    assert "experiments.growth: " in faults(config)


def test_versions_of_a_ladder_count_as_runs(config):
    planned = load(config, [], ROOT).planned()
    assert planned["alone"] == 2 * (1 + 2), "repeats, times the base and two versions"
    config["ladders"]["tokenizers"]["versions"] = [f"0.{number}" for number in range(60_000)]
    assert "experiments.alone: 120,002 runs" in faults(config)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_aliases_for_too_many_values_are_refused(config):
    config["corpora"] = yaml.safe_load(BOMB)["i"]
    assert faults(config).startswith("corpora: stands for more than 1,000,000 values, its aliases written out")
    config["corpora"] = []
    config["corpora"].append(config["corpora"])
    assert "stands for more than" in faults(config)
    for _ in range(5000):
        config["corpora"] = [config["corpora"]]
    assert len(faults(config)) < 300


@pytest.mark.slow
@pytest.mark.parametrize(
    "value", [yaml.safe_load(BOMB)["e"], "x" * 10**6, 10**4000, {"key" * 10**5: 1}, [[["deep"] * 100] * 100] * 50]
)
def test_echoed_values_are_bounded(config, value):
    for key in ("results", "corpora", "only", "experiments"):
        message = faults(config | {key: value})
        assert len(message) < 25_000
        assert all(len(line) < 1100 for line in message.splitlines())
    assert len(faults(config | {f"key{'y' * 10**6}": value})) < 2500


def test_many_faults_take_few_lines(config):
    config |= {f"wrong{number}\n": 1 for number in range(1000)}
    lines = faults(config).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 980 faults more"
    names = {f"corpus{number}": config["corpora"]["binaries"] for number in range(1000)}
    config = {key: value for key, value in config.items() if not key.startswith("wrong")}
    config["corpora"] |= names
    config["experiments"]["growth"]["matrix"]["corpus"] = ["no"]
    assert "and 982 more" in faults(config)


WORDS = {"source": "synthetic", "documents": 3, "document_characters": [9, 3]}


def ask(config, **question):
    config["experiments"]["growth"]["questions"] = [{"metric": "tokens_per_cpu_s", **question}]


def stream(config, repository, **more):
    config |= {"corpora": {}, "repositories": {"mine": repository}}
    config["experiments"] = {
        "x": {"workload": "stream", "matrix": {"stack": ["current"], "repository": ["mine"]}, **more}
    }


TARS = {"source": "webdataset", "files": 2, "samples_per_file": 15, "sample_bytes": 20_000, "seed": 1}
PARQUET = {"source": "parquet", "files": 1, "rows_per_file": 1, "row_group_rows": 1, "row_bytes": 1}
TOKENISE = {"inputs": ["data"], "out": "ids", "shards": 2, "tokenizer": "nowhere"}
OWN = {"module": "examples/own_loader.py", "data": "x"}
# ruff: noqa: E501
FAULTS = [
    (lambda c: c.update(experimnts={}), "config.yaml: unknown key 'experimnts'; did you mean 'experiments'?"),
    (lambda c: c["corpora"]["binaries"].update(documnts=1), "corpora.binaries: unknown key 'documnts'; did you mean 'documents'?"),
    (lambda c: c["corpora"]["binaries"].update(source="bin"), "corpora.binaries.source: "),
    (lambda c: c["corpora"]["binaries"]["tokenizer"].update(hub="a/b"), "exactly one of train, path and hub"),
    (lambda c: c["experiments"]["growth"].pop("matrix"), "experiments.growth: key 'matrix' is missing"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(num_fles=[1]), "unknown key 'num_fles'; did you mean 'num_files'?"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(stack=["curent"]), "no stack 'curent' in envs/; did you mean 'current'?"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(corpus=["binary"]), "no corpus 'binary'; did you mean 'binaries'?"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(num_files=[100_000]), "100000 files asked for, and corpus 'binaries' has"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(num_files=[]), "experiments.growth.matrix.num_files: "),
    (lambda c: c["experiments"]["growth"]["matrix"].update(mode=["basic"], cache=["rerun"]), "need mode `shard`"),
    (lambda c: c["experiments"]["limited"]["matrix"].update(limit_mb=[0, 700]), "take the 0 out"),
    (lambda c: stream(c, TARS), "has source webdataset; workload stream reads parquet or hub"),
    (lambda c: stream(c, PARQUET, endpoint="https://x"), "endpoint"),
    (lambda c: stream(c, {"source": "video", "seconds": 9999}), "less than or equal to 2600"),
    (lambda c: c.update(tokenise=TOKENISE | {"shard": 2}), "tokenise: unknown key 'shard'; did you mean 'shards'?"),
    (lambda c: c.update(tokenise=TOKENISE | {"shards": 0}), "tokenise.shards: "),
    (lambda c: c.update(tokenise=TOKENISE | {"stack": "encoders"}), "tokenise.stack: no stack 'encoders' in envs/; did you mean 'encoder'?"),
    (lambda c: c.update(tokenise=TOKENISE), "tokenise.tokenizer: nowhere: no tokenizer.json there"),
    (lambda c: c.update(tokenise=TOKENISE | {"out": "~/ids"}), "tokenise.out: begins with '~'"),
    (lambda c: c.update(tokenise=TOKENISE | {"append": "a\0b"}), "tokenise.append: "),
    (lambda c: c.update(tokenise=TOKENISE | {"inputs": ["s3://me:a-SECRET@bucket/texts"]}), "tokenise.inputs.0: holds a password"),
    (lambda c: c.update(loaders={"mine": OWN | {"data": "~/x"}}), "loaders.mine.data: begins with '~'"),
    (lambda c: c.update(loaders={"mine": OWN | {"module": "a{b}.py"}}), "loaders.mine.module: holds '{'"),
    (lambda c: c["corpora"].update(x={"tokenizer": {"hub": "a/b"}, "source": "files", "glob": ""}), "corpora.x.glob: is empty"),
    (lambda c: c["corpora"].update(x={"tokenizer": {"hub": "a/b"}, "source": "files", "glob": ["a", "$X/b"]}), "corpora.x.glob.1: holds $X"),
    (lambda c: c["corpora"].update(x={"source": "python", "tokenizer": {"path": "a\x07"}}), "corpora.x.tokenizer.path: holds the character U+0007"),
    (lambda c: c["corpora"].update(words=c["corpora"]["binaries"] | WORDS), "document_characters: the lowest comes before the highest"),
    (lambda c: c["ladders"]["tokenizers"].update(versions=["0.23.3", "0.13.3"]), "ladders.tokenizers.versions: "),
    (lambda c: c["ladders"]["tokenizers"].update(versions=["0.9.0", "0.9"]), "ladders.tokenizers.versions: "),
    (lambda c: c["ladders"]["tokenizers"].update(versions=["0.9", "new"]), "ladders.tokenizers.versions: "),
    (lambda c: c["ladders"]["tokenizers"].update(experiment="alon"), "ladders.tokenizers.experiment: no experiment 'alon'; did you mean 'alone'?"),
    (lambda c: c["ladders"]["tokenizers"].update(metrics=["grown_anon_byte"]), "ladders.tokenizers.metrics: no metric 'grown_anon_byte'; did you mean 'grown_anon_bytes'?"),
    (lambda c: ask(c, metric="peak_grown_anon"), "growth.questions.0.metric: .*'peak_grown_anon'.* did you mean 'peak_grown_anon_bytes'?"),
    (lambda c: ask(c, metric="peak_rss_bytes"), "growth.questions.0.metric: no metric 'peak_rss_bytes' that is compared in workload tokenize.*peak_grown_anon_bytes"),
    (lambda c: ask(c, compare="batchsize"), "growth.questions.0.compare: .*'batchsize'.* did you mean 'batch_size'?"),
    (lambda c: ask(c, compare="num_files"), "growth.questions.0.compare: .*'num_files'"),
    (lambda c: ask(c, where={"nothing": [1]}), "growth.questions.0.where: .*'nothing'"),
    (lambda c: ask(c, where={"num_files": [44, 7]}), "growth.questions.0.where.num_files: .*'7'.*44"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_a_fault_is_one_line_that_names_file_and_key(config, change, words):
    change(config)
    message = faults(config, [ROOT / "config.yaml"])
    assert "SECRET" not in message and (words in message or re.search(words, message))
    assert all("config.yaml" in line for line in message.splitlines())


def test_fault_names_the_file_that_has_the_key(tmp_path, config, root):
    mine = tmp_path / "mine.yaml"
    mine.write_text("experiments: {growth: {matrix: {stack: [curent]}}}")
    config["experiments"]["growth"]["matrix"]["stack"] = ["curent"]
    with pytest.raises(ConfigError, match=r"mine\.yaml, experiments\.growth\.matrix\.stack: "):
        load(config, [root / "config.yaml", mine], root)


def test_question_may_name_a_number_of_a_script(config):
    config["experiments"]["growth"]["questions"] = [{"metric": "seconds a row [s, lower]"}]
    assert load(config, [], ROOT).experiments["growth"].questions[0].metric == "seconds a row [s, lower]"
    config["experiments"]["growth"]["questions"] = [{"metric": "seconds a row [s, neither]"}]
    assert "growth.questions.0.metric" in faults(config)
