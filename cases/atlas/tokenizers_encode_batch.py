# /// script
# dependencies = ["tokenizers"]
# ///
"""Trains a byte-level BPE tokenizer and encodes 20,000 texts in batches."""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

texts = [f"The {n % 97}th sentence says that number {n} follows {n - 1}. " * 4 for n in range(20_000)]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
)
tokenizer.train_from_iterator(texts[:5000], trainer)
count = 0
for start in range(0, len(texts), 1000):
    encoded = tokenizer.encode_batch(texts[start : start + 1000])
    count += sum(len(one.ids) for one in encoded)
assert tokenizer.decode(encoded[-1].ids) == texts[-1]
print(count)
