"""A local Hub endpoint, which serves a folder to the Hugging Face clients.

    with Hub(root) as hub:
        subprocess.run(command, env={**os.environ, "HF_ENDPOINT": hub.url})
        hub.requests

It listens on 127.0.0.1 only.
"""

from beyond_ram.hub.conditions import Conditions, Fault
from beyond_ram.hub.log import Request
from beyond_ram.hub.server import Hub

__all__ = ["Conditions", "Fault", "Hub", "Request"]
