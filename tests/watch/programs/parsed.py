"""N thousand records written as JSON and parsed: many small objects."""

import json
import sys

text = json.dumps([{"number": number, "text": f"document {number}"} for number in range(int(sys.argv[1]) * 1000)])
found = json.loads(text)
sys.exit(len(found) != int(sys.argv[1]) * 1000)
