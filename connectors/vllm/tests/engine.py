# SPDX-License-Identifier: Apache-2.0
"""vLLM's own scheduler, cache manager and block pool in this process, with no model behind them."""

import copy
import json
import os
import sys
import tempfile
from collections import deque

os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import torch
import vllm
from vllm.config import CacheConfig, KVTransferConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    SlidingWindowSpec,
)
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

VERSION = vllm.__version__
SECRET = "a secret of tests, long enough"
BLOCK, MAX_LEN = 16, 4096
_dir = tempfile.TemporaryDirectory()


def _base():
    model = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 32, "max_position_embeddings": MAX_LEN,
        "vocab_size": 1024, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
        "bos_token_id": 1, "eos_token_id": 2,
    }
    with open(os.path.join(_dir.name, "config.json"), "w") as f:
        json.dump(model, f)
    with open(os.path.join(_dir.name, "secret"), "w") as f:
        f.write(SECRET + "\n")
    init_none_hash(hash)
    return VllmConfig(
        model_config=ModelConfig(
            model=_dir.name, skip_tokenizer_init=True, max_model_len=MAX_LEN, dtype="bfloat16"),
        scheduler_config=SchedulerConfig(
            max_num_seqs=16, max_num_batched_tokens=2048, max_model_len=MAX_LEN,
            enable_chunked_prefill=True, is_encoder_decoder=False),
        cache_config=CacheConfig(block_size=BLOCK, enable_prefix_caching=True),
        kv_transfer_config=_transfer({}),
    )


def _transfer(extra):
    return KVTransferConfig(
        kv_connector="HoldfastConnector", kv_connector_module_path="holdfast_connector",
        kv_role="kv_producer", kv_connector_extra_config=extra)


_vllm_config = None
_hasher = None


class Engine:
    """Steps the scheduler by hand; its model answers every request with token 7."""

    def __init__(self, blocks=101, in_flight=1, prefix_caching=True, window=0, secret=True,
                 **extra):
        """`extra` is the connector's configuration; the secret is added unless it is False."""
        global _vllm_config, _hasher
        if _vllm_config is None:
            _vllm_config = _base()
            _hasher = get_request_block_hasher(BLOCK, hash_of)
        config = copy.copy(_vllm_config)
        if secret:
            extra = {"secret_file": os.path.join(_dir.name, "secret"), **extra}
        config.kv_transfer_config = _transfer(extra)
        config.cache_config = copy.copy(config.cache_config)
        config.cache_config.num_gpu_blocks = blocks
        config.cache_config.enable_prefix_caching = prefix_caching
        spec = FullAttentionSpec(
            block_size=BLOCK, num_kv_heads=1, head_size=32, dtype=torch.bfloat16)
        groups = [KVCacheGroupSpec(["layer"], spec)]
        if window:  # a hybrid model: some layers see only the last tokens
            groups.append(KVCacheGroupSpec(["other"], SlidingWindowSpec(
                block_size=BLOCK, num_kv_heads=1, head_size=32, dtype=torch.bfloat16,
                sliding_window=window)))
        kv = KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=groups)
        kind = AsyncScheduler if in_flight > 1 else Scheduler
        self.scheduler = kind(
            vllm_config=config, kv_cache_config=kv, block_size=BLOCK, log_stats=False,
            structured_output_manager=StructuredOutputManager(config))
        self.connector = self.scheduler.connector
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.now, self.wall = 1000.0, 1_800_000_000_000
        self.connector._clock = lambda: self.now
        self.connector._wall_ms = lambda: self.wall
        self.in_flight, self.batches = in_flight, deque()
        self.answers, self.ended, self.n = {}, [], 0

    def request(self, tokens, max_tokens=1, body=None):
        self.n += 1
        params = SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True)
        params.update_from_generation_config({}, 2)
        request = Request(
            request_id=str(self.n), prompt_token_ids=list(tokens), sampling_params=params,
            pooling_params=None, block_hasher=_hasher)
        request.kv_transfer_params = body  # vLLM refuses some; here the connector has to
        return request

    def add(self, tokens, max_tokens=1, body=None):
        request = self.request(tokens, max_tokens, body)
        self.scheduler.add_request(request)
        return request

    def step(self, seconds=0.0):
        """One turn of the engine's loop; the model takes `seconds`. How many tokens went in."""
        output = self.scheduler.schedule()
        ids, requests = list(output.num_scheduled_tokens), self.scheduler.requests
        # a prompt that is not through yet yields no token
        sampled = [
            [7] if requests[i].num_computed_tokens >= requests[i].num_tokens else [] for i in ids]
        self.batches.append((output, ids, sampled))
        if len(self.batches) >= self.in_flight or not output.total_num_scheduled_tokens:
            self.now += seconds
            self.drain(1)
        return output.total_num_scheduled_tokens

    def drain(self, n=10**9):
        while self.batches and n:
            n -= 1
            output, ids, sampled = self.batches.popleft()
            result = self.scheduler.update_from_output(output, ModelRunnerOutput(
                req_ids=ids, req_id_to_index={i: n for n, i in enumerate(ids)},
                sampled_token_ids=sampled, logprobs=None, prompt_logprobs_dict={},
                pooler_output=[None] * len(ids)))
            for outputs in result.values():
                for o in outputs.outputs:
                    if o.finish_reason is not None:
                        self.ended.append(o.request_id)
                        self.answers[o.request_id] = (o.kv_transfer_params or {}).get("holdfast")

    def run(self, limit=10_000, seconds=0.0):
        while self.scheduler.has_unfinished_requests():
            limit -= 1
            assert limit, "the engine does not come to an end"
            self.step(seconds)
        self.step()
        self.drain()

    def ask(self, tokens, body, max_tokens=1):
        request = self.add(tokens, max_tokens, {"holdfast": body})
        self.run()
        return self.answers[request.request_id]

    def hits(self, tokens):
        """Tokens of a prompt that the cache knows."""
        return self.scheduler.kv_cache_manager.get_computed_blocks(self.request(tokens))[1]

    def in_use(self):
        return self.pool.num_gpu_blocks - 1 - self.pool.get_num_free_blocks()


def hash_of(x):
    import hashlib
    import pickle

    return hashlib.sha256(pickle.dumps(x)).digest()
