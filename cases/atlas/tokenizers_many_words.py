# /// script
# dependencies = ["tokenizers"]
# ///
"""Encodes 200,000 different words, which a cache cannot help with."""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

letters = random.Random(0)
words = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(200_000)]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(words[:20_000], trainers.BpeTrainer(vocab_size=1000, show_progress=False))
count = sum(len(tokenizer.encode(" ".join(words[n : n + 1000])).ids) for n in range(0, len(words), 1000))
assert count > len(words)
print(count)
