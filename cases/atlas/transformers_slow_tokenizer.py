# /// script
# dependencies = ["transformers"]
# ///
"""Encodes 2,000 texts with the slow tokenizer of BERT, whose vocabulary is made on the spot."""

import os

from transformers import BertTokenizer

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(n) for n in range(97, 123)), *map(str, range(10))]
words += [f"##{chr(n)}" for n in range(97, 123)] + [f"##{n}" for n in range(10)] + ["the", "sentence", "number", "."]
with open("vocab.txt", "w") as file:
    file.write("\n".join(words))
tokenizer = BertTokenizer("vocab.txt")
texts = [f"The sentence {n % 97} says that number {n} follows {n - 1}. " * 4 for n in range(2000)]
count = sum(len(ids) for ids in tokenizer(texts)["input_ids"])
os.unlink("vocab.txt")
assert count > 100_000
print(count)
