"""Two emulated engines with a sidecar each, over a real Valkey, and a watch over what they hold; for wire-cut and clock-off."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

FLEET_TOKENS, OWN_TOKENS = 512, 256
SIGHT = 23  # seconds for which a member's view counts without a good round


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(url, body=None):
    """What an API says, or nothing where nobody does."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as e:
        return {"status": e.code, "text": e.read().decode()}
    except (OSError, ValueError):
        return None
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def until(what, look, seconds=180, bench=None):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        seen = look()
        if seen:
            return seen
        if bench and any(process.poll() is not None for process in bench.running):
            raise SystemExit(f"a process ended before {what} came; the logs are in {bench.state}")
        time.sleep(0.1)
    raise SystemExit(f"never came: {what}")


class Bench:
    """Processes that this script started, which end with it."""

    def __init__(self, holdfast, valkey):
        self.holdfast, self.valkey = holdfast, valkey
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-fleet-"))
        self.running = []
        self.begin = time.monotonic()

    def start(self, name, words, environment=None):
        log = open(self.state / f"{name}.log", "w")
        process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, **(environment or {})})
        self.running.append(process)
        return process

    def say(self, sentence):
        print(f"{time.monotonic() - self.begin:6.1f} s  {sentence}", flush=True)

    def close(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self.running):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Node:
    """One engine with its sidecar."""

    def __init__(self, bench, name, store, peer_ports, environment=None):
        self.bench, self.name, self.port, self.api = bench, name, free_port(), peer_ports[name]
        events, replay = free_port(), free_port()
        self.engine, self.sidecar = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.api}"
        bench.start(
            f"engine-{name}",
            [
                bench.holdfast, "emulate", "--variant", "pin-gpu", "--port", str(self.port),
                "--capacity-tokens", "8192", "--context-tokens", "2048",
                "--events", f"tcp://127.0.0.1:{events}", "--replay", f"tcp://127.0.0.1:{replay}",
            ],
        )
        until(f"engine {name}", lambda: call(f"{self.engine}/v1/models"), bench=bench)
        peers = ", ".join(f"'127.0.0.1:{port}'" for port in peer_ports.values())
        config = bench.state / f"{name}.yaml"
        config.write_text(
            f"listen: {{port: {self.api}}}\nstateDirectory: {bench.state}/{name}\n"
            f"fleet: {{store: '{store}', address: '{self.sidecar}', peers: [{peers}], warmSeconds: 0}}\n"
            f"engines:\n  main: {{type: sglang, url: '{self.engine}', backend: pin_blocks, maxOutputTokens: 16,"
            f" largestPromptTokens: 2048}}\n"
        )
        bench.start(f"sidecar-{name}", [bench.holdfast, "sidecar", "--config", str(config)], environment)

    def meet(self):
        """Waits until the sidecar knows all of the engine's cache, which is emptied for that."""
        ready = f"{self.sidecar}/readyz"
        until(f"sidecar {self.name}", lambda: "status" not in (call(ready) or {"status": 0}), bench=self.bench)
        view = f"{self.sidecar}/api/v1/engines/main"
        until("its events", lambda: self.generate(40_000, 32) and (call(view) or {}).get("blocks"))
        until("an empty cache", lambda: call(f"{self.engine}/flush_cache", {}) is not None)
        until("a certain view", lambda: (call(view) or {}).get("certain") and call(view)["blocks"] == 0)

    def generate(self, first, tokens):
        body = {"input_ids": list(range(first, first + tokens)), "sampling_params": {"max_new_tokens": 1}}
        return call(f"{self.engine}/generate", body)

    def look(self):
        """The engine's own word on what is pinned, the sidecar's on its budget, and what it knows of the fleet."""
        pinned = re.search(r"(?m)^sglang:num_used_tokens(?:\{[^}]*\})? (\S+)$", str(call(f"{self.engine}/metrics")))
        view = call(f"{self.sidecar}/api/v1/engines/main") or {}
        fleet = call(f"{self.sidecar}/api/v1/fleet") or {}
        cell = (fleet.get("cells") or [{}])[0]
        here = (cell.get("here") or [{}])[0]
        return {
            "pinned": float(pinned.group(1)) if pinned else None,
            "budget": (view.get("budget") or {}).get("hardTokens"),
            "engines": len(cell.get("engines") or []),
            "ago": here.get("lastGoodRoundSecondsAgo"),
            "failed": here.get("failedRounds", 0),
            "rounds": here.get("rounds", 0),
        }


class Watch(threading.Thread):
    """Looks at all nodes twice a second, and says what changed."""

    def __init__(self, bench, nodes):
        super().__init__(daemon=True)
        self.bench, self.nodes = bench, nodes
        self.last = {node.name: None for node in nodes}
        self.looks, self.over = 0, []
        self.most = {node.name: 0.0 for node in nodes}
        self.changes = []
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(0.5):
            for node in self.nodes:
                self.once(node)

    def once(self, node):
        seen = node.look()
        if seen["pinned"] is None or seen["budget"] is None:
            return
        self.looks += 1
        self.most[node.name] = max(self.most[node.name], seen["pinned"])
        if seen["pinned"] > seen["budget"]:
            self.over.append((node.name, seen))
        short = (seen["pinned"], seen["engines"])
        if short != self.last[node.name]:
            self.last[node.name] = short
            self.changes.append((time.monotonic(), node.name, *short))
            ago = "" if seen["ago"] is None else f", its last good round began {seen['ago']:.0f} s ago"
            self.bench.say(
                f"{node.name}: {seen['pinned']:.0f} tokens held of at most {seen['budget']:.0f},"
                f" sees {seen['engines']} engine(s){ago}"
            )

    def seen(self, pinned=None, engines=None):
        return all(
            last is not None and (pinned is None or last[0] == pinned) and (engines is None or last[1] == engines)
            for last in self.last.values()
        )

    def after(self, moment, pinned=None, engines=None):
        """By node, seconds from a moment until it first held, or saw, so much."""
        first = {}
        for at, name, its_pinned, its_engines in self.changes:
            fits = (pinned is None or its_pinned == pinned) and (engines is None or its_engines == engines)
            if at >= moment and fits and name not in first:
                first[name] = round(at - moment, 1)
        return first

    def end(self):
        self.stopped.set()
        self.join(20)
        for node in self.nodes:
            seen = node.look()
            self.bench.say(
                f"{node.name}: never more than {self.most[node.name]:.0f} tokens held, budget {seen['budget']:.0f};"
                f" {seen['rounds']} rounds, {seen['failed']} of them without an answer"
            )
        self.bench.say(f"{self.looks} looks at the engines, beyond a budget: {len(self.over)} {self.over[:3]}")
        return not self.over


def fleet_of_two(bench, store, environments=None):
    """Two nodes that hold one prefix for the fleet, and each a prefix of its own that somebody requested there."""
    ports = {"a": free_port(), "b": free_port()}
    nodes = [Node(bench, name, store, ports, (environments or {}).get(name)) for name in ports]
    for node in nodes:
        node.meet()
    watch = Watch(bench, nodes)
    watch.start()
    for number, node in enumerate(nodes):
        first = 20_000 + 1_000 * number
        node.generate(first, OWN_TOKENS)
        held = {"tokens": list(range(first, first + OWN_TOKENS)), "leaseSeconds": 86400}
        until("a hold", lambda: "id" in (call(f"{node.sidecar}/api/v1/engines/main/holds", held) or {}))
    until("both see both", lambda: watch.seen(engines=2))
    nodes[0].generate(1_000, FLEET_TOKENS)
    asked = {"tokens": list(range(1_000, 1_000 + FLEET_TOKENS)), "copies": 2, "leaseSeconds": 7200}
    hold = call(f"{nodes[0].sidecar}/api/v1/fleet/holds", asked)
    bench.say(f"a hold of the fleet, {FLEET_TOKENS} tokens on both; beside it {OWN_TOKENS} that each holds for itself")
    if "id" not in hold:
        raise SystemExit(f"no hold: {hold}")
    # The second engine asks the first sidecar for the tokens; it never saw the prompt.
    until("both hold", lambda: watch.seen(pinned=FLEET_TOKENS + OWN_TOKENS))
    return nodes, watch
