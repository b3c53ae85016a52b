#!/usr/bin/env python3
"""Records what vLLM's own scheduler does with a seeded random session of concurrent requests, pass by pass, without a server.

usage: record_vllm_scheduler.py MODEL_DIR OUT.jsonl.gz SEED PASSES [blocks=40] [block_size=16] [seqs=6] [batched=96] [policy=fcfs]
Run it with the python of an environment that has vLLM (0.22 or 0.32, CPU); MODEL_DIR holds any model's config.json.
Tokens that requests say are drawn here in place of a model. Line 1 is a header; every other line is one turn:
{"ops": what was asked before the pass, "pass": was there one, "scheduled": [[request, tokens]], "said": [[request, token]], "cached": [[request, tokens]] of first tokens,
 "frames": [[event]], "running": [request], "waiting": [request], "free": [block] in the queue's order, "preemptions", "queries", "hits"}
"""
import gzip, json, os, random, sys
model_dir, out, seed, passes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
options = dict(a.split("=") for a in sys.argv[5:])
blocks, block_size, seqs, batched = (int(options.get(k, d)) for k, d in (("blocks", 40), ("block_size", 16), ("seqs", 6), ("batched", 96)))
policy = options.get("policy", "fcfs")
os.environ.setdefault("PYTHONHASHSEED", "0"); os.environ["VLLM_TARGET_DEVICE"] = "cpu"
if os.environ["PYTHONHASHSEED"] != "0": sys.exit("PYTHONHASHSEED must be 0")
import torch, vllm
from vllm.config import CacheConfig, KVEventsConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager
import msgspec

max_len = (blocks - 1) * block_size
model = ModelConfig(model=model_dir, dtype="bfloat16", seed=0, skip_tokenizer_init=True, max_model_len=max_len)
cache = CacheConfig(block_size=block_size, enable_prefix_caching=True, prefix_caching_hash_algo="sha256_cbor")
scheduling = SchedulerConfig(max_num_seqs=seqs, max_num_batched_tokens=batched, max_model_len=max_len, enable_chunked_prefill=True, async_scheduling=False, is_encoder_decoder=False, policy=policy)
config = VllmConfig(model_config=model, cache_config=cache, scheduler_config=scheduling, kv_events_config=KVEventsConfig(enable_kv_cache_events=True, publisher="null"))
cache.num_gpu_blocks = blocks
spec = FullAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype=torch.float32)
scheduler = Scheduler(vllm_config=config, kv_cache_config=KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)]),
                      log_stats=True, structured_output_manager=StructuredOutputManager(config), block_size=block_size)
frames, preempted = [], [0]
class Publisher:
    def publish(self, batch): frames.append(msgspec.to_builtins(batch.events))
    def shutdown(self): pass
scheduler.kv_event_publisher = Publisher()
preempt = scheduler._preempt_request
def counted(request, *more, **names):
    preempted[0] += 1; return preempt(request, *more, **names)
scheduler._preempt_request = counted
pool = scheduler.kv_cache_manager.block_pool
hash_function = get_hash_fn_by_name("sha256_cbor"); init_none_hash(hash_function)
hasher = get_request_block_hasher(block_size, hash_function)

dice = random.Random(seed)
roots = [[dice.randrange(1000) for _ in range(dice.randrange(8, 9 * block_size))] for _ in range(6)]
history, live, totals, clock = [], {}, [0, 0], [0]
def prompt():
    kind = dice.random()
    if kind < 0.25 and history:
        start = dice.choice(history[-12:])[: max_len - 3 * block_size - 40]
        if dice.random() < 0.3: start = start[: max(1, len(start) // block_size * block_size)]
        return start if dice.random() < 0.4 else start + [dice.randrange(1000) for _ in range(dice.randrange(1, 2 * block_size))]
    if kind < 0.8:
        root = dice.choice(roots); cut = dice.randrange(1, len(root) + 1)
        return root[:cut] + [dice.randrange(1000) for _ in range(dice.choice([0, 1, 3, block_size, 2 * block_size + 5]))]
    return [dice.randrange(1000) for _ in range(dice.randrange(1, max_len // 2))]
def submit():
    clock[0] += 1; name = "r%d" % clock[0]
    d = {"prompt": prompt(), "max_tokens": dice.choice([1, 1, 2, 5, 20, 40, 70])}
    d["max_tokens"] = min(d["max_tokens"], max_len - len(d["prompt"]))
    if dice.random() < 0.1: d["salt"] = dice.choice(["tenant-a", "tenant-b"])
    if policy == "priority": d["priority"] = dice.randrange(-2, 3)
    if dice.random() < 0.1: d["full"] = True
    params = SamplingParams(temperature=0, ignore_eos=True, max_tokens=d["max_tokens"], extra_args={"kv_cache_report_mode": "full"} if d.get("full") else None)
    params.update_from_generation_config({}, None) if hasattr(params, "update_from_generation_config") else None
    live[name] = Request(request_id=name, prompt_token_ids=d["prompt"], sampling_params=params, pooling_params=None, arrival_time=float(clock[0]), cache_salt=d.get("salt"),
                         priority=d.get("priority", 0), block_hasher=hasher)
    scheduler.add_request(live[name]); return {"submit": name, **d}
def waiting(): return [r.request_id for r in scheduler.waiting]
with gzip.open(out, "wt", compresslevel=9) as f:
    def put(o): f.write(json.dumps(o, separators=(",", ":")) + "\n")
    put({"type": "scheduler", "vllm": {"version": vllm.__version__}, "seed": seed, "blocks": blocks, "block_size": block_size, "max_num_seqs": seqs, "max_num_batched_tokens": batched,
         "policy": policy, "hash_algo": "sha256_cbor", "hash_seed": "0"})
    for _ in range(passes):
        ops = []
        load = len(live)
        if dice.random() < (0.9 if load < 3 else 0.35 if load < 9 else 0.05): ops += [submit() for _ in range(dice.choice([1, 1, 2, 4]))]
        if live and dice.random() < 0.02:
            name = dice.choice(sorted(live)); scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED); del live[name]; ops.append({"abort": name})
        if dice.random() < 0.02:
            also = dice.random() < 0.5; ops.append({"reset": also, "done": scheduler.reset_prefix_cache(also)})
        line = {"ops": ops, "pass": scheduler.has_requests(), "scheduled": [], "said": [], "cached": []}
        if line["pass"]:
            before = {n: r.num_output_tokens for n, r in live.items()}
            plan = scheduler.schedule()
            line["scheduled"] = [[n, t] for n, t in plan.num_scheduled_tokens.items()]
            names = list(plan.num_scheduled_tokens); sampled = []
            for n in names:
                r = live[n]
                sampled.append([dice.randrange(1000)] if r.num_computed_tokens >= r.num_tokens else [])
            fields = dict(req_ids=names, req_id_to_index={n: i for i, n in enumerate(names)}, sampled_token_ids=sampled, logprobs=None, prompt_logprobs_dict={}, pooler_output=[])
            outputs = scheduler.update_from_output(plan, ModelRunnerOutput(**fields))
            for group in outputs.values():
                for o in group.outputs:
                    line["said"].append([o.request_id, o.new_token_ids[0]])
                    r = live[o.request_id]
                    if before[o.request_id] == 0:
                        stats = getattr(o, "prefill_stats", None)
                        line["cached"].append([o.request_id, stats.num_cached_tokens if stats is not None else o.num_cached_tokens])
                    if o.finish_reason is not None: history.append(list(r.all_token_ids)); del live[o.request_id]
                stats = group.scheduler_stats
                if stats is not None: totals[0] += stats.prefix_cache_stats.queries; totals[1] += stats.prefix_cache_stats.hits
        line["frames"] = frames[:]; frames.clear()
        line["running"] = [r.request_id for r in scheduler.running]; line["waiting"] = waiting()
        line["free"] = [b.block_id for b in pool.free_block_queue.get_all_free_blocks()]; line["preemptions"] = preempted[0]; line["queries"], line["hits"] = totals
        put(line)
print(out, "requests", clock[0], "live", len(live), "preemptions", preempted[0])
