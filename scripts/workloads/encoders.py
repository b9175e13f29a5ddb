"""How to get ids from a release of tokenizers, by its features. A missing feature ends the run as not applicable.

Standard library only; imports tokenizers only in functions that need it.
"""

import importlib.util
import json

import events

# The file of a corpus's tokenizer, inside its folder.
FILE = "tokenizer.json"


def installed(module):
    """Whether this stack has a module, without importing it."""
    return importlib.util.find_spec(module) is not None


def gives_arrays():
    """Whether an encoding consists of little more than an array of ids. Earlier releases also keep offsets."""
    import tokenizers

    return hasattr(tokenizers.Encoding, "ids_array") and not hasattr(tokenizers.Encoding, "offsets")


def whole(folder):
    """A folder's tokenizer from the library tokenizers, without truncation and padding."""
    import tokenizers

    if not (folder / FILE).exists():
        events.not_applicable(f"the tokenizer has no {FILE}, and without transformers nothing reads its other files")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / FILE))
    if hasattr(tokenizer, "no_truncation"):
        tokenizer.no_truncation()
        tokenizer.no_padding()
    else:
        tokenizer.truncation = tokenizer.padding = None
    return tokenizer


def call(tokenizer):
    """The name of the call that returns ids of a batch with the least extra work; None if this release has none."""
    if hasattr(tokenizer, "encode_batch_fast"):
        return "encode_batch_fast"
    return "ids_array" if gives_arrays() else None


def ids_of_batch(tokenizer, texts):
    """The ids of some texts, as lists or arrays, by that call, else by `encode_batch`."""
    if call(tokenizer) == "ids_array":
        return [encoding.ids_array for encoding in tokenizer.encode_batch(texts)]
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return [encoding.ids for encoding in encode(texts)]


def without_cache(tokenizer):
    """Switch off the word cache of the BPE model of a tokenizer: by its own method, or by a new model without one."""
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)  # of transformers
    if not hasattr(tokenizer, "model"):
        events.not_applicable("this release of tokenizers gives no access to its model, nor to a cache of words")
    if hasattr(tokenizer.model, "_resize_cache"):
        tokenizer.model._resize_cache(0)
        tokenizer.model._clear_cache()
        return
    from tokenizers.models import BPE

    spec = json.loads(tokenizer.to_str())["model"]
    if spec["type"] != "BPE":
        events.not_applicable(f"the model is {spec['type']}, and only BPE has a cache of words")
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in spec["merges"]]
    options = {name: spec[name] for name in ("unk_token", "fuse_unk", "byte_fallback") if spec.get(name) is not None}
    tokenizer.model = BPE(vocab=spec["vocab"], merges=merges, cache_capacity=0, **options)


def entries(folder):
    """Number of ids of a BPE, WordPiece, WordLevel or Unigram tokenizer: the highest id plus one."""
    spec = json.loads((folder / FILE).read_text(encoding="utf-8"))
    vocabulary = spec["model"]["vocab"]
    ids = vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
    return 1 + max([*ids, *(entry["id"] for entry in spec["added_tokens"])])
