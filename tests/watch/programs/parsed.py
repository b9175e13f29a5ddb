"""N thousand records written as JSON and parsed: many small objects."""

import json
import sys

text = json.dumps([{"number": number, "text": f"document {number}"} for number in range(int(sys.argv[1]) * 1000)])
entries = json.loads(text)
sys.exit(len(entries) != int(sys.argv[1]) * 1000)
