"""Small tokenizers of model families, with the real normalizers, pre-tokenizers and post-processors.

    python families.py TEXT.json FOLDER

It needs an interpreter with tokenizers 0.x, which can train. TEXT.json is a list of texts. It writes FOLDER/NAME.json.
"""

import functools
import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPACE = "\u2581"
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
ENTRIES = 1500


def byte_level(tokenizer, special, texts, entries=ENTRIES):
    """Train BPE over bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=entries, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def around(tokenizer, single, special):
    """Return a post-processor that puts special entries around a text."""
    ids = [(name, tokenizer.token_to_id(name)) for name in special]
    return processors.TemplateProcessing(single=single, special_tokens=ids)


def gpt2(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level(tokenizer, ["<|endoftext|>"], texts)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def roberta(texts):
    """Train GPT-2's with a space in front, <s> and </s> around, and a mask that takes the blank before it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    byte_level(tokenizer, ["<s>", "<pad>", "</s>", "<unk>"], texts)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")), add_prefix_space=True
    )
    return tokenizer


def llama3(texts):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA_3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    byte_level(tokenizer, ["<|begin_of_text|>", "<|eot_id|>"], texts)
    template = around(tokenizer, "<|begin_of_text|> $A", ["<|begin_of_text|>"])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return tokenizer


def qwen2(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    byte_level(tokenizer, ["<|endoftext|>", "<|im_start|>"], texts)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def whisper(texts):
    """Train GPT-2's with four entries in front and one behind."""
    tokenizer = gpt2(texts)
    special = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens([AddedToken("<|0.00|>"), AddedToken("<|0.02|>")])
    tokenizer.post_processor = around(tokenizer, " ".join(special) + " $A <|endoftext|>", [*special, "<|endoftext|>"])
    return tokenizer


@functools.cache
def sentencepiece_bpe(texts):
    """Return the JSON of BPE over characters, with bytes for unknown ones, as SentencePiece does it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=ENTRIES, special_tokens=["<unk>", "<s>", "</s>", *fallback], show_progress=False, limit_alphabet=150
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "always")
    tokenizer.train_from_iterator(texts, trainer)
    # In SentencePiece bytes are ordinary entries, and only the first three special.
    spec = json.loads(tokenizer.to_str())
    spec["added_tokens"] = spec["added_tokens"][:3]
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = around(tokenizer, "<s> $A", ["<s>"])
    return tokenizer.to_str()


def llama2(texts):
    """Build the first conversion of Llama 2: the normalizer puts a space in front and replaces spaces."""
    tokenizer = Tokenizer.from_str(sentencepiece_bpe(texts))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer.pre_tokenizer = None
    return tokenizer


def mistral(texts):
    """Build the current conversion: Metaspace before the first word only, without splitting."""
    tokenizer = Tokenizer.from_str(sentencepiece_bpe(texts))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "first", split=False)
    return tokenizer


def bert(texts):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=ENTRIES, special_tokens=special, show_progress=False, limit_alphabet=200
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = around(tokenizer, "[CLS] $A [SEP]", ["[CLS]", "[SEP]"])
    return tokenizer


def unigram(texts, normalizer, pre_tokenizer, special):
    """Train Unigram on the last texts only: all of them would take longer than the other trainers together."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=ENTRIES, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts[3:], trainer)
    return tokenizer


def t5(texts):
    """Train Unigram with Metaspace, NFKC and single blanks."""
    normal = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    before = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE, "always")])
    tokenizer = unigram(texts, normal, before, ["<pad>", "</s>", "<unk>", "<extra_id_0>"])
    tokenizer.post_processor = around(tokenizer, "$A </s>", ["</s>"])
    return tokenizer


def characters(texts):
    """Train the tokenizer of the first report: NFKC, Metaspace, BPE over characters."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "always")
    special = ["<unk>", "<pad>", "<mask>", "<s>", "</s>", "<cls>"]
    trainer = trainers.BpeTrainer(vocab_size=ENTRIES, special_tokens=special, show_progress=False, limit_alphabet=200)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


FAMILIES = (gpt2, roberta, llama3, qwen2, whisper, llama2, mistral, bert, t5, characters)


def main():
    texts = tuple(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    for family in FAMILIES:
        family(texts).save(str(Path(sys.argv[2]) / f"{family.__name__}.json"))


if __name__ == "__main__":
    main()
