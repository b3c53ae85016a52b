#!/usr/bin/env python3
"""How well load generators stamp: each against the emulated engine's own stamps, in turns; standard library only.

    load-clients.py [--streams 1,64,256] [--pairs 4] [--tokens 64] [--guidellm BIN] [--aiperf BIN] [--vllm BIN] [--tokenizer DIR]

The engine runs in a process of its own with --stamps, and is the same for all. Each round runs every client once, every second
round in reversed order. An error of a first token is |client's median TTFT - the server's median| of that run, where the
server's TTFT is from the last byte of a request to before the first token is written. Of gaps likewise: of all gaps where a
client tells each of them, else of the mean gap of each request, and then the server's are taken in the same way. CPU is that of
the client's process and its children for each token, beyond what the same command takes for a single request, so that imports
and tokenizers do not count; where that is noise it may come out below what it is. At the end: medians over the rounds, and
medians of each round's difference to holdfast. The public clients are told token counts by a tokenizer of this repository's
texts (real-clients/make_tokenizer.py), and are asked for OpenAI's completions like ours."""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


# In each run, since a median of four requests is none.
LEAST_REQUESTS = 16


def server_stamps(path, skip):
    with open(path) as lines:
        return [json.loads(line) for line in lines][skip:]


def of_server(rows):
    ttfts = [(row["written"][0] - row["received"]) / 1e6 for row in rows if row["written"]]
    gaps = [[(b - a) / 1e6 for a, b in zip(row["written"], row["written"][1:])] for row in rows]
    return ttfts, [gap for row in gaps for gap in row], [statistics.mean(row) for row in gaps if row]


def timed(command, env=None, where=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=where)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        sys.exit(f"load-clients: {command[0]} failed:\n{done.stderr[-2000:]}\n{done.stdout[-2000:]}")
    return cpu, done.stdout


def ours(url, streams, per, tokens, folder, arguments):
    records = os.path.join(folder, "ours.jsonl")
    cpu, out = timed(arguments.holdfast + ["loadtest", "calibrate", "--engine", url, "--streams", str(streams), "--requests",
                                           str(per), "--tokens", str(tokens), "--records", records, "--json"])
    rows = [json.loads(line) for line in open(records)]
    level = json.loads(out[out.index("{"):])["levels"][0]
    return {
        "ttfts": [(row["firstToken"] - row["sent"]) / 1e6 for row in rows if row["status"] == "OK"],
        "gaps": [gap for row in rows for gap in row["gapsMillis"]],
        "cpu": level["processCpuMicrosPerToken"] * level["tokens"] / 1e6,
        "tokens": level["tokens"],
    }


def vllm(url, streams, per, tokens, folder, arguments):
    result = os.path.join(folder, "vllm.json")
    command = [arguments.vllm, "bench", "serve", "--backend", "openai", "--base-url", url, "--model", "holdfast-emulated",
               "--tokenizer", arguments.tokenizer, "--dataset-name", "random", "--random-input-len", "32",
               "--random-output-len", str(tokens), "--num-prompts", str(streams * per), "--max-concurrency", str(streams),
               "--ignore-eos", "--save-result", "--save-detailed", "--result-filename", result, "--ready-check-timeout-sec", "0"]
    cpu, _ = timed(command)
    seen = json.load(open(result))
    count = sum(seen["output_lens"])
    return {
        "ttfts": [1e3 * value for value in seen["ttfts"]],
        "gaps": [1e3 * gap for one in seen["itls"] for gap in one],
        "cpu": cpu,
        "tokens": count,
    }


def guidellm(url, streams, per, tokens, folder, arguments):
    result = os.path.join(folder, "guidellm.json")
    command = [arguments.guidellm, "run", "--backend",
               f"kind=openai_http,target={url},model=holdfast-emulated,request_format=/v1/completions",
               "--profile", f"kind=concurrent,streams={streams}", "--constraint", f"kind=max_requests,count={streams * per}",
               "--tokenizer", f"kind=hf_auto,model={arguments.tokenizer}", "--data",
               f"kind=synthetic_text,prompt_tokens=32,output_tokens={tokens}", "--output", f"kind=json,path={result}",
               "--disable-console"]
    cpu, _ = timed(command, dict(os.environ, HF_HUB_OFFLINE="1"))
    seen = json.load(open(result))["benchmarks"][0]["requests"]["successful"]
    return {
        "ttfts": [row["time_to_first_token_ms"] for row in seen],
        "means": [row["inter_token_latency_ms"] for row in seen],
        "cpu": cpu,
        "tokens": sum(row["output_tokens"] for row in seen),
    }


def aiperf(url, streams, per, tokens, folder, arguments):
    result = os.path.join(folder, "aiperf")
    # A path that begins with a slash is taken for a name of a model on a hub.
    command = [arguments.aiperf, "profile", "-m", "holdfast-emulated", "--url", url, "--endpoint-type", "completions",
               "--streaming", "--tokenizer", os.path.relpath(arguments.tokenizer, folder), "--concurrency", str(streams),
               "--request-count", str(streams * per), "--synthetic-input-tokens-mean", "32",
               "--synthetic-input-tokens-stddev", "0", "--output-tokens-mean", str(tokens), "--output-tokens-stddev", "0",
               "--extra-inputs", "ignore_eos:true", "--artifact-dir", result, "--ui-type", "none"]
    cpu, _ = timed(command, where=folder)
    seen = [json.loads(line)["metrics"] for line in open(os.path.join(result, "profile_export.jsonl"))]
    return {
        "ttfts": [row["time_to_first_token"]["value"] for row in seen],
        "gaps": [gap for row in seen for gap in row["inter_chunk_latency"]["value"]],
        "cpu": cpu,
        "tokens": sum(row["usage_completion_tokens"]["value"] for row in seen),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default="1,64,256")
    parser.add_argument("--pairs", type=int, default=4, help="rounds; an even number has each order as often")
    parser.add_argument("--requests", type=int, default=4, help="of each stream")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--port", type=int, default=31980)
    parser.add_argument("--holdfast", default=os.path.join(HERE, "..", "holdfast"), type=lambda text: text.split())
    parser.add_argument("--vllm", help="its command, where it is to be compared")
    parser.add_argument("--guidellm", help="its command, where it is to be compared")
    parser.add_argument("--aiperf", help="its command, where it is to be compared")
    parser.add_argument("--tokenizer", help="a folder that real-clients/make_tokenizer.py wrote", type=os.path.abspath)
    arguments = parser.parse_args()
    arguments.holdfast = arguments.holdfast if isinstance(arguments.holdfast, list) else [arguments.holdfast]
    clients = [("holdfast", ours)]
    clients += [("vllm bench serve", vllm)] if arguments.vllm else []
    clients += [("guidellm", guidellm)] if arguments.guidellm else []
    clients += [("aiperf", aiperf)] if arguments.aiperf else []
    if len(clients) > 1 and not arguments.tokenizer:
        sys.exit("load-clients: --tokenizer is missing; write the folder that real-clients/make_tokenizer.py wrote.")
    with tempfile.TemporaryDirectory() as folder:
        stamps = os.path.join(folder, "stamps.jsonl")
        url = f"http://127.0.0.1:{arguments.port}"
        server = subprocess.Popen(
            arguments.holdfast + ["emulate", "--family", "vllm", "--port", str(arguments.port), "--events", "0", "--blocks", "16384",
                                  "--context-tokens", "4096", "--max-running", "256", "--prefill-us-per-token", "0",
                                  "--first-token-ms", "5", "--decode-ms", "5", "--stamps", stamps],
            stdout=subprocess.PIPE, text=True)
        try:
            server.stdout.readline()
            measure(arguments, clients, url, stamps, folder)
        finally:
            server.terminate()
            server.wait()


def measure(arguments, clients, url, stamps, folder):
    # The server is as fast as it gets before anybody is measured against it.
    for streams in (1, 64, 256):
        ours(url, streams, max(4, 256 // streams), 16, folder, arguments)
    # What a command takes before and after its load; ours tells what the load alone took.
    idle = {name: client(url, 1, 1, 2, folder, arguments)["cpu"] for name, client in clients}
    idle["holdfast"] = 0
    rows = {}
    for streams in map(int, arguments.streams.split(",")):
        for pair in range(arguments.pairs):
            for name, client in clients if pair % 2 == 0 else reversed(clients):
                skip = len(server_stamps(stamps, 0)) if os.path.exists(stamps) else 0
                per = max(arguments.requests, LEAST_REQUESTS // streams)
                seen = client(url, streams, per, arguments.tokens, folder, arguments)
                time.sleep(0.5)
                ttfts, gaps, means = of_server([row for row in server_stamps(stamps, skip)
                                                if sum(row["tokens"]) == arguments.tokens])
                told = (seen["gaps"], gaps) if "gaps" in seen else (seen["means"], means)
                row = {
                    "ttft_us": 1e3 * abs(statistics.median(seen["ttfts"]) - statistics.median(ttfts)),
                    "gap_us": 1e3 * abs(statistics.median(told[0]) - statistics.median(told[1])),
                    "cpu_us": 1e6 * (seen["cpu"] - idle[name]) / seen["tokens"],
                    "load": os.getloadavg()[0],
                }
                rows.setdefault((streams, name), []).append(row)
                print(streams, name, json.dumps(row), file=sys.stderr, flush=True)
    print("| streams | client | TTFT off by, us | beyond holdfast | gap off by, us | beyond holdfast | CPU a token, us | load |")
    print("|---|---|---|---|---|---|---|---|")
    for (streams, name), seen in rows.items():
        middle = {key: statistics.median(row[key] for row in seen) for key in seen[0]}
        beyond = {key: statistics.median(row[key] - own[key] for row, own in zip(seen, rows[(streams, "holdfast")]))
                  for key in seen[0]}
        print(f"| {streams} | {name} | {middle['ttft_us']:.0f} | {beyond['ttft_us']:+.0f} | {middle['gap_us']:.0f} |"
              f" {beyond['gap_us']:+.0f} | {middle['cpu_us']:.0f} | {middle['load']:.1f} |")


if __name__ == "__main__":
    main()
