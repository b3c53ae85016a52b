#!/usr/bin/env python3
"""Whether results of public load generators, imported, say what ours say: all against one emulated server in turns.

    load-results.py [--rounds 4] [--streams 2] [--requests 16] [--tokens 32] [--out DIR] [--holdfast CMD] --tokenizer DIR
                    [--vllm BIN] [--sglang "PYTHON -m sglang.bench_serving"] [--aiperf BIN] [--guidellm BIN]

Standard library only. Each round runs every client once, every second round in reversed order; each sends the same number of
requests of 32 tokens by the same number of clients, and asks for the same number of tokens. Their result files are joined by
'loadtest import' and set beside ours by 'loadtest compare'. A client's texts are its own, so the server's cache is kept out of
it: reading a prompt costs the emulated server nothing."""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = "holdfast-emulated"
METRICS = ["ttft_p50", "icl_p50", "tpot_p50", "e2e_p50", "output_throughput"]
# Of a request it tells the mean gap alone.
WITHOUT_GAPS = {"guidellm"}


def done(command, where=None, env=None):
    ran = subprocess.run(command, capture_output=True, text=True, cwd=where, env=env)
    if ran.returncode:
        sys.exit(f"load-results: {' '.join(command[:4])} failed:\n{ran.stderr[-2000:]}\n{ran.stdout[-2000:]}")
    return ran.stdout


def ours(url, number, folder, arguments):
    recipe = os.path.join(folder, "recipe.yaml")
    with open(recipe, "w") as out:
        out.write(f"name: load\nwhy: what the other clients send\nseed: {number}\nparts:\n  - name: load\n"
                  f"    requests: {arguments.streams * arguments.requests}\n    own: 32\n    answer: {arguments.tokens}\n"
                  f"    arrivals: closed:{arguments.streams}\n")
    suite = os.path.join(folder, f"ours-{number}")
    done(arguments.holdfast + ["loadtest", "leg", "--recipe", recipe, "--engine", url, "--out", suite])
    return suite


def vllm(url, number, folder, arguments):
    result = os.path.join(folder, f"vllm-{number}.json")
    done([arguments.vllm, "bench", "serve", "--backend", "openai", "--base-url", url, "--model", MODEL, "--tokenizer",
          arguments.tokenizer, "--dataset-name", "random", "--random-input-len", "32", "--random-output-len",
          str(arguments.tokens), "--num-prompts", str(arguments.streams * arguments.requests), "--max-concurrency",
          str(arguments.streams), "--ignore-eos", "--save-result", "--save-detailed", "--result-filename", result, "--seed",
          str(number), "--ready-check-timeout-sec", "0"])
    return result


def sglang(url, number, folder, arguments):
    result = os.path.join(folder, f"sglang-{number}.jsonl")
    done(arguments.sglang.split() + [
        "--backend", "vllm", "--base-url", url, "--model", MODEL, "--tokenizer", arguments.tokenizer, "--dataset-name",
        "random-ids", "--random-input-len", "32", "--random-output-len", str(arguments.tokens), "--random-range-ratio", "1",
        "--num-prompts", str(arguments.streams * arguments.requests), "--max-concurrency", str(arguments.streams), "--seed",
        str(number), "--warmup-requests", "1", "--output-details", "--output-file", result],
        env=dict(os.environ, HF_HUB_OFFLINE="1"))
    return result


def aiperf(url, number, folder, arguments):
    result = os.path.join(folder, f"aiperf-{number}")
    # A path that begins with a slash is taken for a name of a model on a hub.
    done([arguments.aiperf, "profile", "-m", MODEL, "--url", url, "--endpoint-type", "completions", "--streaming",
          "--tokenizer", os.path.relpath(arguments.tokenizer, folder), "--concurrency", str(arguments.streams),
          "--request-count", str(arguments.streams * arguments.requests), "--synthetic-input-tokens-mean", "32",
          "--synthetic-input-tokens-stddev", "0", "--output-tokens-mean", str(arguments.tokens), "--output-tokens-stddev", "0",
          "--extra-inputs", "ignore_eos:true", "--random-seed", str(number), "--artifact-dir", result, "--ui-type", "none"],
         where=folder)
    return os.path.join(result, "profile_export.jsonl")


def guidellm(url, number, folder, arguments):
    result = os.path.join(folder, f"guidellm-{number}.json")
    done([arguments.guidellm, "run", "--backend",
          f"kind=openai_http,target={url},model={MODEL},request_format=/v1/completions", "--profile",
          f"kind=concurrent,streams={arguments.streams}", "--constraint",
          f"kind=max_requests,count={arguments.streams * arguments.requests}", "--tokenizer",
          f"kind=hf_auto,model={arguments.tokenizer}", "--data",
          f"kind=synthetic_text,prompt_tokens=32,output_tokens={arguments.tokens}", "--output", f"kind=json,path={result}",
          "--disable-console"], env=dict(os.environ, HF_HUB_OFFLINE="1"))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="an even number has each order as often")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--requests", type=int, default=16, help="of each stream")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--port", type=int, default=31985)
    parser.add_argument("--out", help="a folder for all result files (default: none is kept)")
    parser.add_argument("--holdfast", default=os.path.join(HERE, "..", "holdfast"), type=lambda text: text.split())
    parser.add_argument("--tokenizer", required=True, type=os.path.abspath,
                        help="a folder that real-clients/make_tokenizer.py wrote")
    for name in ("vllm", "sglang", "aiperf", "guidellm"):
        parser.add_argument("--" + name, help="its command, where it is to be compared")
    arguments = parser.parse_args()
    arguments.holdfast = arguments.holdfast if isinstance(arguments.holdfast, list) else [arguments.holdfast]
    clients = [("holdfast", ours)] + [(name, client) for name, client in (
        ("vllm", vllm), ("sglang", sglang), ("aiperf", aiperf), ("guidellm", guidellm)) if getattr(arguments, name)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(arguments.out or temporary)
        os.makedirs(folder, exist_ok=True)
        url = f"http://127.0.0.1:{arguments.port}"
        server = subprocess.Popen(
            arguments.holdfast + ["emulate", "--family", "vllm", "--port", str(arguments.port), "--events", "0", "--blocks",
                                  "16384", "--context-tokens", "4096", "--max-running", "256", "--prefill-us-per-token", "0",
                                  "--first-token-ms", "50", "--decode-ms", "10"],
            stdout=subprocess.PIPE, text=True)
        try:
            if not server.stdout.readline():
                sys.exit(f"load-results: the emulated server did not start; is port {arguments.port} free?")
            measure(arguments, clients, url, folder)
        finally:
            server.terminate()
            server.wait()


def measure(arguments, clients, url, folder):
    files = {name: [] for name, _ in clients}
    for number in range(1, arguments.rounds + 1):
        for name, client in clients if number % 2 else reversed(clients):
            files[name].append(client(url, number, folder, arguments))
            print(f"round {number}: {name}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    joined = []
    for name, each in files.items():
        result = os.path.join(folder, name + ".json")
        done(arguments.holdfast + ["loadtest", "import", *each, "--out", result])
        joined.append(result)
    print(done(arguments.holdfast + ["loadtest", "compare", *joined, "--metric", ",".join(METRICS)]))
    for name, other in list(zip(files, joined))[1:]:
        told = [metric for metric in METRICS if metric != "icl_p50" or name not in WITHOUT_GAPS]
        print(done(arguments.holdfast + ["loadtest", "compare", joined[0], other, "--metric", ",".join(told)]))


if __name__ == "__main__":
    main()
