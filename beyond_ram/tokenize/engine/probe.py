"""Test whether this interpreter's tokenizers loads a tokenizer file and encodes. Prints one JSON object.

python beyond_ram/tokenize/engine/probe.py tokenizer.json
"""

import json
import sys

import cutting
import encoder
from trouble import Refused


def main():
    path = sys.argv[1]
    try:
        import inputs
        import outputs  # noqa: F401
    except ImportError as error:
        print(json.dumps({"refused": f"this stack lacks {error.name}, so it cannot be used to tokenize"}))
        return
    try:
        spec = encoder.read_spec(path)
    except Refused as error:
        print(json.dumps({"refused": str(error)}))
        return
    version, need = encoder.tokenizers.__version__, encoder.need_per_byte(spec)
    try:
        cuts, why = True, cutting.rules(spec).why
    except cutting.NoCuts as reason:
        cuts, why = False, str(reason)
    try:
        encoder.check_ids(spec)
        del spec
        inputs.trim()
        encoder.load(path)
    except Refused as error:
        print(json.dumps({"version": version, "cannot": str(error)}))
        return
    print(json.dumps({"version": version, "cuts": cuts, "why": why, "need_per_byte": need}))


if __name__ == "__main__":
    main()
