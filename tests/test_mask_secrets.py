"""Secrets in a command line are masked by the name before them, and nothing else is masked."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beyond_ram import mask_secrets

MASKED = {
    "--password=hunter2": "--password=***",
    "--password hunter2": "--password ***",
    "-password hunter2 x": "-password *** x",
    "--db-password hunter2 --rows 5": "--db-password *** --rows 5",
    "--hf_token=hf_a": "--hf_token=***",
    "env HF_TOKEN=hf_a python x.py": "env HF_TOKEN=*** python x.py",
    "AWS_SECRET_ACCESS_KEY=a/b+c= run": "AWS_SECRET_ACCESS_KEY=*** run",
    "--api-key a --apikey b --API_KEY=c": "--api-key *** --apikey *** --API_KEY=***",
    "--client.secret=a": "--client.secret=***",
    "git clone https://me:hunter2@host/x": "git clone https://***@host/x",
    "s3://hf_a@bucket": "s3://***@bucket",
    "curl -H 'Authorization: Bearer hf_a'": "curl -H 'Authorization: Bearer ***'",
    "--tokenizer gpt2 --max-tokens 5": "--tokenizer gpt2 --max-tokens 5",
    "--password-file /x --token-count=5": "--password-file /x --token-count=5",
    "--password --rows 5": "--password --rows 5",
    "user@host:x a@b --secrets 4 tokenize token": "user@host:x a@b --secrets 4 tokenize token",
}


@pytest.mark.parametrize("line", MASKED)
def test_values_with_secret_names_are_masked(line: str) -> None:
    assert mask_secrets.in_text(line) == MASKED[line], "as a script"
    if "'" not in line:
        assert mask_secrets.in_command(line.split(" ")) == MASKED[line].split(" "), "as words"


def test_long_words_are_masked_quickly() -> None:
    begun = time.monotonic()
    for word in (
        "a-" * 50_000,
        "a_" * 50_000,
        "--" * 50_000,
        "a." * 50_000 + "token",
        "a=" * 50_000,
        "x" * 100_000,
        "a:" * 50_000,
    ):
        mask_secrets.in_command(["x", word])
    assert time.monotonic() - begun < 5


SECRETS = [f"planted-{number}" for number in range(6)]
COMMAND = ["sh", "-c", f"exit 3 # --token {SECRETS[0]}", f"--password={SECRETS[1]}", "--secret", SECRETS[2],
           f"https://me:{SECRETS[3]}@host"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_no_secret_of_command_or_environment_is_stored(tmp_path: Path, whole: bool) -> None:
    environment = {**os.environ, "HF_TOKEN": SECRETS[4], "MY_PASSWORD": SECRETS[5]}
    options = ["--out", str(tmp_path / "out"), *(["--whole-command"] if whole else [])]
    words = [sys.executable, "-m", "beyond_ram", "watch", *options, "--", *COMMAND]
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert done.returncode == 3
    stored = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    leaked = [secret for secret in SECRETS if secret.encode() in stored + done.stdout + done.stderr]
    assert leaked == (SECRETS[:4] if whole else [])
    if whole:
        assert json.loads((tmp_path / "out" / "run.json").read_text())["command"] == COMMAND


@pytest.mark.slow
def test_message_about_a_missing_command_has_no_secret(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "beyond_ram", "watch", "--out", str(tmp_path / "out"), "--", "no-such-program"]
    done = subprocess.run([*words, "--token", SECRETS[0]], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "no-such-program" in done.stderr
    assert SECRETS[0] not in done.stderr
