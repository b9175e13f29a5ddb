"""Other programs that turn text into files of ids: they give the ids of mode `engine`, or a reason."""

import pytest

from beyond_ram.metrics.reported import reported

from ..conftest import interpreter
from ..workloads.encoding import check, make, reason, run
from . import run_case

pytestmark = pytest.mark.slow

# Peers whose stacks are quick to build and import; config/tokenizers.yaml runs all.
SMALL = ("encode_batch", "polars", "duckdb", "datatrove")
HASH, TOKENS = "Hash of the ids [48 bits of SHA-256, neither, exact]", "Tokens [tokens, neither, exact]"


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return make(tmp_path_factory.mktemp("peers"), "byte-level")


def through(stack, mode, corpus, work, modules=None):
    """The numbers of a peer's run, and why it does not apply. `modules`: a folder with a peer of the test."""
    words = ["--corpus", corpus, "--mode", mode, "--num-proc", "2", "--batch-size", "4"]
    variables = {"PYTHONPATH": str(modules)} if modules else {}
    events = run_case(work, "peer.py", *words, python=interpreter(stack), **variables)
    return reported(events), reason(events)


@pytest.mark.end_to_end
@pytest.mark.parametrize(("stack", "modes"), [("peers", (*SMALL, "gigatoken")), ("peers-next", SMALL)])
def test_peers_give_the_ids_of_the_engine(words, tmp_path, stack, modes):
    run("encoder", "tokenize_corpus.py", tmp_path / "engine", words, "--mode", "engine", "--num-proc", "2")
    (wanted,) = check(tmp_path / "engine", corpus=words, python=interpreter("encoder"))
    for mode in modes:
        numbers, why = through(stack, mode, words, tmp_path / f"{stack}-{mode}")
        if why:
            assert (stack, mode) == ("peers-next", "datatrove"), why
            continue
        assert (numbers[TOKENS], numbers[HASH]) == (wanted["tokens"], int(wanted["ids_sha256"][:12], 16)), mode


def test_missing_package_and_unsupported_tokenizer_get_a_reason(words, tmp_path):
    assert through("peers", "dolma", words, tmp_path / "none")[1] == "No module named 'dolma'"
    (tmp_path / "corpus").mkdir()
    metaspace = make(tmp_path / "corpus", "characters")
    why = through("peers", "gigatoken", metaspace, tmp_path / "panics")[
        1
    ]  # 0.10 panics; a release that takes it gives ids
    assert why is None or why.startswith("gigatoken does not take this tokenizer: ")


# Its workers are children of a server that outlives them.
BURNS = """
import multiprocessing, time
def burn():
    while time.process_time() < 0.6: pass
def tokenize(how):
    workers = [multiprocessing.get_context("forkserver").Process(target=burn) for _ in range(2)]
    for one in workers: one.start()
    for one in workers: one.join()
def documents(how):
    import numpy
    yield numpy.zeros(900, "<i4")
"""


def test_rate_counts_the_workers_of_a_fork_server(words, tmp_path):
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers/burns.py").write_text(BURNS)
    numbers, _ = through("encoder", "burns", words, tmp_path / "work", tmp_path)
    rate = numbers["Tokens per CPU-second [tokens/CPU-s, higher]"]
    assert 300 < rate < 1000, rate
