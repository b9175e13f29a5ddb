# /// script
# dependencies = ["transformers", "tokenizers", "jinja2"]
# ///
"""Renders 5,000 conversations with a chat template, and encodes them, with a fast tokenizer made on the spot."""

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

words = ["[UNK]", "[PAD]", "<user>", "<assistant>", "What", "is", "number", "It", "."]
own = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
own.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=own, unk_token="[UNK]", pad_token="[PAD]")
tokenizer.chat_template = "{% for one in messages %}<{{ one['role'] }}> {{ one['content'] }} {% endfor %}"
count = 0
for number in range(5000):
    turns = [{"role": "user", "content": f"What is number {number} ."}, {"role": "assistant", "content": "It is ."}]
    text = tokenizer.apply_chat_template(turns * 3, tokenize=False)
    count += len(tokenizer(text)["input_ids"])
assert count == 5000 * 3 * 10
print(count)
