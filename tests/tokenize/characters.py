"""Makes or checks `same_ids.json`: the characters of which two releases of tokenizers know different things.

    python characters.py ENGINE NAMED [--write] [--every N]

The interpreter of the fast release runs it; NAMED is the folder of packages with the other one. Each step of a
tokenizer file encodes every character in `CONTEXT`: alone, twice, beside what its Unicode properties act on (letters
of both cases, digits, punctuation, blanks, line breaks, an apostrophe, marks of several combining classes, letters that
compose with marks). The ids show the bytes after the step, and where it splits: an entry of two bytes exists for each
pair that may stand at the border of two characters. Without `--write` it prints the characters that the file lacks.
"""

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

CONTEXT = (
    "{0}a{0}a1{0}1!{0}! {0} {0}{0}\n{0}\n'{0} '{0}A{0}\u0301\u0316{0}e\u0301{0}e\u0345{0}\u0627{0}\u4e00{0}\u4e00"
    "\u03b1{0}\u00bd{0}{0}'{0}a'{0}A\u3042{0}\u3042\u30fb{0}\u30fb!{0}a"
)
FEW = "a{0}a{0}{0} 1{0}'{0}\u0301{0}\u0316{0}"  # for characters in planes that no version of Unicode uses
USED = ((0, 0x3FFFF), (0xE0000, 0xE01EF))
NORMALIZERS = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "BertNormalizer")
BERT = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")


def model(cutting):
    """BPE over bytes that merges only the bytes at the border of two characters."""
    symbol = {byte: one for one, byte in cutting.symbols().items()}
    ascii, inner, first = range(0x80), range(0x80, 0xC0), range(0xC2, 0xF5)
    borders = [*itertools.product(ascii, first), *itertools.product(inner, ascii), *itertools.product(inner, first)]
    merges = [[symbol[left], symbol[right]] for left, right in borders]
    entries = [*symbol.values(), *map("".join, merges)]
    flags = dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), False)
    nothing = dict.fromkeys(("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"))
    vocabulary = {entry: id for id, entry in enumerate(entries)}
    return {"type": "BPE", **nothing, **flags, "vocab": vocabulary, "merges": merges}


def files(cutting, deepseek):
    """(step, tokenizer file) of each step, a step more than once if it has settings."""
    of_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    form = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None}
    form |= {"decoder": None, "model": model(cutting)}

    def normalizer(step):
        return {**form, "normalizer": step, "pre_tokenizer": of_bytes}

    def splits(step):
        return {**form, "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [step, of_bytes]}}

    for kind in ("NFD", "NFC", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"):
        yield kind, normalizer({"type": kind})
    yield "Strip", normalizer({"type": "Strip", "strip_left": True, "strip_right": True})
    for flag in BERT:
        yield "BertNormalizer", normalizer({"type": "BertNormalizer", **{name: name == flag for name in BERT}})
    for pattern, name in cutting.PATTERNS.items():
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        yield name, splits(split)
    yield "GPT-2", {**form, "normalizer": None, "pre_tokenizer": {**of_bytes, "use_regex": True}}
    for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"):
        yield kind, splits({"type": kind})
    for behavior in ("Isolated", "Removed"):
        yield "Punctuation", splits({"type": "Punctuation", "behavior": behavior})
    splits_of = [
        {"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False} for one in deepseek
    ]
    yield (
        "DeepSeek",
        {**form, "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits_of, of_bytes]}},
    )
    for individual in (True, False):
        yield "Digits", splits({"type": "Digits", "individual_digits": individual})


def used(code):
    return any(first <= code <= last for first, last in USED)


def differing(fast, named, codes):
    """The characters of `codes` for which two loaded releases give different ids."""
    for at in range(0, len(codes), 5000):
        some = codes[at : at + 5000]
        texts = [(CONTEXT if used(code) else FEW).format(chr(code)) for code in some]
        pairs = zip(some, fast.encode(texts, False), named.encode(texts, False), strict=True)
        for code, one, other in pairs:
            if one.tolist() != other.tolist():
                yield code


def spans(codes):
    """Sorted codes as (first, last)."""
    out = []
    for code in sorted(codes):
        if out and code == out[-1][1] + 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def outputs(release, codes, bytes_of):
    """(character, text after the step) of each of `codes` that the step changes."""
    for at in range(0, len(codes), 5000):
        some = codes[at : at + 5000]
        for code, ids in zip(some, release.encode(list(map(chr, some)), False), strict=True):
            if (text := b"".join(bytes_of[id] for id in ids).decode()) != chr(code):
                yield code, text


def compositions(fast, named, changed, bytes_of):
    """The first characters of the decompositions that compose to different characters."""
    texts = sorted({text for _, text in changed if len(text) > 1})
    pairs = zip(texts, fast.encode(texts, False), named.encode(texts, False), strict=True)
    return {ord(text[0]) for text, one, other in pairs if one.tolist() != other.tolist()}


def closed(steps, changes):
    """Add to the normalizers what they turn into characters that differ in some step."""
    while True:
        other = set().union(*steps.values())
        more = {code for code, text in changes if any(ord(one) in other for one in text)}
        if all(more <= steps[name] for name in NORMALIZERS):
            return
        for name in NORMALIZERS:
            steps[name] |= more


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("named")
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="take every N-th character, and some of the listed"
    )
    args = parser.parse_args()
    sys.path.insert(0, args.engine)
    import cutting
    import encoder
    import same_ids

    library = encoder.library_of(args.named)
    listed = {} if args.write else json.loads(same_ids.TABLES.read_text(encoding="utf-8"))["steps"]
    known = {name: {code for first, last in some for code in range(first, last + 1)} for name, some in listed.items()}
    near = {code for name in NORMALIZERS for code in known.get(name, ())} if args.every > 1 else set()
    for first, last in itertools.chain(*listed.values()) if args.every > 1 else ():
        near |= {first - 1, last + 1, *range(first, last + 1, 9)}
    codes = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and (c % args.every == 0 or c in near)]
    bytes_of = [bytes(map(cutting.symbols().get, entry)) for entry in model(cutting)["vocab"]]
    changes, decomposed = [], []
    steps, path = {}, Path(tempfile.mkdtemp()) / "step.json"
    for name, spec in files(cutting, same_ids.DEEPSEEK):
        path.write_text(json.dumps(spec), encoding="utf-8")
        fast, named = encoder.LoadedRelease(path, spec), encoder.LoadedRelease(path, spec, library)
        steps.setdefault(name, set()).update(differing(fast, named, codes))
        if name in NORMALIZERS:
            changes += outputs(fast, codes, bytes_of)
        if name == "NFD":
            decomposed = changes[:]
        if name in ("NFC", "NFKC"):
            steps[name] |= compositions(fast, named, decomposed, bytes_of)
        print(name, len(steps[name]), f"{time.process_time():.0f} s", file=sys.stderr, flush=True)
    shutil.rmtree(path.parent)
    if args.write:
        steps["BertNormalizer"] |= steps["NFD"]  # it removes the marks by which NFD differs
        closed(steps, changes)
        content = {
            "releases": [fast.version, named.version],
            "steps": {name: spans(some) for name, some in steps.items()},
        }
        same_ids.TABLES.write_text(json.dumps(content) + "\n", encoding="utf-8")
    print(json.dumps({name: spans(some - known.get(name, set())) for name, some in steps.items()}))


if __name__ == "__main__":
    main()
