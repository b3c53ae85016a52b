#!/usr/bin/env python3
"""How long it takes until a sidecar that stands by holds again what a killed one held.

An emulated engine, and two sidecars with one configuration, the second with --standby. A prefix is held, the one that
serves is killed with kill -9, and another is started to stand by. Printed for each time: seconds from the kill until the
API answers again, and until the hold is held again in the engine; and how much processor time the one that took over
used for it, which a busy machine changes less.

usage: benchmarks/safety/takeover.py [--times 10] [--holdfast ./holdfast]
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(url, body=None):
    """Answers what an API says, or nothing where nobody does."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            text = answer.read().decode()
            return json.loads(text) if text else {}
    except urllib.error.HTTPError as e:
        return {"status": e.code, "text": e.read().decode()}
    except (OSError, ValueError):
        return None


def cpu_seconds(pid):
    """What a process has used so far, on all cores."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(what, look, seconds=120):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        seen = look()
        if seen:
            return seen, time.monotonic()
        time.sleep(0.02)
    raise SystemExit(f"never came: {what}")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--times", type=int, default=10)
    options.add_argument("--holdfast", default="./holdfast")
    told = options.parse_args()
    state = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-takeover-"))
    port, events, replay, api = free_port(), free_port(), free_port(), free_port()
    engine, sidecar = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{api}"
    (state / "holdfast.yaml").write_text(
        f"listen: {{port: {api}}}\nstateDirectory: {state}/state\nengines:\n"
        f"  demo: {{type: sglang, url: '{engine}', backend: pin_blocks, maxOutputTokens: 16,"
        f" largestPromptTokens: 1024}}\n"
    )
    log = open(state / "log", "w")
    running = []

    def start(*words):
        process = subprocess.Popen([told.holdfast, *words], stdout=log, stderr=log)
        running.append(process)
        return process

    def sidecars(*words):
        return start("sidecar", "--config", str(state / "holdfast.yaml"), *words)

    prefix = [1000 + i for i in range(512)]
    try:
        start(
            "emulate", "--variant", "pin-gpu", "--port", str(port), "--capacity-tokens", "4096",
            "--events", f"tcp://127.0.0.1:{events}", "--replay", f"tcp://127.0.0.1:{replay}",
        )
        until("the engine", lambda: call(f"{engine}/v1/models"))
        serving = sidecars()
        until("the sidecar", lambda: "status" not in (call(f"{sidecar}/readyz") or {"status": 0}))
        call(f"{engine}/generate", {"input_ids": prefix, "sampling_params": {"max_new_tokens": 1}})
        held = call(f"{sidecar}/api/v1/engines/demo/holds", {"tokens": prefix, "leaseSeconds": 86400})
        hold = f"{sidecar}/api/v1/engines/demo/holds/{held['id']}"
        until("the hold", lambda: (call(hold) or {}).get("state") == "held")
        serves, holds, used = [], [], []
        for time_number in range(told.times):
            standing_by = sidecars("--standby")
            until("one stands by", lambda: (state / "log").read_text().count("stands by") > time_number)
            time.sleep(1)
            begin, before = time.monotonic(), cpu_seconds(standing_by.pid)
            serving.send_signal(signal.SIGKILL)
            serving.wait()
            _, answered = until("an answer", lambda: call(f"{sidecar}/livez") is not None)
            _, back = until("the hold is held again", lambda: (call(hold) or {}).get("state") == "held")
            serves.append(answered - begin)
            holds.append(back - begin)
            used.append(cpu_seconds(standing_by.pid) - before)
            print(
                f"{time_number + 1:3}  serves after {serves[-1]:5.2f} s, holds after {holds[-1]:5.2f} s,"
                f" {used[-1]:.2f} s of processor time",
                flush=True,
            )
            serving = standing_by
        print(
            f"{told.times} times: serves after {statistics.median(serves):.2f} s (at most {max(serves):.2f}),"
            f" holds after {statistics.median(holds):.2f} s (at most {max(holds):.2f}),"
            f" {statistics.median(used):.2f} s of processor time (at most {max(used):.2f})"
        )
    finally:
        for process in reversed(running):
            if process.poll() is None:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
