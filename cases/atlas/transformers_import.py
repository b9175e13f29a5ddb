# /// script
# dependencies = ["transformers"]
# ///
"""Imports the library and the classes that pipelines of text import."""

import transformers
from transformers import AutoConfig, AutoTokenizer, BatchEncoding, GPT2Config, PreTrainedTokenizerFast

assert AutoTokenizer and AutoConfig and PreTrainedTokenizerFast and BatchEncoding
print(GPT2Config().vocab_size, bool(transformers.__version__))
