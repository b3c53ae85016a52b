# SPDX-License-Identifier: Apache-2.0
"""Keep chosen prefixes in vLLM's KV cache for a while, without moving a byte.

What it does. A request may ask, in its body, that the cached blocks of its prompt be held under a
name for some seconds. Once the request has ended, this connector takes one more reference on each
of those blocks in vLLM's block pool. vLLM evicts only blocks to which nobody refers, so the prefix
survives whatever else is served, and everybody may hit it as ever. The hold ends at its time, when
it is released, or when the engine could not go on otherwise: user requests come before holds.

Why references in the block pool. vLLM's SimpleCPUOffloadConnector guards blocks in the same way.
The other way to keep blocks, a request whose end is delayed (as NixlConnector does), makes the
engine step without work for as long as anything is kept, and costs blocks with each renewal.

What it never does. It changes no answer, moves no KV data, opens no socket, starts no thread, and
holds no more than its share of the cache. Bodies come from strangers: a hold needs a proof (an
HMAC over the operation, the time and the tokens of the prompt), so the secret never travels and a
logged body cannot be used again. An exception never leaves a hook, because vLLM would end with it;
a vLLM that lacks a name used here gets its requests served and its holds refused.

    --kv-transfer-config '{"kv_connector": "HoldfastConnector",
      "kv_connector_module_path": "holdfast_connector", "kv_role": "kv_producer",
      "kv_connector_extra_config": {"secret_file": "/run/secrets/holdfast"}}'

See README.md beside this file for the words of the protocol. vLLM calls its connector API
experimental; what this file was tried on is written there too.
"""

import functools
import hashlib
import hmac
import os
import re
import struct
import time

from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorMetadata,
)
from vllm.logger import init_logger

try:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import SupportsHMA
except ImportError:  # without it vLLM asks for --disable-hybrid-kv-cache-manager, or has none

    class SupportsHMA:
        pass


logger = init_logger("vllm.holdfast")  # below "vllm", so that vLLM's handlers print it

PROOF_GOOD_FOR_MS = 300_000
PROOFS_REMEMBERED = 100_000
LARGEST = 2**53 - 1  # every JSON parser keeps whole numbers up to here
NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HEX = re.compile(r"[0-9a-f]{64}")
ABSENT = object()


def message(op, at, *, id=None, ttl=None, ids=(), tokens=()):
    """The text that a proof signs."""
    lines = ["holdfast/1", op, str(at)]
    if op == "hold":
        packed = struct.pack(f"<{len(tokens)}I", *tokens)
        lines += [id, str(ttl), hashlib.sha256(packed).hexdigest()]
    elif op == "release":
        lines.append(",".join(ids))
    return "\n".join(lines)


def proof(secret, text):
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def refusal(why, **more):
    return {"v": 1, "refused": why, **more}


def guarded(otherwise):
    """A hook that logs an exception and returns `otherwise`, instead of ending the engine."""

    def wrap(hook):
        @functools.wraps(hook)
        def run(self, *args, **kwargs):
            try:
                return hook(self, *args, **kwargs)
            except Exception as e:
                self._failed(hook.__name__, e)
                return otherwise

        return run

    return wrap


def whole(value, least):
    """Whether a JSON value is a whole number in range; true and false are int to Python."""
    return type(value) is int and least <= value <= LARGEST


def matches(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value)


class Asked:
    """What a request asked for on its arrival; its answer is due when it ends."""

    def __init__(self, answer, op=None, name=None, ttl=0):
        self.answer, self.op = answer, op  # no op: refused, and told nothing else
        self.name, self.ttl = name, ttl


class HoldfastConnector(KVConnectorBase_V1, SupportsHMA):
    # A hold that is lost is a later miss and never a wrong answer, so vLLM need not recompute
    # preempted requests on our account, as it does for a producer by default.
    requires_kv_delivery = False

    def __init__(self, vllm_config, role, kv_cache_config=None):
        try:
            super().__init__(vllm_config, role, kv_cache_config)
        except TypeError:  # before kv_cache_config was handed over
            super().__init__(vllm_config, role)
        self._clock = time.monotonic
        self._wall_ms = lambda: int(time.time() * 1000)
        self._pool = None
        self._broken = False  # something of vLLM's threw: hold nothing more
        self._failures = 0
        self._secret = None
        self._holds = {}  # name -> (until, blocks), the least recently asked for first
        self._refs = {}  # block id -> number of holds that refer to it
        self._seen = {}  # proof -> wall time at which it is too old anyway
        self._live = {}  # request id -> Request, from arrival to end
        self._asked = {}  # request id -> Asked
        self._looked_at = None  # (request, tokens it hits) that this step has not admitted yet
        self._stalled = None  # (request id, since when) while nothing can be scheduled
        self._gave_way = 0
        self._max_share = self._max_ttl = self._give_way_after = 0
        if getattr(role, "name", "") != "WORKER":
            self._configure(vllm_config, kv_cache_config)

    def _configure(self, vllm_config, kv_cache_config):
        try:
            extra = vllm_config.kv_transfer_config.kv_connector_extra_config
            self._max_share = float(extra.get("max_share", 0.25))
            self._max_ttl = int(extra.get("max_ttl", 900))
            self._give_way_after = float(extra.get("give_way_after", 0.5))
            if not (0 < self._max_share <= 0.9 and self._max_ttl >= 1
                    and 0 <= self._give_way_after < float("inf")):
                raise ValueError("max_share, max_ttl or give_way_after is out of range")
            self._max_model_len = vllm_config.model_config.max_model_len
            speculative = getattr(vllm_config, "speculative_config", None)
            self._drafts = getattr(speculative, "num_speculative_tokens", None) or 0
            ranks = getattr(vllm_config.parallel_config, "decode_context_parallel_size", 1)
            self._sizes = [
                g.kv_cache_spec.block_size * ranks for g in kv_cache_config.kv_cache_groups
            ]
            if "secret" in extra:
                logger.warning("holdfast: 'secret' is ignored, since flags can be read by others; "
                               "use secret_file or secret_env")
            self._secret = self._read_secret(extra)
        except Exception as e:
            self._broken = True
            self._failed("configuration", e)

    @staticmethod
    def _read_secret(extra):
        secret = ""
        try:
            if "secret_file" in extra:
                with open(os.fspath(extra["secret_file"]), encoding="utf-8") as file:
                    secret = file.read().strip()
            elif "secret_env" in extra:
                secret = os.environ.get(extra["secret_env"], "").strip()
        except (OSError, ValueError, TypeError) as e:
            logger.warning("holdfast: the secret cannot be read: %s", type(e).__name__)
        if len(secret) >= 16:
            return secret
        logger.warning("holdfast: no secret of at least 16 characters: nothing will be held")
        return None

    def _failed(self, where, e):
        self._failures += 1
        if self._failures <= 10:  # strangers may cause it again and again: do not fill the log
            logger.error("holdfast: %s: %s: %s", where, type(e).__name__, e)

    # ---- what vLLM's scheduler calls

    @guarded(None)
    def bind_gpu_block_pool(self, gpu_block_pool):
        self._pool = pool = gpu_block_pool
        reset = pool.reset_prefix_cache

        def reset_prefix_cache():
            # The cache is emptied since its contents are void (new weights, sleep). vLLM relies on
            # this to work once no request runs: 0.22.1 ends where a block is still in use.
            self._make_room_for_reset()
            return reset()

        pool.reset_prefix_cache = reset_prefix_cache
        if self._secret and not self._broken:
            logger.info("holdfast: holds at most %d of %d blocks, for at most %d s each",
                        self._most(), pool.num_gpu_blocks - 1, self._max_ttl)

    @guarded(None)
    def on_new_request(self, request):
        """On arrival, before the request is scheduled: a release makes room for the request."""
        self._sweep()
        self._live[request.request_id] = request
        params = request.kv_transfer_params
        body = params.get("holdfast", ABSENT) if isinstance(params, dict) else ABSENT
        if body is not ABSENT:
            self._asked[request.request_id] = Asked(refusal("engine"))  # stands if this throws:
            self._asked[request.request_id] = self._arrived(request, body)

    @guarded((0, False))
    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        self._looked_at = (request, num_computed_tokens)  # its blocks are allocated next, or not
        return 0, False

    @guarded(None)
    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        self._looked_at = None

    def build_connector_meta(self, scheduler_output):
        """At the end of each scheduling step."""
        try:
            self._step(scheduler_output)
        except Exception as e:  # who cannot see that the engine waits must not stand in its way
            self._broken = True
            self._failed("step", e)
            self._let_all_go()
        return KVConnectorMetadata()

    def request_finished(self, request, block_ids):
        return self.request_finished_all_groups(request, (block_ids,))

    @guarded((False, None))
    def request_finished_all_groups(self, request, block_ids):
        self._live.pop(request.request_id, None)
        if self._stalled and self._stalled[0] == request.request_id:
            self._stalled = None
        asked = self._asked.pop(request.request_id, None)
        if asked is None:
            params = request.kv_transfer_params
            if not isinstance(params, dict) or "holdfast" not in params:
                return False, None
            asked = Asked(refusal("engine"))  # this vLLM never announced it
        try:
            answer = self._ended(asked, request, block_ids)
        except Exception as e:
            self._broken = True
            self._failed("hold", e)
            answer = refusal("engine")
        return False, {"holdfast": answer}  # False: the request's own references go as ever

    # ---- what vLLM's workers call: there is nothing to load and nothing to save

    def start_load_kv(self, *args, **kwargs):
        pass

    wait_for_layer_load = save_kv_layer = wait_for_save = start_load_kv

    # ---- asking

    def _arrived(self, request, body):
        if self._secret is None:
            return Asked(refusal("engine" if self._broken else "no secret"))
        if not isinstance(body, dict):
            return Asked(refusal("request"))
        op, at, given = body.get("op"), body.get("at"), body.get("proof")
        name, ttl, ids, tokens = body.get("id"), body.get("ttl"), body.get("ids"), ()
        right = whole(body.get("v"), 1) and body["v"] == 1 and whole(at, 0) and matches(HEX, given)
        if op == "hold":
            tokens = request.prompt_token_ids
            right = (right and matches(NAME, name) and whole(ttl, 1) and tokens
                     and not getattr(request, "resumable", False))  # its prompt still grows
        elif op == "release":
            right = (right and isinstance(ids, list) and 1 <= len(ids) <= 1000
                     and (ids == ["*"] or all(matches(NAME, i) for i in ids)))
        elif op != "list":
            right = False
        if not right:
            return Asked(refusal("request"))
        text = message(op, at, id=name, ttl=ttl, ids=ids, tokens=tokens)
        if not hmac.compare_digest(proof(self._secret, text), given):
            return Asked(refusal("proof"))
        now = self._wall_ms()
        if abs(now - at) > PROOF_GOOD_FOR_MS:
            return Asked(refusal("clock", now=now))
        if given in self._seen:
            return Asked(refusal("seen"))
        self._remember(given, at, now)
        answer = {"v": 1}
        if op == "hold":
            ttl = min(ttl, self._max_ttl)
        elif op == "release":
            names = list(self._holds) if ids == ["*"] else ids
            answer["released"] = sum(map(self._let_go, names))
        return Asked(answer, op, name, ttl)

    def _remember(self, given, at, now):
        self._seen[given] = at + PROOF_GOOD_FOR_MS
        while self._seen:
            oldest = next(iter(self._seen))
            if len(self._seen) <= PROOFS_REMEMBERED and self._seen[oldest] >= now:
                break
            del self._seen[oldest]

    def _ended(self, asked, request, block_ids):
        answer = asked.answer
        if asked.op is None:
            return answer
        if asked.op == "hold":
            answer.update(self._hold(asked, request, block_ids))
        self._sweep()
        if asked.op == "list":
            now = self._clock()
            answer["holds"] = {
                name: [len(blocks), round(until - now, 1)]
                for name, (until, blocks) in self._holds.items()
            }
        if self._pool is None:
            return {**answer, "refused": "engine"}
        answer.update(blocks_held=len(self._refs), blocks_most=self._most(),
                      blocks_total=self._pool.num_gpu_blocks - 1, gave_way=self._gave_way)
        if len(set(self._sizes)) == 1:
            answer["block_size"] = self._sizes[0]
        return answer

    # ---- holding

    def _most(self):
        return int(self._max_share * (self._pool.num_gpu_blocks - 1))

    def _hold(self, asked, request, block_ids):
        if request.status.name not in ("FINISHED_STOPPED", "FINISHED_LENGTH_CAPPED"):
            return {"held": 0, "refused": "aborted"}
        if self._broken or self._pool is None:
            return {"held": 0, "refused": "engine"}
        if request.num_prompt_tokens < min(self._sizes):
            return {"held": 0, "refused": "request"}  # not one full block: nothing to hold
        blocks = list(self._prompt_blocks(request, block_ids))
        if not blocks:
            return {"held": 0, "refused": "engine"}  # no prefix caching, for one
        # Counted as it will be: what only the old hold of this name refers to is given back.
        _, old = self._holds.get(asked.name, (0, ()))
        given_back = {b.block_id for b in old if self._refs[b.block_id] == 1}
        if len((self._refs.keys() - given_back) | {b.block_id for b in blocks}) > self._most():
            return {"held": 0, "refused": "share"}
        self._pool.touch(blocks)
        for b in blocks:
            self._refs[b.block_id] = self._refs.get(b.block_id, 0) + 1
        self._let_go(asked.name)  # after the new reference: the blocks are never free in between
        self._holds[asked.name] = (self._clock() + asked.ttl, blocks)
        return {"held": len(blocks), "ttl": asked.ttl}

    def _prompt_blocks(self, request, block_ids):
        """The prompt's full blocks, so far as they really are what the cache knows them for."""
        for group, (ids, size) in enumerate(zip(block_ids, self._sizes)):
            for i, block_id in enumerate(ids[: request.num_prompt_tokens // size]):
                block = self._pool.blocks[block_id]
                if block.is_null or block.ref_cnt < 1 or block.block_hash is None:
                    continue
                cached = self._cached(request, i, group, size)
                if cached is not None and cached.block_hash == block.block_hash:
                    yield block

    def _cached(self, request, i, group, size):
        if size != getattr(self._pool, "hash_block_size", size):  # several hashes make one block's
            i = (i + 1) * size // self._pool.hash_block_size - 1
        found = self._pool.get_cached_block(request.block_hashes[i], [group])
        return found[0] if found else None

    def _let_go(self, name):
        if name not in self._holds:
            return 0
        _, blocks = self._holds.pop(name)
        try:
            for b in blocks:
                self._refs[b.block_id] -= 1
                if not self._refs[b.block_id]:
                    del self._refs[b.block_id]
            self._pool.free_blocks(reversed(blocks))  # the tail goes first, as in vLLM
        except Exception as e:
            self._broken = True
            self._failed("release", e)
        return 1

    def _sweep(self):
        if self._holds:
            now = self._clock()
            for name in [n for n, (until, _) in self._holds.items() if now >= until]:
                self._let_go(name)

    def _let_all_go(self):
        for name in list(self._holds):
            self._let_go(name)

    @guarded(None)
    def _make_room_for_reset(self):
        in_use = self._pool.num_gpu_blocks - 1 - self._pool.get_num_free_blocks()
        if self._holds and in_use <= len(self._refs):  # else requests keep it from happening
            self._let_all_go()
            logger.info("holdfast: all holds end, since the prefix cache is emptied")

    # ---- giving way

    def _step(self, scheduler_output):
        looked_at, self._looked_at = self._looked_at, None
        self._sweep()
        waits = self._waits(scheduler_output, looked_at) if self._holds else None
        if waits is None:
            self._stalled = None
            return
        if self._stalled is None:
            self._stalled = (waits[0].request_id, self._clock())
        if self._clock() - self._stalled[1] < self._give_way_after:
            return
        # One group: vLLM's own sum, done here. Several (hybrid models): the sum is an upper bound,
        # so let one hold go for each step, and vLLM find out whether it was enough.
        while self._holds and self._short_of(*waits) > 0:
            name = next(iter(self._holds))
            logger.info("holdfast: %s gave way to a request that waited for memory", name)
            self._gave_way += self._let_go(name)
            if len(self._sizes) > 1:
                break

    def _waits(self, scheduler_output, looked_at):
        """The request that waits for memory while nothing else goes on, and the tokens it hits.

        The scheduler shows us a waiting request just before it allocates (looked_at), and again
        once it has; what it has not even looked at waits for something else (a grammar, a remote
        load, a pause). A step that schedules nothing while a request is RUNNING only waits for
        that one's results (asynchronous scheduling): its end or its preemption will tell.
        """
        if scheduler_output.total_num_scheduled_tokens:
            return None
        again = None
        for request in self._live.values():
            status = request.status.name
            if status == "RUNNING":
                return None
            if status in ("WAITING", "PREEMPTED") and request.num_computed_tokens:
                again = (request, request.num_computed_tokens)  # after a load: not shown again
        return looked_at or again

    def _short_of(self, request, hit_tokens):
        """Blocks that the request lacks. At most its whole life counts, if it ran out before."""
        grow = request.max_tokens if request.status.name == "PREEMPTED" else 1
        life = request.num_prompt_tokens + request.max_tokens - 1
        tokens = max(request.num_tokens, min(request.num_tokens + grow, life))
        tokens = min(tokens + self._drafts, self._max_model_len)
        need = -self._pool.get_num_free_blocks()
        for group, size in enumerate(self._sizes):
            need += -(-tokens // size)
            for i in range(hit_tokens // size):  # in use by itself or by others: at no cost
                block = self._cached(request, i, group, size)
                need -= bool(request.num_computed_tokens or (block and block.ref_cnt))
        return need
