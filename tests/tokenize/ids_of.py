"""Ids of texts, whole and in pieces, for the tests: run by a stack's interpreter.

    python ids_of.py ENGINE TOKENIZER.json …

A line in: {"tokenizer": place in the list, "text": …, "piece": characters, "chunk": characters}. A line out:
{"whole": ids, "cut": ids or null, "pieces": how many}, or {"error": …}.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

import cutting
import encoder


class Tried:
    """One tokenizer, with the rules for cutting where there are some."""

    def __init__(self, path):
        self.encoder, self.rules = encoder.Encoder(encoder.load(path)), None
        try:
            self.rules, self.why = cutting.rules(encoder.read_spec(path)), ""
        except cutting.NotShown as reason:
            self.why = str(reason)

    def answer(self, text, piece, chunk):
        whole = self.encoder.encode([text])[0].tolist()
        if not self.rules:
            return {"whole": whole, "cut": None, "why": self.why}
        before, after = self.encoder.edges()
        cutter = cutting.Cutter(self.rules, piece)
        pieces = [one for at in range(0, len(text), chunk) for one in cutter.feed(text[at : at + chunk])]
        pieces.append(cutter.rest())
        cut = before.tolist()
        for one in pieces:
            cut += self.encoder.plain([one], False)[0].tolist()
        return {"whole": whole, "cut": cut + after.tolist(), "pieces": len(pieces)}


def main():
    tried = {}
    for line in sys.stdin:
        asked = json.loads(line)
        path = sys.argv[2 + asked["tokenizer"]]
        try:
            if path not in tried:
                tried[path] = Tried(path)
            said = tried[path].answer(asked["text"], asked["piece"], asked["chunk"])
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
