"""Tokenise in pieces: the ids of whole documents, with memory for a few thousand characters at a time.

BPE cannot merge across a pair of neighbouring characters that is inside no entry of its vocabulary. After the
normalizer, a document is cut only at such pairs; the same model encodes the pieces and gives the ids of the whole. A
run of characters without a safe cut stays one piece. A release of tokenizers that returns arrays of ids, but cannot
encode pieces, gets whole documents. Imports tokenizers and pyarrow, nothing else.
"""

import array
import ctypes
import json
import unicodedata

import encoders
import events
import progress

# Large enough that encoding a piece costs more than cutting it, small enough that its memory does not matter.
PIECE_CHARACTERS = 1000
PIECES_AT_ONCE = 64
BLOCK_CHARACTERS = 50_000
SPACE = "▁"


class UnsupportedTokenizerError(Exception):
    """Pieces may not give the ids of the whole document with this tokenizer; the text is the reason."""


class Pieces:
    """Encodes documents piece by piece. Raises UnsupportedTokenizerError unless the tokenizer is BPE after a
    Metaspace."""

    def __init__(self, path):
        import tokenizers

        if not hasattr(tokenizers.Tokenizer, "from_str"):
            raise UnsupportedTokenizerError("this release of tokenizers makes no tokenizer from parts of another")
        spec = json.loads(path.read_text(encoding="utf-8"))
        model, before = spec["model"], spec["pre_tokenizer"]
        if model["type"] != "BPE" or model.get("dropout") or model.get("fuse_unk") or model.get("byte_fallback"):
            raise UnsupportedTokenizerError("the model is no plain BPE")
        if not before or before["type"] != "Metaspace" or before.get("prepend_scheme", "always") != "always":
            raise UnsupportedTokenizerError("the pre-tokenizer is no Metaspace that begins every document")
        if spec["post_processor"]:
            raise UnsupportedTokenizerError("the tokenizer adds entries around a document")
        if spec["normalizer"] and spec["normalizer"]["type"] not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise UnsupportedTokenizerError(f"the normalizer is {spec['normalizer']['type']}, no Unicode normal form")
        self.normalizer = tokenizers.Tokenizer.from_file(str(path)).normalizer
        self.special = [entry["content"] for entry in spec["added_tokens"]]
        bare = spec | {"normalizer": None, "pre_tokenizer": None, "decoder": None, "added_tokens": []}
        self.tokenizer = tokenizers.Tokenizer.from_str(json.dumps(bare))
        without_cache(self.tokenizer)  # no two pieces are equal, and the cache kept every one until 0.21
        self.encode = getattr(self.tokenizer, "encode_batch_fast", self.tokenizer.encode_batch)
        self.pairs = {entry[at : at + 2] for entry in model["vocab"] for at in range(len(entry) - 1)}

    def ids(self, text):
        """The ids of one document, as an array of 32-bit integers."""
        if any(entry in text for entry in self.special):
            raise UnsupportedTokenizerError("a document holds a special entry as text")
        whole = "".join(map(self.normalizer.normalize_str, blocks(text))) if self.normalizer else text
        whole = whole.replace(" ", SPACE)
        ids, waiting = array.array("i"), []
        if not whole:  # Metaspace adds no space to an empty text
            return ids
        for piece in self.cut(whole if whole.startswith(SPACE) else SPACE + whole):
            waiting.append(piece)
            if len(waiting) == PIECES_AT_ONCE:
                self.take(waiting, ids)
        self.take(waiting, ids)
        return ids

    def take(self, waiting, ids):
        for encoding in self.encode(waiting, add_special_tokens=False):
            ids.extend(encoding.ids)
        waiting.clear()

    def cut(self, text):
        start = 0
        while start < len(text):
            end = min(start + PIECE_CHARACTERS, len(text))
            while end < len(text) and text[end - 1 : end + 1] in self.pairs:
                end += 1
            yield text[start:end]
            start = end


class Documents:
    """Encodes whole documents into arrays."""

    def __init__(self, folder):
        self.tokenizer = encoders.whole(folder)

    def ids(self, text):
        """The ids of one document, as an array of 32-bit integers."""
        return self.tokenizer.encode(text).ids_array.view("int32")


def without_cache(tokenizer):
    """Switch off the word cache of a BPE model: by its own method, or by a new model without a cache."""
    if hasattr(tokenizer.model, "_resize_cache"):
        tokenizer.model._resize_cache(0)
        tokenizer.model._clear_cache()
        return
    from tokenizers.models import BPE

    spec = json.loads(tokenizer.to_str())["model"]
    if spec["type"] != "BPE":
        raise UnsupportedTokenizerError(f"the model is {spec['type']}, and only BPE has a cache of words")
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in spec["merges"]]
    options = {name: spec[name] for name in ("unk_token", "fuse_unk", "byte_fallback") if spec.get(name) is not None}
    tokenizer.model = BPE(vocab=spec["vocab"], merges=merges, cache_capacity=0, **options)


def large_blocks_go_back():
    """Fix glibc's threshold for blocks with a mapping of their own. Otherwise it grows with the largest freed block,
    and then a document's text comes from the heap and leaves holes there. Does nothing with another allocator."""
    m_mmap_threshold = -3
    try:
        ctypes.CDLL(None).mallopt(m_mmap_threshold, 1 << 17)
    except (OSError, AttributeError):
        return


def blocks(text):
    """The text in blocks that can be normalised one by one.

    A character that is no mark, no jamo and of combining class 0 joins no character before it (Unicode Standard Annex
    15: NFKC_Quick_Check is Maybe for marks, jamo and, since Unicode 16, vowels of Kirat Rai).
    """
    start = 0
    while start < len(text):
        end = min(start + BLOCK_CHARACTERS, len(text))
        while end < len(text) and joins(text[end]):
            end += 1
        yield text[start:end]
        start = end


def joins(character):
    jamo_or_kirat = "\u1100" <= character <= "\u11ff" or "\U00016d60" <= character <= "\U00016d7f"
    return jamo_or_kirat or unicodedata.category(character)[0] == "M" or unicodedata.combining(character) > 0


def tokenize(args, chosen, documents, result, packages):
    """Run the workload `tokenize` in mode `flat`. Returns the objects that it keeps at its end, by name."""
    events.phase("import")
    import pyarrow

    events.imported(packages)
    events.phase("load tokenizer")
    large_blocks_go_back()
    try:
        folder, arrays = args.tokenizer or args.corpus / "tokenizer", encoders.gives_arrays()
        encoder = Documents(folder) if arrays else Pieces(folder / encoders.FILE)
        events.mark("baseline", encoder="ids_array" if arrays else "pieces", **events.own_memory())
        events.phase("map 0")
        path = args.work_dir / "cache" / "flat.arrow"
        path.parent.mkdir()
        schema, rows = pyarrow.schema([("input_ids", pyarrow.list_(pyarrow.int32()))]), 0
        bytes_in = sum(entry["text_bytes"] for entry in chosen)
        with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, schema) as writer:
            for document in documents([str(args.corpus / entry["path"]) for entry in chosen]):
                progress.before([document["text"]], bytes_in)
                ids = encoder.ids(document["text"])
                values = pyarrow.Array.from_buffers(pyarrow.int32(), len(ids), [None, pyarrow.py_buffer(ids)])
                row = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(ids)], pyarrow.int32()), values)
                writer.write_batch(pyarrow.record_batch([row], schema=schema))
                rows += 1
    except UnsupportedTokenizerError as reason:
        events.not_applicable(str(reason))
    made = {"shard": 0, "rows": rows, "from_cache": False, "tokenizer_calls": rows}
    events.mark("shard", **made, cache_bytes_written=path.stat().st_size, **events.own_memory())
    result.write_text(json.dumps([str(path)]))
    events.mark("work", rows=rows, bytes_in=bytes_in, **events.own_memory())
    return {"tokenizer": encoder}
