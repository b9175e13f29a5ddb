"""Hide secrets in command lines and texts: by the name before a value, by the form of an address, header or token.

`in_command` is for an argument vector, `in_text` for any other text. Both read shell text by the shell's rules.
"""

import ast
import base64
import binascii
import contextlib
import re
import shlex
import urllib.parse
from collections.abc import Sequence
from pathlib import PurePath

from .shell_text import Word, parts_of

MASK = "***"

# Names, by their parts in small letters: HF_TOKEN, hfToken and --hf-token are "hf", "token"; HFTOKEN is "hftoken".
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST = 200
_SECRET = re.compile(
    r".*(?:passwords?|passwd|passphrase|passcode|secrets?|credentials?|authorization|pwd|sessid)|passw(?:o|or)?"
    r"|(?:db|user|root|admin|smtp|mail|my|mysql|pg|ssh|ftp|proxy|login|store|key|win)?pass|pass(?:in|out|key)|pw"
    r"|p?swd?|psswd|creds?|jwt|pat|t?otp|bearer|cookie|webhook|mnemonic"
)
_PHRASE = re.compile(r"(?:pass|seed|recovery)phrase")
_KEY = re.compile(
    r".*(?:access|account|admin|aes|anthropic|api|app|auth|authentication|aws|azure|client|cohere|comet|consumer|datadog"
    r"|decryption|deploy|encrypt|encryption|gcp|gemini|github|google|groq|hf|hmac|huggingface|jwt|langchain|langsmith"
    r"|licence|license|master|mistral|neptune|oauth|openai|openrouter|pinecone|private|replicate|root|rsa|secret|sentry"
    r"|serper|service|shared|sign|signing|storage|stripe|subscription|tavily|together|vault|wandb|webhook|xai)keys?"
)
# Keys of data, in variables such as SORT_KEY; any other variable X_KEY is a secret.
_OF_DATA = re.compile(
    "cache|column|data|dict|field|foreign|group|image|index|json|label|map|partition|primary|public|sort|text"
)
_TOKEN_OF = re.compile(r".*(?:access|api|auth|bearer|github|gitlab|hub|huggingface|refresh|session)|gh|hf")
# Tokens of a vocabulary: --pad-token, --max-token, tokenizer.mask_token.
_VOCABULARY = re.compile(
    r"(?:added|additional|audio|begin|bos|cls|decoder|end|ending|eos|eot|fim|first|forced|image|img|last|mask|max|middle|min"
    r"|n|next|num|number|pad|padding|per|prefix|prompt|sep|special|start|stop|suffix|tokenizer|total|unk|video|vocab"
    r"|word)+(?:token)?"
)
# What follows a secret's name in the name of something else: --password-file, TOKEN_LIMIT.
_ABOUT = re.compile(
    "algorithm|batch|bin|budget|cmd|column|command|counts?|dim|dir|directory|dropout|endpoint|env|expires|expiry|field"
    "|files?|folder|format|helper|host|ids|index|len|length|limit|list|loss|manager|max|min|mode|model|names?|num|number"
    "|paths?|per|policy|prob|prompt|provider|rate|ratio|size|stdin|store|through|timeout|ttl|types?|url|uri|usage|var"
    "|variable|weight"
)
_OF_VALUES = re.compile(
    "backup|base|current|default|dev|hex|live|main|new|old|plain|primary|prod|production|raw|read|secondary|staging|str"
    "|string|test|user|value|write"
)
_OF_FOLDERS_AND_COUNTS = re.compile("backward|by|forward|max|multi|n|num|single|start|two|work")
_FLAG = re.compile("allow|disable|enable|has|no|require|skip|use|with")
_PLACES = ("/", ".", "~", "$")

# Each pattern starts only where no character of its kind precedes, so that a long word is scanned once.
_OPTION = re.compile(r"--?[\w.-]++")
_TEXT_OPTION = re.compile(r"(--?[\w.-]++=|-[a-z]{0,3}?c)(\S*\s.*)", re.DOTALL)
_HEAD = re.compile(r"(?<![\w.-])([\w.-]++)(\+?=|:=?)")
_PAIR = re.compile(
    r"(?<![\w.-])([\w.-]++)(?:([\"']?+):[^\S\n]*+(?:[|>][-+\d]*+)?[^\S\n]*+(\n\s*+(?=\S))"
    r"|([\"'\])}]*+)(\+=|:=|=>|==?|:[-=?+]?)(?:[^\S\n]*+(?=[bfru]{0,2}[\"']|[(\[{])|(?=\S))"
    r"|[\"'\])}]*+[^\S\n]++(?:(?:\|\||[?:])?==?|=>|:)[^\S\n]++|(:)[^\S\n]++|([\"'],[^\S\n]*+)(?=[bfru]{0,2}[\"'])|(\s++))"
)
_VALUE = re.compile(r"(?:'[^']*+'|\"(?:\\.|[^\"\\])*+\"|\\.|[^\s'\"\\])++", re.DOTALL)
_BRACKETS = re.compile(r"'(?:\\.|[^'\\])*+'|\"(?:\\.|[^\"\\])*+\"|[()\[\]{}]", re.DOTALL)
_LINE_HEAD = re.compile(r"[\s{\[,-]*")
_LITERAL = re.compile(r"[bfru]{0,2}(?:'(?:\\.|[^'\\])*+'|\"(?:\\.|[^\"\\])*+\")(?=[\s,;)\]}]|$)", re.DOTALL)
_SCHEME = r"(?:bearer|basic|token|digest|apikey|negotiate)"
_OF_SCHEME = re.compile(rf"{_SCHEME}\s+", re.IGNORECASE)
_BEARER = re.compile(r"(\bbearer\s+)(?!--[a-z])((?:'[^'\n]*+'|\"[^\"\n]*+\"|[^\s'\"])++)", re.IGNORECASE)
_BASIC = re.compile(r"(\bbasic\s+)([A-Za-z0-9+/_-]{4,}+=*)", re.IGNORECASE)
_NETRC = re.compile(r"(\blogin\s+\S+\s+password\s+)(?!\*)\S+")
_SQL = re.compile(r"(\b(?:identified\s.{0,50}?(?:by|as)|password)\s+)('[^'\n]++'|\"[^\"\n]++\")", re.IGNORECASE)
_LOGIN = re.compile(r"(\blogin\()(?=['\"\w])[^)\n]*+")
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*+://)", re.IGNORECASE)
_LONGEST_ADDRESS = 4096
_PORT = re.compile(r":\d*(?:[/\s?#,;)'\"]|$)")
_USER = re.compile(r"(?<![\w/:.@%+-])[\w.%+-]{1,64}+:[^\s/:@'\"]++@(?!sha\d+:)(?=\w)")
_QUERY = re.compile(r"([?&;])([\w.%-]++(?:\[[^\]\s]*+\])*+)=([^&#\s'\"]++)")
_OF_QUERIES = {"auth", "code", "key", "sas", "sig", "signature", "amzsignature", "googsignature", "accesssignature"}
_LIST = re.compile(r"\[(?:(?:'(?:\\.|[^'\\\n])*+'|\"(?:\\.|[^\"\\\n])*+\")(?:, )?)++\]")
_TOKEN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl[a-z]{2,5}-[\w-]{16,}"
    r"|sk-(?:[a-z0-9]+-){0,3}\w{20,}[\w-]*|[sr]k_(?:live|test)_\w{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)*|AIza[\w-]{30,}|ya29\.[\w-]{16,}"
    r"|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|dckr_pat_[\w-]{16,}|dop_v1_\w{16,}"
    r"|nvapi-[\w-]{20,}|r8_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|hvs\.[\w-]{16,}|xai-\w{20,})"
    r"|(?<=hooks\.slack\.com/services/)[\w/-]+|(?<=/api/webhooks/)[\w/-]+",
    re.DOTALL,
)
# Short options whose value is secret, by program or subcommand: the next word, or the rest of the word.
_SHORT = {
    "bcp": "P", "cqlsh": "p", "curl": "uUbE", "http": "a", "https": "a", "ipmitool": "P", "ldapadd": "w",
    "ldapsearch": "w", "lftp": "u", "login": "p", "mongo": "p", "mongodump": "p", "mongorestore": "p", "mongosh": "p",
    "mosquitto_pub": "P", "mosquitto_sub": "P", "openssl": "kK", "publish": "tp", "redis-cli": "a", "secret": "b",
    "smbclient": "U", "sqlcmd": "P", "sshpass": "p", "twine": "p", "unzip": "P", "zip": "P",
}  # fmt: skip
# -pVALUE: another word would be a database or a file.
_ATTACHED = re.compile("7z[az]?|mariadb(?:-dump)?|mysql(?:admin|dump|import)?|(?:un)?rar")
_CLUSTER = "sSLkfgiIvjJRNGn"  # options without a value, which may stand before one
_MANY = re.compile(r"^--.*(?:api[-_]?keys?|keys|tokens|secrets|passwords)$", re.IGNORECASE)  # take several values
_BATCH = re.compile(r"-[A-Za-z]*b[A-Za-z]*")  # of htpasswd: user and password follow
_BY_STDIN = re.compile(
    r"--password-stdin|--with-token|--stdin\b|\bsudo\s+(?:-\w+\s+)*-\w*S|\bchpasswd\b|\bpasswd\b.*<<<"
)
_GIVEN = re.compile(r"\b(?:echo|printf)\b|<<")
_DEEPEST = 12


def in_command(words: Sequence[str]) -> list[str]:
    """The words of a command with `***` in place of secrets.

    Secret are: the rest of a word after the name of a secret and `=` or `:`, and the word after a secret's option,
    whatever it is; the values of such names inside shell text, code and JSON; credentials in addresses, in headers and
    in short options of well-known programs; tokens of a known form.
    """
    return _vector(words, 0)


def in_text(message: str) -> str:
    """A text, such as a program's output, with its secrets replaced by the same rules."""
    message = _LIST.sub(_of_list, message)
    lines = message.split("\n")
    if len(lines) == 1 or any(line[-1:] == "\\" or "<<" in line for line in lines):
        return _text(message, 0)
    return _patterns("\n".join(_shell_or_same(line, 0) for line in lines))


def is_secret(name: str) -> bool:
    """Whether a value with this name is secret."""
    parts = [part.lower() for part in _PARTS.findall(name[-_LONGEST:])]
    for number, part in enumerate(parts):
        before, after = parts[number - 1] if number else "", parts[number + 1 :]
        if _names_secret(part, before, name):
            return not any(map(_ABOUT.fullmatch, after))
        of_secret = bool(_TOKEN_OF.fullmatch(before))
        if part.endswith("token") or (part == "tokens" and of_secret):
            of_value = all(map(_OF_VALUES.fullmatch, after))
            about = any(map(_ABOUT.fullmatch, after)) or "id" in after
            return not any(map(_VOCABULARY.fullmatch, parts)) and (not about if of_secret else of_value)
    return bool(parts) and parts[-1] in ("auth", "oauth") and not any(map(_FLAG.fullmatch, parts))


def _names_secret(part: str, before: str, name: str) -> bool:
    if part in ("key", "keys") and before and name.isupper() and not _OF_DATA.fullmatch(before):
        return True
    if part in ("pass", "pwd") and _OF_FOLDERS_AND_COUNTS.fullmatch(before):
        return False
    if part == "phrase":
        return bool(_PHRASE.fullmatch(before + part))
    return bool(_SECRET.fullmatch(part) or _KEY.fullmatch(before + part))


def _hides(name: str, value: str) -> bool:
    """Whether the value of a name is secret. `pwd` alone may also be a folder."""
    if name.lstrip("-").lower() in ("pwd", "oldpwd"):
        return not value.startswith(_PLACES)
    parts = [part.lower() for part in _PARTS.findall(name[-_LONGEST:])]
    if parts[-1:] == ["tokens"] and name.isupper() and not any(map(_VOCABULARY.fullmatch, parts)):
        return not re.match(r"\d+[kKMGBT]?(?!\w)", value)
    if name.startswith("-") and value.startswith("--") and any(map(_FLAG.fullmatch, parts)):
        return False  # a flag and the next option
    return name == "--from-literal" or is_secret(name)


def _vector(words: Sequence[str], depth: int) -> list[str]:
    shown: list[str] = []
    hidden, many, letters, attached = False, False, "", False
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        if hidden and (word in ("=", ":", ":=") or (re.fullmatch(_SCHEME, word, re.IGNORECASE) and following)):
            shown.append(word)
            continue
        if hidden or (many and not word.startswith("-")):
            shown.append(MASK)
            hidden = bool(_OPTION.fullmatch(word)) and is_secret(word)  # the option before may have been a flag
            continue
        before = words[max(0, number - 4) : number]
        program = PurePath(word).name if ":" not in word else ""
        if program in _SHORT or _ATTACHED.fullmatch(program):
            letters, attached = _SHORT.get(program, "p"), program not in _SHORT
        option = re.fullmatch(rf"(-[{_CLUSTER}]*?[{letters}])(.*)", word, re.DOTALL) if letters else None
        if option and (option[2] or not attached):
            shown.append(option[1] + (MASK if option[2] else ""))
            hidden, many = not option[2], False
            continue
        shown.append(_word(word, depth))
        # Data over several lines are read by patterns.
        data = depth and word[-1:] == ":" and following[:1] in ("[", "{")
        hidden = not data and _hides_next(before, word, following)
        many = (hidden and bool(_MANY.search(word))) or (
            "htpasswd" in before and any(map(_BATCH.fullmatch, [*before, word]))
        )
    return shown


def _hides_next(before: Sequence[str], word: str, following: str) -> bool:
    """Whether the word after `word` is secret."""
    if (word == "--body" and {"secret", "set"} <= set(before)) or before[:2] == ["alias", "set"]:
        return True
    if word in ("--user", "--proxy-user", "--cert", "--proxy-cert") and ":" in following:
        return not re.fullmatch(r"\d+:\d+", following)
    if _OPTION.fullmatch(word) or following == "=":
        return _hides(word, following)
    if re.fullmatch(r"[\w-]+:", word):
        return is_secret(word)
    if following.startswith("-"):
        return False
    if word.lower() == "bearer" or (list(before[-1:]), word) == (["wandb"], "login"):
        return True
    names_follow = {"-p", "-r", "--set", "config", "create", "modify", "set", "setenv", "-genv", "-env"}
    return bool(names_follow & set(before[-2:])) and is_secret(word) and (*before[-1:], word) != ("create", "secret")


def _word(word: str, depth: int) -> str:
    """A word of a command. After a secret's name, all of it is the value."""
    head = re.match(r"[^\s'\"\\]*", word)
    end = head.end() if head else 0
    for name in _HEAD.finditer(word, 0, end):
        before = word[name.start() - 1 : name.start()]
        if (before in ("?", "&") and before) or (name[2] == ":" and before == "/" and word.startswith("/", name.end())):
            continue
        value = word[name.end() :]
        if value.startswith("//") and name[2] == ":":
            continue
        if _hides(name[1], value) and value:
            kept = _OF_SCHEME.match(value.lstrip()) if name[2] == ":" else None
            return (
                word[: name.end()]
                + (f" {kept[0]}" if kept else "")
                + (" " if value[0] == " " and not kept else "")
                + MASK
            )
    if option := _TEXT_OPTION.fullmatch(word):
        return option[1] + _text(option[2], depth + 1, hides=True)
    if _ADDRESS.match(word):
        word = _user_of_address(word, whole=True)
    if end < len(word) or "$(" in word or "`" in word:
        return _text(word, depth, hides=True)
    return _patterns(_user_of_address(word, whole=True))


def _text(text: str, depth: int, *, hides: bool = False) -> str:
    """A text that may be shell text. If it names secrets, and is none that can be read, it may be hidden whole."""
    if depth > _DEEPEST or (_BY_STDIN.search(text) and _GIVEN.search(text)):
        return MASK
    try:
        shown = _shell(text, depth)
    except (ValueError, RecursionError):
        shown = _patterns(text)
        return MASK if hides and shown != text else shown
    if hides and shown == text:
        shown = _user_of_address(text, whole=True)
    return _patterns(shown)


def _shell_or_same(text: str, depth: int) -> str:
    with contextlib.suppress(ValueError, RecursionError):
        return _shell(text, depth)
    return text


def _shell(text: str, depth: int) -> str:
    """Shell text whose words are masked as those of commands. Raises ValueError if it is not closed."""
    commands: list[list[Word]] = [[]]
    edits: list[tuple[int, int, str]] = []
    targets: list[list[Word]] = []  # of redirections, which may stand between an option and its value
    last: Word | str = ""
    for word in parts_of(text):
        if isinstance(word, str):
            if word[0] not in "<>":
                commands.append([])
        elif last == "<<<" and any(is_secret(one.value) for one in commands[-1]):
            edits.append((word.start, word.end, MASK))
        elif isinstance(last, str) and last[:1] in ("<", ">") and last not in ("<<", "<<-"):
            targets.append([word])
        else:
            commands[-1].append(word)
        last = word
    called = 0  # the end of a call that was hidden
    for words in [*commands, *targets]:
        values = [word.value for word in words]
        # A word that is the whole text again was not taken apart: only patterns are left to look for.
        whole = values == [text]
        shown = [text] if whole else _vector(values, depth + 1)
        for word, value in zip(words, shown, strict=True):
            if value != word.value:
                if word.end > called and value.endswith(MASK) and text.startswith("(", word.end):
                    called = _after_calls(text, word.end)
                    if called > len(text):
                        raise ValueError
                edits.append((word.start, max(word.end, called), _quoted(value.replace("\0", "$(…)"))))
            else:
                edits += [(start, end, _text(text[start:end], depth + 1)) for start, end in word.inner]
    parts, at = [], 0
    for start, end, value in sorted(edits):
        if start >= at:
            parts += [text[at:start], value]
            at = end
    return "".join([*parts, text[at:]])


def _quoted(value: str) -> str:
    return shlex.quote(value) if re.search(r"[\s'\"\\;&|()<>$`]", value) else value


def _patterns(text: str) -> str:
    """A text with its secrets replaced where a pattern finds them, without the rules of a shell."""
    text = _LIST.sub(_of_list, text)
    text = _TOKEN.sub(MASK, text)
    text = _QUERY.sub(_of_query, text)
    text = _user_of_address(text, whole=False)
    text = _USER.sub(f"{MASK}@", text)
    text = _BEARER.sub(rf"\g<1>{MASK}", text)
    text = _BASIC.sub(_of_basic, text)
    text = _NETRC.sub(rf"\g<1>{MASK}", text)
    text = _SQL.sub(rf"\g<1>{MASK}", text)
    text = _LOGIN.sub(rf"\g<1>{MASK}", text)
    parts, at = [], 0
    for pair in _PAIR.finditer(text):
        if pair.start() >= at and _is_pair(pair, text):
            begin, end = _value(text, pair)
            parts += [text[at:begin], MASK]
            at = end
    return "".join([*parts, text[at:]])


def _is_pair(pair: re.Match[str], text: str) -> bool:
    """Whether a name and what follows are a secret's name and its value."""
    name, value = pair[1], text[pair.end() : pair.end() + _LONGEST]
    scheme = _OF_SCHEME.match(text, pair.end())
    begin = scheme.end() if scheme else pair.end()
    masked = text.startswith(MASK, begin)
    if not value or (masked and not (_to_line_end(pair) and text.startswith(" ", begin + len(MASK)))):
        return False
    before = text[max(0, pair.start() - 1) : pair.start()]
    if before in ("?", "&") and before:
        return False  # read by _QUERY
    if before == "/" and pair[5] == ":" and value[:1] == "/":
        return False  # a path, as in --volume /a/token:/b
    if pair[3] and not ((pair[2] and value[0] in "\"'[{") or _LINE_HEAD.fullmatch(_line_before(text, pair))):
        return False  # code, as in `if token:`
    if pair[8] is not None and not name.startswith("-"):
        return False  # two words
    if pair[7] is not None and len(_PARTS.findall(name)) < 2:
        return False  # two strings, such as names of columns
    if pair[5] is not None and pair[5].startswith(":") and text.startswith("//", pair.end()):
        return False
    return _hides(name, value) and not (pair[3] and _block(text, pair) == pair.end())


def _line_before(text: str, pair: re.Match[str]) -> str:
    return text[text.rfind("\n", 0, pair.start()) + 1 : pair.start()]


def _to_line_end(pair: re.Match[str]) -> bool:
    """Whether a value without quotes is the rest of its line: of a header, in YAML, and after `NAME = `."""
    apart = not any(pair.group(3, 5, 6, 7, 8))
    return apart or bool(pair[6]) or (pair[5] or "").startswith(":") or "authorization" in pair[1].lower()


def _value(text: str, pair: re.Match[str]) -> tuple[int, int]:
    """Where the value after a secret's name begins and ends."""
    at = pair.end()
    line = text.find("\n", at)
    line = len(text) if line < 0 else line
    if pair[3]:
        return at, _block(text, pair)
    if literal := _LITERAL.match(text, at):
        return at, literal.end()
    value = _VALUE.match(text, at)
    # A quote that is not closed: the value may go on to the end.
    closed = value and text[value.end() : value.end() + 1] not in ("'", '"')
    end = line if _to_line_end(pair) else value.end() if value and closed else len(text)
    if bracket := re.compile(r"[(\[{]").search(text, at, end):
        after = _after_calls(text, bracket.start())
        if bracket.start() == at or after <= len(text):
            end = after if bracket.start() == at and not _to_line_end(pair) else max(end, after)
    scheme = _OF_SCHEME.match(text, at) if _to_line_end(pair) else None
    return (scheme.end() if scheme else at), end


def _partner(text: str, at: int) -> int:
    """The place after the partner of a bracket, which is beyond the text if it has none."""
    depth = 0
    for sign in _BRACKETS.finditer(text, at, at + _LONGEST_ADDRESS):
        depth += 1 if sign[0] in "([{" else -1 if sign[0] in ")]}" else 0
        if not depth:
            return sign.end()
    return len(text) + 1


def _after_calls(text: str, at: int) -> int:
    """The place after brackets, and after what is called on them."""
    while text[at : at + 1] in ("(", "[", "{"):
        at = _partner(text, at)
        if called := re.compile(r"[.\w]++").match(text, at):
            at = called.end()
    return at


def _block(text: str, pair: re.Match[str]) -> int:
    """The end of a value below its name: a literal, a bracket with its contents, or lines further to the right."""
    at = pair.end()
    if text[at] in "([{'\"":
        return _partner(text, at)
    line = _line_before(text, pair)
    indent = len(line) - len(line.lstrip(" \t"))
    begin = text.rfind("\n", 0, at) + 1
    lines = re.compile(
        rf"(?:(?:[ \t]{{{indent + 1},}}+\S|[ \t]{{{indent}}}- )[^\n]*+(?:\n\s*?(?=[ \t]*+\S)|$))*+"
    ).match(text, begin)
    return len(text[: lines.end()].rstrip()) if lines and lines.end() > at else at


def _user_of_address(text: str, *, whole: bool) -> str:
    """Without user and password of addresses. In a whole word, a password may have blanks and any other sign."""
    parts, at = [], 0
    for address in _ADDRESS.finditer(text):
        begin = address.end()
        if begin < at:
            continue
        rest = text[begin : begin + _LONGEST_ADDRESS]
        rest = rest if whole else rest.partition("\n")[0]
        run = rest if whole else re.split(r"\s", rest, maxsplit=1)[0]
        name = len(re.split(r"[/?#:@\s]", rest, maxsplit=1)[0])
        if rest.startswith(":", name):  # user and password, or a port
            end = run.rfind("@", name)
            if end < 0 and not _PORT.match(rest, name):
                end = rest.rfind("@", name)
        else:
            end = re.split(r"[/?#]", run, maxsplit=1)[0].rfind("@")
        if end >= 0:
            parts += [text[at:begin], MASK]
            at = begin + end
    return "".join([*parts, text[at:]])


def _of_query(query: re.Match[str]) -> str:
    named = urllib.parse.unquote(query[2])
    name = "".join(_PARTS.findall(named)).lower()
    hides = is_secret(named) or name.removeprefix("x") in _OF_QUERIES
    return f"{query[1]}{query[2]}={MASK}" if hides else query[0]


def _of_basic(basic: re.Match[str]) -> str:
    try:
        decoded = base64.b64decode(basic[2] + "=" * (-len(basic[2]) % 4))
    except (binascii.Error, ValueError):
        return basic[0]
    return f"{basic[1]}{MASK}" if b":" in decoded else basic[0]


def _of_list(words: re.Match[str]) -> str:
    """A list of words, as Python prints the arguments of a program."""
    try:
        values = ast.literal_eval(words[0])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return words[0]
    shown = in_command(values)
    return words[0] if shown == values else repr(shown)
