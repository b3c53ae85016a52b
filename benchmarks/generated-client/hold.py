"""Hold, explain, query and release with a client that openapi-python-client made of the sidecar's own document."""

import sys
import urllib.request

from holdfast_sidecar_client import Client
from holdfast_sidecar_client.api.engines import explain
from holdfast_sidecar_client.api.holds import hold, release
from holdfast_sidecar_client.api.routers import query
from holdfast_sidecar_client.models import HoldRequest, PrefixRequest, Problem, Query

sidecar, engine, engine_id = sys.argv[1:]
tokens = list(range(1000, 1128))
generate = urllib.request.Request(
    engine + "/generate",
    data=('{"input_ids":%s,"sampling_params":{"max_new_tokens":1}}' % tokens).encode(),
    headers={"Content-Type": "application/json"},
)
urllib.request.urlopen(generate).read()

client = Client(base_url=sidecar)
held = hold.sync(engine_id, client=client, body=HoldRequest(tokens=tokens, lease_seconds=60), idempotency_key="try-1")
print("held:    ", held.state, held.held_tokens, "tokens:", held.reason)
again = hold.sync(engine_id, client=client, body=HoldRequest(tokens=tokens, lease_seconds=60), idempotency_key="try-1")
print("again:   ", "the same hold" if again.id == held.id else "another hold")
about = explain.sync(engine_id, client=client, body=PrefixRequest(tokens=tokens))
print("explain: ", about.cached_blocks, "of", about.blocks, "blocks cached,", about.held_blocks, "held:", about.why)
found = query.sync(client=client, body=Query(token_ids=tokens))
print("query:   ", found.instances[engine_id].longest_matched, "tokens")
gone = release.sync(engine_id, held.id, client=client)
print("release: ", gone.state, gone.reason)
refused = hold.sync(engine_id, client=client, body=HoldRequest(tokens=[1], lease_seconds=60))
assert isinstance(refused, Problem), refused
print("refused: ", refused.status, refused.detail)
assert (held.state.value, about.held_blocks, gone.state.value) == ("held", 8, "released")
