#!/usr/bin/env python3
"""The resident memory of a sidecar beside an emulated engine that holds many blocks; standard library only.

    weight.py [--blocks 0,100000,1000000] [--starts 5] 'NAME=LAUNCHER [JVM OPTION ...]' ...

Each LAUNCHER is the path of a ./holdfast, of this version or another; their sidecars start in turns, in an order that is
reversed each time, so that what else the machine does meets all of them. A sidecar is read when it holds all blocks of the
engine and has been left alone for --settle seconds. --nmt N prints the N largest parts by the JVM's own account, and costs
a little memory itself."""
import argparse
import collections
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PAGE = 16
PROMPT_BLOCKS = 128
PATIENCE = 600


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"weight: gave up waiting for {what}.")
        time.sleep(0.2)


def start(command, log, environment=None):
    """A child, and what its first lines on standard output say."""
    env = dict(os.environ)
    env.pop("HOLDFAST_JAVA_OPTS", None)
    env.update(environment or {})
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env)


class Engine:
    def __init__(self, launcher, blocks, log):
        tokens = max(blocks, 1000) * PAGE
        self.process = start(
            [launcher, "emulate", "--port", "0", "--events", "0", "--replay", "0", "--page-size", str(PAGE),
             "--capacity-tokens", str(tokens + 200_000), "--context-tokens", str(4 * PROMPT_BLOCKS * PAGE),
             "--chunked-prefill-size", str(PROMPT_BLOCKS * PAGE), "--prefill-us-per-token", "0",
             "--first-token-ms", "0", "--decode-ms", "0"],
            log, {"HOLDFAST_JAVA_OPTS": "-Xmx4g"})
        self.url = ""
        for line in self.process.stdout:
            found = re.search(r"http://[0-9.]+:\d+", line)
            if found:
                self.url = found.group()
                break
        if not self.url:
            sys.exit("weight: the emulated engine did not start; its log says why.")
        chance = random.Random(42)
        for _ in range(-(-blocks // PROMPT_BLOCKS)):
            prompt = [chance.randrange(1000, 100_000) for _ in range(PROMPT_BLOCKS * PAGE)]
            ask(self.url + "/generate", {"input_ids": prompt, "sampling_params": {"max_new_tokens": 1}})

    def stop(self):
        self.process.terminate()
        self.process.wait()


def memory(pid):
    """VmRSS, RssAnon, RssFile and Threads of a process; memory in MiB."""
    with open(f"/proc/{pid}/status") as status:
        rows = dict(line.split(":", 1) for line in status)
    figures = {key: int(rows[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon", "RssFile")}
    return figures | {"Threads": int(rows["Threads"])}


def parts(pid, most):
    out = subprocess.run(["jcmd", str(pid), "VM.native_memory", "summary"], capture_output=True, text=True).stdout
    found = re.findall(r"-\s+([\w ]+) \(reserved=\d+KB, committed=(\d+)KB", out)
    return sorted(((int(kb) // 1024, name.strip()) for name, kb in found), reverse=True)[:most]


def weigh(command, engine, blocks, arguments, log):
    with tempfile.TemporaryDirectory() as state:
        config = os.path.join(state, "holdfast.yaml")
        with open(config, "w") as file:
            file.write(f"listen: {{port: 0}}\nstateDirectory: {state}/state\n"
                       f"engines: {{main: {{type: sglang, url: '{engine.url}', backend: dry_run}}}}\n")
        launcher, *words = command.split()
        options = " ".join(words)
        if arguments.nmt:
            options += " -XX:NativeMemoryTracking=summary"
        begun = time.monotonic()
        sidecar = start([launcher, "sidecar", "--config", config], log, {"HOLDFAST_JAVA_OPTS": options})
        try:
            url = re.search(r"http://\S+", sidecar.stdout.readline()).group()
            wanted = -(-blocks // PROMPT_BLOCKS) * PROMPT_BLOCKS

            def follows():
                try:
                    seen = json.loads(ask(url + "/api/v1/engines/main"))
                    ask(url + "/readyz")
                except urllib.error.HTTPError:
                    return False
                return seen["events"]["connected"] and seen["blocks"] >= wanted

            until("the sidecar to hold what the engine holds", follows)
            ready = time.monotonic() - begun
            for _ in range(10):
                ask(url + "/metrics")
                time.sleep(arguments.settle / 10)
            figures = memory(sidecar.pid) | {"ready_s": ready}
            if arguments.nmt:
                print(json.dumps({"parts": parts(sidecar.pid, arguments.nmt)}), flush=True)
            return figures
        finally:
            sidecar.terminate()
            sidecar.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launchers", nargs="+", metavar="NAME=LAUNCHER")
    parser.add_argument("--blocks", default="0,100000,1000000")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--settle", type=float, default=20)
    parser.add_argument("--nmt", type=int, default=0)
    arguments = parser.parse_args()
    launchers = [launcher.split("=", 1) for launcher in arguments.launchers]
    with open("weight.log", "w") as log:
        for blocks in map(int, arguments.blocks.split(",")):
            engine = Engine(launchers[-1][1].split()[0], blocks, log)
            seen = collections.defaultdict(list)
            try:
                for turn in range(arguments.starts):
                    for name, launcher in launchers[:: -1 if turn % 2 else 1]:
                        figures = weigh(launcher, engine, blocks, arguments, log)
                        seen[name].append(figures)
                        print(json.dumps({"blocks": blocks, "name": name, "turn": turn} | figures), flush=True)
            finally:
                engine.stop()
            for name, _ in launchers:
                medians = {key: round(statistics.median(f[key] for f in seen[name]), 1) for key in seen[name][0]}
                spread = [round(edge(f["VmRSS"] for f in seen[name])) for edge in (min, max)]
                print(f"{blocks:>9} blocks  {name:10} {medians}  VmRSS {spread}", flush=True)


main()
