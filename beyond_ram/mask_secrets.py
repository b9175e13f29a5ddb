"""Hide secrets in command lines and texts: by the name before a value, by the form of an address, header or token.

`in_command` is for an argument vector, `in_text` for any other text. No language is parsed: a word of a command that is
shell text, code or data is hidden whole if anything in it mentions a secret.
"""

import re
import unicodedata
import urllib.parse
from collections.abc import Iterator, Sequence
from functools import lru_cache

MASK = "***"

# Names, by their parts in small letters: HF_TOKEN, hfToken and --hf-token are "hf", "token"; HFTOKEN is "hftoken".
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET = re.compile(
    r".*(?:password|passwd|psswd|passw(?:o|or)?$|passwort|contrase|senha|kennwort|motdepasse|twofactor|hmac|passphrase|seedphrase|passcode|passkey|secret|credential|authori[sz]ation$"
    r"|bearer|csrf|webhook|xsrf|mnemonic|sessionid|sessid).*|.*(?:cookies?|pwd|pw)|pass(?:in|out)|p?swd|creds?|jwt"
)
# Secret as the last part of a name.
_LAST = re.compile(r"(?:git(?:hub|lab))?pat|t?otp|pin|psk|sas|sid|sk")
_PASS = ("code", "phrase", "wd", "word")  # behind "pass", as in passWord
# Words of code and text too: secret only if a value follows.
_COMMON = re.compile(r".*(?:pass|auth|cookies?|pwd|pw)|pat|t?otp|pin|psk|sas|sid|sk|creds?")
_NO_PASS = re.compile("backward|by|com|encom|forward|max|multi|n|num|over|single|start|sur|tres|two|under|work")
_FLAG = re.compile("allow|disable|enable|has|no|require|skip|un|use|with")
# X key and Xkey, for any other X, are secret.
_NO_KEY = re.compile(
    "|all|and|answer|any|by|bucket|cache|candidate|caption|col|column|composite|config|cric|data|dataset|dict|dist|don|each|feature"
    "|field|file|first|for|foreign|from|get|group|has|hash|hoc|hot|id|image|img|in|index|input|is|item|joc|join|json|label|last"
    "|lookup|map|max|merge|metric|min|mon|n|natural|new|next|no|num|object|of|on|output|parent|partition|past|per|primary"
    "|prompt|public|query|question|range|record|response|row|sample|same|shard|sort|source|split|state|str|string|tar"
    "|target|text|the|to|tur|value|whis|with|word"
)
_KEYS = re.compile(r".*(?:access|account|api|auth|encryption|host|license|master|private|secret|shared|signing|ssh)")
_TOKENS = re.compile(r".*(?:access|api|auth|bearer|github|gitlab|hub|huggingface|refresh|session)|gh|hf")
_VOCABULARY = re.compile(
    r"(?:added|additional|audio|begin|bos|cls|current|de|decoder|end|ending|eos|eot|fim|first|forced|image|img|initializer|last|mask"
    r"|max|middle|min|n|new|next|num|number|pad|padding|per|placeholder|prefix|prev|previous|prompt|sep|single|special|start|stop"
    r"|suffix|tik|tokenizer|total|unk|unknown|video|vocab|word)+"
)
# What follows a secret's name in the name of something else: --password-file, TOKEN_LIMIT, tokenizer.
_ABOUT = re.compile(
    r"algorithm|batch|budget|classification|column|counts?|dim|dir|directory|dropout|emb|embed\w*|endpoint|env"
    r"|expires|expiry|field|files?|folder|format|helper|id(?:s|x)?|index|indices|ing|i[sz]\w*|len|length|level|limit|logits"
    r"|loss|manager|mask|mode|model|names?|num|number|paths?|per|policy|pos|positions?|prob|prompt|provider|rate|ratio|shift"
    r"|size|span|store|through|timeout|ttl|types?|ur[li]|usage|var|variable|weights?"
)
_OF_QUERIES = {"auth", "code", "key", "session", "sig", "signature"}

_NAME = re.compile(r"(?<![\w.%-])[\w.%-]++")
_PLAIN = re.compile(r"[^\s'\"`()\[\]{};|&<>$\\]*")
_OPTION = re.compile(r"--?[\w.-]+")
_HEAD = re.compile(r"(?:--?[\w.-]{1,40}|[A-Z][A-Z_]{0,40})=")
# What stands between a name and its value: an assignment, a comma between strings, a call, a tag, the name of a value.
_ASSIGNED = re.compile(
    r"((?:\\*[\"'])*+)(?:\[\w*)?+[\])}]*+(?:\s|\\[nrt])*+(?:\+=|\?=|:=|=>|==?|<-|<<<|:[-=?+]?(?!//))[^\S\n]*+"
    r"|\\*+[\"'][\\\"']*+[\])}]*+\s*+,\s*+|\((?!s?\))|[\"']>(?=[^\s<])"
    r"|(?i:(?:\\[nrt]|[\\\"'\s,;}{-]){1,40}\w{0,20}val(?:ue)?\\*[\"']?\s*+[:=]\s*+)"
)
_OF_OTHERS = re.compile(r"--(?:value|body)['\"]?[\s=,]+['\"]?(?=\S)")
_VERSION = re.compile(r"[^\S\n]*==\s*\d+\.\d")
_AFTER_OPTION = re.compile(r"[\"']?,?[^\S\n]++(?=\S)")
_QUOTED = re.compile(r"\s++(?=[bfr]?\\*[\"'])")
_SETTING = re.compile(
    r"(?:^|\s)-?-?(?:add|config|env|export|genv|modify|put|set|setenv)\s+(?:[^\s;|&]+\s+){0,2}(?:[^\s;|&]*[/:])?$",
    re.IGNORECASE,
)
_ALONE = re.compile("tokens?|secrets?|credentials?", re.IGNORECASE)  # as a word of a command often a kind of things
_PLACE = re.compile(r"[/.~$]")
_MASKED = re.compile(r"\*{3}(?=[\s'\"@),\]]|$)")
_LITERAL = re.compile(r"[\"']?(?:true|false|none|null)[\"']?[ \t]*+(?:[,;)\]}]|$|--?\w)", re.IGNORECASE | re.MULTILINE)
_LINE_HEAD = re.compile(r"[\s{\[,-]*")
_NOTHING = re.compile(r"[\s\\|>+-]*")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[abefnrtv0])", re.IGNORECASE)
_IN_WORDS = re.compile(r"\\\n|['\"\\]")

_SCHEME = re.compile(r"(?:bearer|basic|token|digest|apikey|negotiate)", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<=[A-Za-z0-9+.-])://")
_LONGEST_ADDRESS = 1024
_PORT = re.compile(r":\d*(?:[/\s?#,;)'\"]|$)")
# After the first group, or from the beginning, stands a secret.
_FORM = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|(?:(?<![A-Za-z0-9])|(?<=(?<![\w-])-[A-Za-z])|(?<=(?<![\w-])-[A-Za-z]{2}))(?:hf_[A-Za-z0-9]{16,}|gh[a-z]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl[a-z]{2,5}-[\w-]{16,}"
    r"|sk-(?:[a-z0-9]+-){0,3}\w{20,}|[sr]k_(?:live|test)_\w{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[a-z]-[\w-]{10,}"
    r"|xapp-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]|AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{16,}"
    r"|sbp_[a-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{40,}"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}|dckr_pat_[\w-]{16,}|dop_v1_\w{16,}|nvapi-[\w-]{20,}|r8_[A-Za-z0-9]{20,}"
    r"|gsk_[A-Za-z0-9]{20,}|hvs\.[\w-]{16,}|xai-\w{20,}|dapi[0-9a-f]{16,}|shp[a-z]{2}_\w{16,}|lin_api_\w{16,}"
    r"|tskey-[\w-]{10,}|AGE-SECRET-KEY-\w|wandb_v1_\w{10,}|whsec_[\w+/]{16,}|glsa_\w{16,}|api_org_\w{16,})"
    r"|(hooks\.slack\.com/services/|/api/webhooks/|://[^/\s]+/t/|/bot\d+:)(?=[\w-])"
    r"|(\b[Bb](?i:earer)\s+)(?!--[a-z])(?=\S)|(\b[Bb](?i:asic)\s+)(?=\S*?(?:[a-z0-9][A-Z]|\d|=))(?=[\w+/-]{4})"
    r"|(\blogin\s+\S+\s+password\s+)(?=\S)|(\b(?:login|authenticate)\()(?=['\"\w])"
    r"|(\bIDENTIFIED\s(?:.{0,50}?\s)?(?:BY|AS)\s+)(?=\S)"
    r"|(\b(?i:identified\s(?:.{0,50}?\s)?(?:by|as))\s+)(?=['\"])"
    r"|(\b(?:echo|printf)\s+)(?=[^\n]{0,300}\|[^\n]{0,300}(?:stdin|passwd|with-token|sudo -\w*S|login))"
    r"|((?<![\w-])(?:--(?:(?:proxy-)?(?:user|cert)|login)|-u)['\",\s=]{1,4})(?=[^\s'\",:%]+[:%](?!\d+(?:\s|$)))"
    r"|(\bjdbc:oracle:\w+:)(?=[^@\s/]+/)|(\boracle(?:\+\w+)?://[^@\s/:]+/)(?=[^@\s/]+@)"
    r"|(\b(?i:pragma\s+(?:re)?key)\s*=\s*)(?=\S)|\bsudo\s+(?:-\w+\s+)*-\w*S"
    r"|((?:^|\s)/p:)(?=\S)"
)
_USER = re.compile(
    r"(?:(?<![\w/:.@%+-])|(?<=\w:/)|(?<=//)(?<!://)(?<![\w/.]//))[\w.%+-]{1,64}+:[^\s/:@'\"]++@(?!sha\d+:)(?=\w)"
)
# Options of programs and subcommands, without a dash, whose value is secret: the next word, or the rest of the word.
_SHORT = {
    r"ab|redis-\S+|valkey-\S+|keydb-\S+|https?|xh|hey": "aA",
    r"bcp|ipmitool|mosquitto_[ps]ub|mssql-cli|sqlcmd|(?:un)?zip": "P",
    r"airflow|couchbase-cli|crackmapexec|cypher-shell|evil-winrm|gsql|ncftp\w*|n(?:et)?xc|oras|psexec\S*": "p",
    "steghide|synapse|yt-dlp": "p",
    r"beeline|cqlsh|hdbsql|login|mongo\w*|mycli|rabbitmqadmin|rdesktop|snowsql|sshpass|twine": "p",
    "anaconda|codecov|doctl|fly(?:ctl)?|vercel": "t", "ccrypt": "K", "curl": "uUbE", "gem|mcrypt|openai|tmate": "k",
    "influx": "tp", "publish": "atp",
    "ldappasswd": "sw", r"ldap\w+|vsql": "w", "nuget": "k", "lftp|open": "u", "net|rpcclient|smbclient": "U",
    "openssl": "kK", "secret": "b",
    "smbmap|user(?:add|mod)": "p", r"snmp\w+": "cAX", "tsql": "P",
    "ssh-keygen": "NP",
}  # fmt: skip
# -pVALUE: another word would be a database or a file.
_ATTACHED = re.compile(r"7z[az]?|mariadb[\w-]*|mysql\w*|(?:un)?rar")
_SHORT[_ATTACHED.pattern] = "p"
_BEFORE_PROGRAM = re.compile(r"[/:='\"]|^-[a-z]{0,3}?[cm](?=\w)", re.IGNORECASE)  # also of python -mtwine
_CLUSTER = "ABCHILNGQRSXfghijJknqrstvx"  # options without a value, which may stand before one
# Words after which any word without a dash may be secret.
_POSITIONAL = re.compile("htpasswd|sqlplus|sqlldr|expdp|impdp|rman")
_REST = re.compile(r"alias set|host add|\S* http-basic\.\S+")
_LOGIN, _PROGRAM = re.compile("hf|huggingface-cli|ngrok|snyk|vault|wandb"), re.compile(r"(?!ssh$)[a-z]\S*")
_VERBS = re.compile("add|create|edit|new|put|set|update")
_MANY = re.compile(r"^--.*(?:api[-_]?keys?|keys|tokens|secrets|passwords)$", re.IGNORECASE)  # take several values
_ROUGH = re.compile(r"[;|&\n]|[^\s'\"`,;()\[\]{}|&<>](?:[^\s,;()\[\]{}|&<>]*[^\s'\"`,;()\[\]{}|&<>])?")


def in_command(words: Sequence[str]) -> list[str]:
    """The words of a command with `***` in place of secrets.

    Secret are: the rest of a word after the name of a secret and `=` or `:`, and the word after a secret's option,
    whatever it is; credentials in addresses and in short options of well-known programs; tokens of a known form. A word
    with blanks, quotes, brackets or signs of a shell that mentions any of these is hidden whole.
    """
    shown: list[str] = []
    by_program = _by_program(words, prose=False)
    hidden = many = False
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        if hidden and (word in ("=", ":", ":=") or (_SCHEME.fullmatch(word) and following)):
            shown.append(word)
        elif hidden or (many and not word.startswith("-")):
            shown.append(MASK)
            # The option before may have been a flag, or this the name of a secret.
            hidden = is_secret(word) and (word.startswith("-") or not following.startswith("-"))
        elif number in by_program:
            shown.append(word[: by_program[number]] + MASK)
            hidden = is_secret(word)  # -token is no -t with "oken"
        else:
            shown.append(_word(word))
            hidden = _hides_next(words[max(0, number - 5) : number], word, following)
            many = hidden and bool(_MANY.search(word))
    return shown


def in_text(text: str) -> str:
    """A text, such as a program's output: from each secret to the end of its line, or of the text where a quote or
    bracket stays open."""
    parts, at = [], 0
    # A token that is the user of an address ends with it.
    for begin, end in sorted(_secrets(text), key=lambda one: (one[0], one[1] is None, one[1])):
        if begin >= at and not _MASKED.match(text, begin):
            parts += [text[at:begin], MASK]
            at = _end(text, begin) if end is None else end
    return "".join([*parts, text[at:]])


@lru_cache(4096)
def is_secret(name: str) -> bool:
    """Whether a value with this name is secret."""
    plain = unicodedata.normalize("NFKC", urllib.parse.unquote(name))
    spelled = [[part.lower() for part in _PARTS.findall(one)] for one in (plain, plain.lower())]  # also PASSword
    return any(_names_secret(parts, number, name) for parts in spelled for number in range(len(parts)))


def _names_secret(parts: Sequence[str], number: int, name: str) -> bool:
    part, before, after = parts[number], parts[number - 1] if number else "", parts[number + 1 : number + 4]
    if word := re.fullmatch(r"(.*?)token(s?)([a-z]*)", part):
        before, after = word[1] or before, [word[3], *after] if word[3] else after
        secret = bool(_TOKENS.fullmatch(before)) or (
            not _VOCABULARY.fullmatch(before) and (not word[2] or "TOKEN" in name)
        )
        return secret and not any(map(_ABOUT.fullmatch, after))
    if word := re.fullmatch(r"(.*)key(s?)", part):
        before = word[1] or before
        secret = bool(_KEYS.fullmatch(before)) or not (word[2] or _NO_KEY.fullmatch(before))
        return secret and not any(map(_ABOUT.fullmatch, after))
    if (
        _SECRET.fullmatch(part)
        or (part in _PASS and before == "pass")
        or (part == "phrase" and before in ("seed", "recovery"))
        or (part == "passe" and before == "de")
    ):
        return not any(map(_ABOUT.fullmatch, after)) and not (part == "pwd" and before in ("num", "work"))
    if part == "session":
        return after[:1] == ["id"] or bool(re.fullmatch("--?session", name))
    if part == "login":
        return not after and name.lower().endswith(".login")
    if after:
        return False
    if word := re.fullmatch("(.*)pass", part):
        return not _NO_PASS.fullmatch(word[1] or before)
    if part.endswith("auth"):
        return not any(map(_FLAG.fullmatch, [*parts[:number], part[:-4]]))
    return bool(_LAST.fullmatch(part))


def _is_common(name: str) -> bool:
    """Whether a secret's name may be any word of code or prose, such as `pass`."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    alone = len(parts) == 1 or parts[-1:] == ["auth"]
    return alone and not name.startswith("-") and bool(_COMMON.fullmatch(parts[-1]))


def _hides(name: str, value: str) -> bool:
    """Whether the value of a name is secret. `pwd` alone may also be a folder."""
    if not value or _LITERAL.match(value):
        return False
    if name.lstrip("-").lower() in ("pwd", "oldpwd"):
        return not _PLACE.match(value)
    if name.isupper() and name.endswith("TOKENS") and re.match(r"\d+[kKMGBT]?(?!\w)", value):
        return False
    if name.startswith("-") and value.startswith("--"):
        # A flag and the next option.
        return is_secret(name) and not any(_FLAG.fullmatch(part.lower()) for part in _PARTS.findall(name))
    return is_secret(name)


def _hides_next(before: Sequence[str], word: str, following: str) -> bool:
    """Whether the word after `word` is secret."""
    if word in ("--user", "--proxy-user", "--cert", "--proxy-cert", "--login", "-u"):
        return bool(_FORM.match(f"{word} {following}"))
    if word in ("--value", "--body"):  # of what a word before it names: --name /prod/password --value X
        return any(map(_names_a_secret, before))
    if _OPTION.fullmatch(word) and word.startswith("-"):
        return _hides(word, following)
    if re.fullmatch(r"[\w.-]+:?|--?[\w.-]+=", word) and (following == "=" or word[-1:] in (":", "=")):
        return is_secret(word)
    word = re.split("[/:]", word)[-1]
    if following.startswith("-") or not re.fullmatch(r"[\w.-]+", word) or not is_secret(word):
        return False
    alone = bool(_ALONE.fullmatch(word)) or _is_common(word)
    return not alone or bool(_SETTING.search(f"{' '.join(before[-3:])} ") and before[-1:] != ["create"])


def _names_a_secret(word: str) -> bool:
    return word in ("keys", "SecureString") or is_secret(re.split("[/:]", word)[-1])


def _word(word: str) -> str:
    shown = in_text(word) if _PLAIN.fullmatch(word) else word
    # A word may be encoded for an address: {"password": … as %7B%22password%22%3A….
    decoded = urllib.parse.unquote(word)
    if shown == word and (not _PLAIN.fullmatch(decoded) or in_text(decoded) != decoded) and _mentions(decoded):
        head = _HEAD.match(word)
        shown = (head[0] if head else "") + MASK
    return shown


def _mentions(text: str) -> bool:
    """Whether a text mentions a secret in any way, also by parts in quotes and behind escapes."""

    def sign(escape: re.Match[str]) -> str:
        return chr(int(escape[1] or escape[2], 16)) if escape[1] or escape[2] else " "

    for view in {text, _ESCAPE.sub(sign, text), _IN_WORDS.sub("", text)}:
        for name in _NAME.finditer(view):
            in_path = view[name.start() - 1 : name.start()] == "/" and "://" not in view  # as /etc/passwd
            if is_secret(name[0]) and not (in_path or _is_common(name[0]) or _in_prose(view, name)):
                return True
        if next(_secrets(view, prose=False), None):
            return True
    return False


def _in_prose(text: str, name: re.Match[str]) -> bool:
    """Whether the word `token` is an ordinary one by its neighbours: `pad token`, `token count`."""
    if name[0].lower() != "token":
        return False
    before = re.search(r"([a-z]+) $", text[max(0, name.start() - 30) : name.start()], re.IGNORECASE)
    after = re.match(r" ([a-z]+)", text[name.end() : name.end() + 30], re.IGNORECASE)
    return bool((before and _VOCABULARY.fullmatch(before[1].lower())) or (after and _ABOUT.fullmatch(after[1].lower())))


def _secrets(text: str, *, prose: bool = True) -> Iterator[tuple[int, int | None]]:
    """Where secrets begin in a text, and where they end if it is known."""
    for form in _FORM.finditer(text):
        yield (form.end() if form.lastindex else form.start()), None
    for user in _USER.finditer(text):
        yield user.start(), user.end() - 1
    for address in _ADDRESS.finditer(text):
        if end := _user_of_address(text, address.end()):
            yield address.end(), end
    for name in _NAME.finditer(text):
        if begin := _value_of(text, name):
            yield begin, None
    for option in _OF_OTHERS.finditer(text):
        if any(map(_names_a_secret, re.split(r"[\s'\",]+", text[: option.start()])[-6:])):
            yield option.end(), None
    rough = list(_ROUGH.finditer(text))
    for number, begin in _by_program([word[0] for word in rough], prose=prose).items():
        yield rough[number].start() + begin, None


def _value_of(text: str, name: re.Match[str]) -> int:
    """Where the secret value of a name begins; 0 if there is none."""
    begin, end = name.span()
    sign = text[begin - 1 : begin]
    of_query = sign in ("?", "&") and sign and (_PARTS.findall(name[0]) or [""])[-1].lower() in _OF_QUERIES
    names = [name[0], name[0][1:]] if sign == "\\" else [name[0]]  # as in \ntoken
    secret = next(filter(is_secret, names), name[0] if of_query else _in_two_words(text, name))
    if not secret or _in_prose(text, name):
        return 0
    binder = _ASSIGNED.match(text, end)
    if not binder and sign == "<":
        return end + 1 if text.startswith(">", end) else 0
    if not binder and name[0].startswith("-"):
        binder = _AFTER_OPTION.match(text, end)
    if not binder and (len(_PARTS.findall(name[0])) > 1 or name[0].lower() != "token"):
        binder = _QUOTED.match(text, end)
    if not binder and _SETTING.search(text, max(0, begin - 100), begin):
        binder = re.compile(r"\s+(?=[^\s-])").match(text, end)
    if not binder or _VERSION.match(text, end):
        return 0
    at = binder.end()
    value = text[at : at + 100]
    if ":" in binder[0] and sign == "/" and value.startswith("/"):
        return 0  # a path, as in --volume /a/token:/b
    if binder[0] == ":" and not value.partition("\n")[0].strip():
        before = text[text.rfind("\n", 0, begin) + 1 : begin]
        if not _LINE_HEAD.fullmatch(before):
            return 0  # code, as in `if token:`
    return at if of_query or _hides(secret, value.strip() or value) else 0


def _in_two_words(text: str, name: re.Match[str]) -> str:
    """A name that is written with a blank, as `API key` or `pass phrase`; empty if it is none."""
    word = name[0].lower()
    if word != "key" and word not in _PASS:
        return ""
    before = re.search(r"([a-z]+) $", text[max(0, name.start() - 30) : name.start()].lower())
    is_name = before and ((word == "key" and _KEYS.fullmatch(before[1])) or (before[1] == "pass" and word in _PASS))
    return f"{before[1]}_{word}" if before and is_name else ""


def _end(text: str, begin: int) -> int:
    """Where a secret ends in a text: with its line, or the text."""
    line = text.find("\n", begin)
    line = len(text) if line < 0 else line
    if _NOTHING.fullmatch(text, begin, line):
        return len(text)
    rest = _STRING.sub("", text[begin:line])
    is_open = sum(map(rest.count, "([{")) > sum(map(rest.count, ")]}")) or re.search(r"['\"`<]|\\$|^-----BEGIN", rest)
    opens = (not sign.isascii() and unicodedata.category(sign) in ("Ps", "Pi") for sign in rest)  # as “ and 「
    return len(text) if is_open or any(opens) else line


def _user_of_address(text: str, begin: int) -> int | None:
    """Where user and password of an address end. A password may have blanks and any other sign."""
    rest = text[begin : begin + _LONGEST_ADDRESS].partition("\n")[0]
    run = re.split(r"\s", rest, maxsplit=1)[0]
    name = len(re.split(r"[/?#:@\s]", rest, maxsplit=1)[0])
    if rest.startswith(":", name):  # user and password, or a port
        end = run.rfind("@", name)
        if end < 0 and not _PORT.match(rest, name):
            end = rest.rfind("@", name)
    else:
        end = re.split(r"[/?#]", run, maxsplit=1)[0].rfind("@")
    return begin + end if end >= 0 else None


@lru_cache
def _short_of(program: str) -> str:
    return next((_SHORT[one] for one in _SHORT if re.fullmatch(one, program)), "")


def _by_program(words: Sequence[str], *, prose: bool) -> dict[int, int]:
    """The words that are secret by their program: their number, and how many of their characters are not."""
    secret: dict[int, int] = {}
    letters, attached, assigned, rest = "", False, False, False
    before = program = ""
    for number, word in enumerate(words):
        before, program = program, _BEFORE_PROGRAM.split(word.removesuffix(".exe"))[-1]
        if word in (";", "|", "&", "\n"):
            letters, attached, assigned, rest = "", False, False, False
        if of_program := _short_of(program):
            letters, attached = of_program, bool(_ATTACHED.fullmatch(program))
        option = re.match(rf"-[{_CLUSTER}]*?[{letters}]", word) if letters and word.startswith("-") else None
        if number in secret:
            continue
        if option and option.end() < len(word):
            secret[number] = option.end()
        elif option and not attached and number + 1 < len(words):
            secret[number + 1] = 0
        elif rest and not word.startswith("-"):
            secret[number] = 0
        elif (rest or assigned) and "=" in word:
            secret[number] = word.index("=") + 1
        pair = {before, program, word.partition("/")[0]} & {"secret", "secrets"}
        assigned |= bool(pair and (_VERBS.fullmatch(before) or _VERBS.fullmatch(program)))
        logs_in = word.lower() in ("login", "auth") and (_LOGIN if prose else _PROGRAM).fullmatch(before)
        puts = before in pair and _VERBS.fullmatch(program)
        rest |= bool(logs_in or puts or _POSITIONAL.fullmatch(program) or _REST.fullmatch(f"{before} {word}"))
    return secret
