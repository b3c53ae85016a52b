#!/usr/bin/env python3
"""What a query about a long prompt costs a sidecar, by tokens, by hashes and by text; standard library only.

    long.py [--tokens 100000] [--share 0.75] [--pairs 3] [--rates 1,10,50] [--kinds tokens,hashes,text] NAME=LAUNCHER [NAME=LAUNCHER ...]

An emulated SGLang engine holds the first part of the prompt, --share of it; every query ends otherwise, so that none was
asked before. With two launchers, such as another version and this one, both sidecars follow the same engine and are asked in
turns, the order reversed with each pair. Printed are, as medians with ranges over the pairs: the processor time of the whole
sidecar for one query (/proc/PID/stat, less what it took in as many seconds in which nobody asked), which as a share of a core
is also the cost of one query a second; resident memory; times from when a query was due to its answer; and those of GET /livez,
asked fifty times a second meanwhile on a connection of its own. On a machine that does other work only the processor time is
worth reading. A kind that a version refuses has no line."""
import argparse
import asyncio
import hashlib
import json
import os
import pathlib
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

BLOCK = 16
VOCABULARY = 32_000
PROMPTS = 40
TICK = os.sysconf("SC_CLK_TCK")
PATHS = {"tokens": "/query", "hashes": "/query_by_hash", "text": "/query"}


def started(words, pattern):
    """The process and what its output says of its address."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        found = re.search(pattern, line)
        if found:
            return process, found.group()
    raise SystemExit(f"{words[0]} {words[1]} ended before it said its address.")


def java_of(pid):
    """The launcher replaces itself by a JVM, after a while."""
    while not os.path.basename(os.readlink(f"/proc/{pid}/exe")).startswith("java"):
        time.sleep(0.05)
    return pid


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def hashes(tokens):
    """SGLang's names of the blocks."""
    names, digest = [], b""
    for at in range(0, len(tokens) - BLOCK + 1, BLOCK):
        digest = hashlib.sha256(digest + struct.pack(f"<{BLOCK}I", *tokens[at : at + BLOCK])).digest()
        names.append(int.from_bytes(digest[:8], "big"))
    return names


def bodies(kind, prompts):
    if kind == "tokens":
        return [json.dumps({"token_ids": prompt}, separators=(",", ":")).encode() for prompt in prompts]
    if kind == "hashes":
        return [json.dumps({"block_hashes": hashes(prompt)}, separators=(",", ":")).encode() for prompt in prompts]
    return [json.dumps({"text": " ".join(f"t{token}" for token in prompt)}).encode() for prompt in prompts]


def request(path, body):
    line = f"POST {path} HTTP/1.1" if body else f"GET {path} HTTP/1.1"
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{line}\r\nHost: localhost\r\n{length}\r\n".encode() + body


async def asked(url, due, start, requests, took, said):
    at = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    for number, offset in due:
        await asyncio.sleep(max(0, start + offset - time.perf_counter()))
        writer.write(requests[number % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        said.append((int(head.split(b" ")[1]), body))
        took.append((time.perf_counter() - start - offset) * 1e3)
    writer.close()


async def leg(sidecar, requests, rate, seconds):
    """Milliseconds of processor time for a query, MiB, and latencies of queries and of the other requests."""
    _, url, pid = sidecar
    count = max(2, int(rate * seconds))
    before = cpu(pid)
    await asyncio.sleep(seconds)
    idle = (cpu(pid) - before) / seconds
    for probing in (False, True):
        # Once without the other requests, for the processor time, and once with them.
        due = [(number, number / rate) for number in range(count)]
        took, said, other = [], [], []
        before, start = cpu(pid), time.perf_counter() + 0.05
        lanes = min(8, max(1, rate))
        tasks = [asked(url, due[lane::lanes], start, requests, took, said) for lane in range(lanes)]
        if probing:
            probes = [(number, number / 50) for number in range(int(count / rate * 50))]
            tasks.append(asked(url, probes, start, [request("/livez", b"")], other, []))
        else:
            began = time.perf_counter()
        await asyncio.gather(*tasks)
        if any(status != 200 for status, _ in said):
            return None
        if not probing:
            each = (cpu(pid) - before - idle * (time.perf_counter() - began)) / count * 1e3
    took.sort()
    other.sort()
    return (each, resident(pid), took[len(took) // 2], took[int(len(took) * 0.99)], other[int(len(other) * 0.99)],
            said[-1][1])


def shown(values):
    return f"{statistics.median(values):.2f} [{min(values):.2f}-{max(values):.2f}]"


async def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("arms", nargs="+", metavar="NAME=LAUNCHER")
    args.add_argument("--tokens", type=int, default=100_000)
    args.add_argument("--share", type=float, default=0.75)
    args.add_argument("--pairs", type=int, default=3)
    args.add_argument("--rates", default="1,10,50")
    args.add_argument("--kinds", default="tokens,hashes,text")
    args.add_argument("--seconds", type=float, default=10)
    args.add_argument("--warm", type=int, default=300, help="queries of each kind before the first pair")
    o = args.parse_args()
    arms = dict(arm.split("=", 1) for arm in o.arms)
    ids = random.Random(1)
    held = [ids.randrange(VOCABULARY) for _ in range(int(o.tokens * o.share) // BLOCK * BLOCK)]
    prompts = [held + [ids.randrange(VOCABULARY) for _ in range(o.tokens - len(held))] for _ in range(PROMPTS)]
    asks = {kind: [request(PATHS[kind], body) for body in bodies(kind, prompts)] for kind in o.kinds.split(",")}
    for kind, each in asks.items():
        print(f"{kind}: a request of {len(each[0]) / 1000:.0f} kB")
    with tempfile.TemporaryDirectory(prefix="holdfast-long-") as state:
        processes = []
        try:
            engine, address = started(
                [list(arms.values())[-1], "emulate", "--port", "0", "--events", "0", "--replay", "0", "--tokenizer",
                 "words", "--capacity-tokens", str(4 * o.tokens), "--context-tokens", str(2 * o.tokens),
                 "--prefill-us-per-token", "0", "--first-token-ms", "0"], r"http://[0-9.]+:\d+")
            processes.append(engine)
            sidecars = []
            for name, launcher in arms.items():
                config = pathlib.Path(state, f"{name}.yaml")
                config.write_text(f"listen: {{port: 0}}\nstateDirectory: '{state}/{name}'\nengines:\n"
                                  f"  main: {{type: sglang, url: '{address}', backend: dry_run, priming: false}}\n")
                process, url = started([launcher, "sidecar", "--config", str(config)], r"http://[0-9.]+:\d+")
                processes.append(process)
                sidecars.append((name, url, java_of(process.pid)))
            time.sleep(5)
            generate = json.dumps({"input_ids": held, "sampling_params": {"max_new_tokens": 1}}).encode()
            urllib.request.urlopen(urllib.request.Request(
                address + "/generate", generate, {"Content-Type": "application/json"})).read()
            time.sleep(3)
            rows = {}
            for kind, requests in asks.items():
                for sidecar in sidecars:
                    took, said = [], []
                    due = [(number, 0) for number in range(o.warm)]
                    await asked(sidecar[1], due, time.perf_counter(), requests, took, said)
                    print(f"{kind}, {sidecar[0]} answers {said[-1][1].decode()[:300]}", flush=True)
            for pair in range(o.pairs):
                for kind, requests in asks.items():
                    for rate in map(int, o.rates.split(",")):
                        for sidecar in sidecars if pair % 2 == 0 else sidecars[::-1]:
                            seen = await leg(sidecar, requests, rate, max(o.seconds, 20 / rate))
                            if seen:
                                rows.setdefault((kind, rate, sidecar[0]), []).append(seen)
            print("kind, a second | version | ms of processor time | MiB | p50 ms | p99 ms | p99 ms of others")
            for (kind, rate, name), seen in rows.items():
                print(f"{kind}, {rate} | {name} | " + " | ".join(shown([leg[i] for leg in seen]) for i in range(5)))
            first, *others = arms
            for (kind, rate, name), seen in rows.items():
                if name in others and len(rows.get((kind, rate, first), [])) == len(seen):
                    ratios = [leg[0] / max(base[0], 1e-9) for base, leg in zip(rows[kind, rate, first], seen)]
                    print(f"{kind}, {rate}: {name} takes {shown(ratios)} of {first}'s processor time")
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    asyncio.run(main())
