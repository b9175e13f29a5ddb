"""Random pipelines and texts that try to get other ids from two releases of tokenizers. A stack's interpreter runs it.

    python alike.py ENGINE NAMED FOLDER SEED DOCUMENTS TOKENIZER.json …

NAMED is the folder of packages with the release whose ids count. The engine's encoder gives each text to one of the two
releases; the ids have to be those of the named one. It prints a JSON object with counts, and the first texts with wrong
ids. `only` draws no pipelines, and takes the files as they are.
"""

import argparse
import collections
import json
import random
import sys
from pathlib import Path

import pipelines

# Letters, marks and symbols of Unicode 14 to 17, and those that the tables of libraries differ in.
NEW = (
    (0x0870, 0x089F), (0x0C3C, 0x0C3C), (0x0CF3, 0x0CF3), (0x0ECE, 0x0ECE), (0x1715, 0x171F), (0x1AC1, 0x1AEB),
    (0x1B4C, 0x1B7F), (0x1C89, 0x1C8A), (0x1DFA, 0x1DFA), (0x20C0, 0x20C1), (0x2C2F, 0x2C5F), (0x2FFC, 0x2FFF),
    (0x31E4, 0x31EF), (0x9FFD, 0x9FFF), (0xA7C0, 0xA7DC), (0xA7F1, 0xA7F4), (0x10570, 0x105FF), (0x10780, 0x107BA),
    (0x10940, 0x1095F), (0x10D40, 0x10D8F), (0x10EC2, 0x10EFF), (0x10F70, 0x10F89), (0x11070, 0x11075),
    (0x11241, 0x11241), (0x11380, 0x113E2), (0x116D0, 0x116E3), (0x11B60, 0x11BF9), (0x11DB0, 0x11DE9),
    (0x11F00, 0x11F5A), (0x12F90, 0x12FFF), (0x13430, 0x143FF), (0x16100, 0x16139), (0x16D40, 0x16EDF),
    (0x18CFF, 0x18DFF), (0x1AFF0, 0x1B122), (0x1B132, 0x1B155), (0x1CC00, 0x1CFCF), (0x1DF00, 0x1DF2A),
    (0x1E030, 0x1E08F), (0x1E290, 0x1E2FF), (0x1E4D0, 0x1E5FF), (0x1E6C0, 0x1E7FF), (0x1F6D5, 0x1FBFF),
    (0x2A6DE, 0x2A6DF), (0x2B739, 0x2B73F), (0x2CEA2, 0x2CEAD), (0x2EBF0, 0x2EE5D), (0x31350, 0x33479),
)  # fmt: skip


RUNS = (
    "a", "A", "aB", "1", " ", "\n", "\r\n", "\t", "!", "/", "'", "'s", "\u0301", "\u00e9", "中", "あ", "・", "ʰ",
    "\u00a0", "ǅ", "½", "ـ",
)  # fmt: skip


def text(drawn, chance):
    """Draw a text.

    One in three has runs longer than a block of a splitter that looks at 64 bytes at once, at any place. One in three
    has new characters: alone, with marks, and beside letters.
    """
    parts = [drawn.text(chance.randint(3, 40))]
    if chance.random() < 0.35:
        for _ in range(chance.randint(1, 8)):
            parts.append(chance.choice(RUNS) * chance.choice((1, 2, 3, 61, 63, 64, 65, 130, chance.randint(1, 200))))
            if chance.random() < 0.5:
                parts.append(chance.choice(pipelines.FRAGMENTS))
    if chance.random() < 0.35:
        for _ in range(chance.randint(1, 4)):
            new = chr(chance.randint(*chance.choice(NEW)))
            parts.append(
                chance.choice(("a{}b", " {} ", "{}\u0301", "e\u0301{}\u0316", "1{}", "'{}", "{}\n", "{}")).format(new)
            )
        parts.append(drawn.text(3))
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser()
    for name in ("engine", "named"):
        parser.add_argument(name)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("documents", type=int)
    parser.add_argument("--only", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, args.engine)
    import cutting
    import encoder
    import same_ids
    from trouble import Refused

    library = encoder.library_of(args.named)
    chance = random.Random(args.seed)
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in args.files}
    drawn = pipelines.Pipelines(chance, files, list(cutting.PATTERNS))
    counts, wrong, path = collections.Counter(), [], args.folder / "drawn.json"
    for name, spec in files.items() if args.only else iter(drawn.draw, None):
        if counts["documents"] >= args.documents:
            break
        counts["pipelines"] += 1
        try:
            ranges = same_ids.characters(spec, encoder.tokenizers.__version__, library.__version__)
            path.write_text(json.dumps(spec), encoding="utf-8")
            named = encoder.LoadedRelease(path, spec, library)
            fast = encoder.LoadedRelease(path, spec)
            ranges += same_ids.of_entries(spec, fast, named, ranges)
        except (Refused, same_ids.NoProof):
            continue
        both = encoder.Encoder(named, fast=fast, alike=same_ids.Alike(ranges, same_ids.suspects(spec, fast, ranges)))
        counts["tried"] += 1
        texts = [text(drawn, chance) for _ in range(max(args.documents // len(files), 60) if args.only else 60)]
        texts = [one for one in texts if pipelines.encodable(named.tokenizer, one)]
        others = both.alike.others(texts)
        counts["by named"] += len(others)
        codes = {code for first, last in ranges for code in range(first, last + 1)}
        counts["missed"] += others != [at for at, one in enumerate(texts) if not codes.isdisjoint(map(ord, one))]
        counts["shown by ids"] += both.alike.suspects is not None
        counts["not shown by ids"] += both.alike.others(texts, fast.encode(texts, True)) != others
        counts["documents"] += len(texts)
        for one, right, got in zip(texts, named.encode(texts, True), both.encode(texts), strict=True):
            if right.tolist() != got.tolist():
                parts = {part: str(spec[part])[:500] for part in ("normalizer", "pre_tokenizer", "added_tokens")}
                wrong.append({"file": name, **parts, "model": spec["model"]["type"], "text": one[:200]})
    print(json.dumps({**counts, "wrong": len(wrong), "wrong texts": wrong[:10]}))


if __name__ == "__main__":
    main()
