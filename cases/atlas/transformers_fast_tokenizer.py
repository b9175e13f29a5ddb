# /// script
# dependencies = ["transformers", "tokenizers"]
# ///
"""Encodes 10,000 texts in batches with a fast tokenizer that is trained on the spot."""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

texts = [f"The {n % 97}th sentence says that number {n} follows {n - 1}. " * 4 for n in range(10_000)]
own = Tokenizer(models.BPE(unk_token="[UNK]"))
own.pre_tokenizer = pre_tokenizers.Whitespace()
trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=["[UNK]", "[PAD]"], show_progress=False)
own.train_from_iterator(texts[:5000], trainer)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=own, unk_token="[UNK]", pad_token="[PAD]")
count = 0
for start in range(0, len(texts), 500):
    batch = tokenizer(texts[start : start + 500], padding=True, truncation=True, max_length=128)
    count += sum(map(sum, batch["attention_mask"]))
assert count > 10_000
print(count)
