"""Hide secrets in command lines. The name of an option or variable decides whether its value is secret."""

import re
from collections.abc import Sequence

MASK = "***"
# Endings of names of secrets: --db-password, PGPASSWORD, HF_TOKEN, apikey; but not --tokenizer, --max-tokens.
_SECRET = re.compile(
    r"(?:pass(?:word|wd|phrase)|[-_]pwd|(?:^|[-_.])(?:token|secret|credentials?|(?:api|access|private)[-_]?key))$",
    re.IGNORECASE,
)
_LONGEST = 40
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s'\"]+")
# Each pattern starts only where no character of its kind precedes, so that a long word is scanned once.
_NAMED = re.compile(r"(?<![\w.-])([\w.-]+)=|(?<!\S)(--?[\w.-]+)\s+(?!-)")
_OPTION = re.compile(r"--?[\w.-]+")
_HEADER = re.compile(r"(\b(?:bearer|basic)\s+)[^\s'\"]+", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*://)[^\s/@'\"]+@", re.IGNORECASE)


def in_command(words: Sequence[str]) -> list[str]:
    """The words of a command with `***` in place of secrets.

    Secret are: the value of an option or variable whose name is or ends with password, passwd, passphrase, pwd, token,
    secret, credential, api key, access key or private key (after `=` or as the next word); what follows `Bearer` or
    `Basic`; user and password of an address. Also inside a word, such as a script for `sh -c`.
    """
    shown: list[str] = []
    of_secret = False
    for word in words:
        shown.append(MASK if of_secret and not word.startswith("-") else in_text(word))
        of_secret = _OPTION.fullmatch(word) is not None and _is_secret(word)
    return shown


def in_text(message: str) -> str:
    """A text, such as a program's output, with its secrets replaced by the same rules."""
    message = _ADDRESS.sub(rf"\g<1>{MASK}@", message)
    message = _HEADER.sub(rf"\g<1>{MASK}", message)
    parts, at = [], 0
    for name in _NAMED.finditer(message):
        if name.start() < at or not _is_secret(name[1] or name[2]):
            continue
        if value := _VALUE.match(message, name.end()):
            parts += [message[at : name.end()], MASK]
            at = value.end()
    return "".join([*parts, message[at:]])


def _is_secret(name: str) -> bool:
    return _SECRET.search(name[-_LONGEST:]) is not None
