#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The connector in a running vLLM server: one JSON line for each figure. Standard library only.

    real.py URL SECRET_FILE [SCENARIO...]     all of them when none is named

The server needs the connector, --enable-prompt-tokens-details, and for `reset` also
VLLM_SERVER_DEV_MODE=1. It should be small (some hundred blocks) and serve nothing else meanwhile.
Processes are looked for on this machine only (idle).
"""

import hashlib
import hmac
import http.client
import json
import os
import random
import struct
import sys
import threading
import time
import urllib.parse

rnd = random.Random()
failed = 0


class Server:
    def __init__(self, url, secret_file):
        self.at = urllib.parse.urlsplit(url)
        self.secret = open(secret_file, encoding="utf-8").read().strip().encode()
        model = json.loads(self.http("GET", "/v1/models")[1])["data"][0]
        self.model, self.longest = model["id"], model["max_model_len"]
        seen = self.ask("list")
        self.total, self.most, self.block = (
            seen["blocks_total"], seen["blocks_most"], seen["block_size"])

    def http(self, method, path, body=None, timeout=600):
        c = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=timeout)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        c.request(method, path, body, {"Content-Type": "application/json"})
        r = c.getresponse()
        data = r.read().decode("utf-8", "replace")
        c.close()
        return r.status, data

    def complete(self, tokens, max_tokens=1, holdfast=None, **kw):
        body = {"model": self.model, "prompt": tokens, "max_tokens": max_tokens, "temperature": 0,
                "ignore_eos": True, **kw}
        if holdfast is not None:
            body["kv_transfer_params"] = {"holdfast": holdfast}
        start = time.monotonic()
        status, data = self.http("POST", "/v1/completions", body)
        out = {"status": status, "s": round(time.monotonic() - start, 3)}
        if status == 200:
            answer = json.loads(data)
            details = answer["usage"].get("prompt_tokens_details") or {}
            out["cached"] = details.get("cached_tokens") or 0
            out["text"] = answer["choices"][0]["text"]
            out["holdfast"] = (answer.get("kv_transfer_params") or {}).get("holdfast")
        else:
            out["error"] = data[:300]
        return out

    def words(self, op, tokens=(), at=None, **kw):
        at = int(time.time() * 1000) if at is None else at
        lines = ["holdfast/1", op, str(at)]
        if op == "hold":
            packed = struct.pack(f"<{len(tokens)}I", *tokens)
            lines += [kw["id"], str(kw["ttl"]), hashlib.sha256(packed).hexdigest()]
        if op == "release":
            lines.append(",".join(kw["ids"]))
        text = "\n".join(lines).encode()
        proof = hmac.new(self.secret, text, hashlib.sha256).hexdigest()
        return {"v": 1, "op": op, "at": at, "proof": proof, **kw}

    def ask(self, op, tokens=(5, 6, 7), **kw):
        time.sleep(0.002)  # the same words in the same millisecond are a replay
        tokens = list(tokens)
        return self.complete(tokens, holdfast=self.words(op, tokens, **kw))["holdfast"]

    def hold(self, tokens, id="a", ttl=600):
        return self.ask("hold", tokens, id=id, ttl=ttl)

    def clear(self):
        return self.ask("release", ids=["*"])

    def cached(self, tokens):
        return self.complete(tokens)["cached"]

    def used(self):
        for line in self.http("GET", "/metrics")[1].splitlines():
            if line.startswith("vllm:kv_cache_usage_perc"):
                return round(float(line.rsplit(" ", 1)[1]) * self.total, 1)

    def prompt(self, blocks, extra=1):
        return [rnd.randrange(200, 1000) for _ in range(blocks * self.block + extra)]

    def flood(self, times=1.5, blocks=20, at_once=4):
        n = int(times * self.total / blocks) + 1
        return self.burst([self.prompt(blocks) for _ in range(n)], at_once)

    def burst(self, prompts, at_once, max_tokens=1):
        left, bad = list(prompts), []

        def client():
            while left:
                try:
                    p = left.pop()
                except IndexError:
                    return
                if self.complete(p, max_tokens)["status"] != 200:
                    bad.append(1)

        start = time.monotonic()
        clients = [threading.Thread(target=client) for _ in range(at_once)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        return {"prompts": len(prompts), "errors": len(bad), "s": round(time.monotonic() - start, 1)}


def say(what, right, **kw):
    global failed
    failed += not right
    print(json.dumps({"what": what, "right": bool(right), **kw}), flush=True)


def survive(s):
    s.clear()
    p, control = s.prompt(16), s.prompt(16)
    answer = s.hold(p)
    s.complete(control)
    found = []
    for _ in range(20):
        s.flood(1.5)
        found.append(s.cached(p))
    say("survive", min(found) == 16 * s.block, held=answer, floods=20, times=1.5,
        cached_of=16 * s.block, cached_least=min(found), control=s.cached(control))
    size = int(2.4 * s.total / 30)
    b = s.burst([s.prompt(size) for _ in range(30)], 30, max_tokens=8)
    seen = s.ask("list")
    say("burst", s.cached(p) == 16 * s.block and "a" in seen["holds"], **b, blocks_each=size,
        cached=s.cached(p), gave_way=seen["gave_way"] - answer["gave_way"])


def release(s):
    s.clear()
    p = s.prompt(16)
    s.hold(p)
    s.flood()
    before, start = s.cached(p), time.monotonic()
    answer = s.ask("release", ids=["a"])
    took = round(time.monotonic() - start, 3)
    used = s.used()
    s.flood()
    say("release", (before, answer["released"], answer["blocks_held"], s.cached(p)) == (
        16 * s.block, 1, 0, 0), before=before, answer=answer, s=took, used=used)


def lapse(s):
    s.clear()
    p = s.prompt(16)
    start = time.monotonic()
    s.hold(p, ttl=10)
    s.flood(1.5)
    within, age = s.cached(p), time.monotonic() - start
    while time.monotonic() - start < 12:
        time.sleep(0.5)
    idle = s.used()
    s.complete([5, 6])
    used = s.used()
    s.flood(1.5)
    say("lapse", age < 10 and within == 16 * s.block and used == 0 and s.cached(p) == 0,
        ttl=10, age_of_hit=round(age, 1), hit=within, used_idle=idle, used_after_any_request=used)


def renew(s):
    s.clear()
    p = s.prompt(16)
    most = max(s.hold(p)["blocks_held"] for _ in range(50))
    say("renew", most == 16 and s.used() == 16, times=50, blocks_most=most, used=s.used())
    s.clear()


def share(s):
    s.clear()
    answers = [s.hold(s.prompt(8), f"h{i}") for i in range(s.most // 8 + 3)]
    refused = [a.get("refused") for a in answers if a.get("refused")]
    last = answers[-1]
    say("share", refused == ["share"] * 3 and last["blocks_held"] <= s.most, refused=refused, last=last)
    s.clear()


def shapes(s):
    """Every endpoint and form in which a hold is asked for; the proof needs the tokens."""
    s.clear()
    for path, stream in (("/v1/completions", False), ("/v1/completions", True)):
        p = s.prompt(4)
        status, data = s.http("POST", path, {
            "model": s.model, "prompt": p, "max_tokens": 1, "temperature": 0, "stream": stream,
            "kv_transfer_params": {"holdfast": s.words("hold", p, id="shape", ttl=60)}})
        seen = s.ask("list")["holds"].get("shape")
        say("shapes", status == 200 and seen and seen[0] == 4, path=path, stream=stream,
            answered='"holdfast"' in data, held=seen)
        s.clear()


def giveway(s):
    """The largest legal request beside a full share, one that a few holds stand in the way of, and
    one that outgrows what is left while it runs."""
    alone = s.complete(s.prompt(0, s.longest - 1))["s"]

    def fill():
        s.clear()
        for i in range(s.most // 8):
            s.hold(s.prompt(8), f"h{i}")
        return s.ask("list")

    before = fill()
    r = s.complete(s.prompt(0, s.longest - 1))
    after = s.ask("list")
    say("giveway largest", r["status"] == 200 and r["s"] < alone + 2, tokens=s.longest - 1,
        held=before["blocks_held"], s=r["s"], s_without_holds=alone,
        gave_way=after["gave_way"] - before["gave_way"], left=len(after["holds"]))
    before = fill()
    free = s.total - before["blocks_held"]
    r = s.complete(s.prompt(free + 10, 0))
    after = s.ask("list")
    n = after["gave_way"] - before["gave_way"]
    say("giveway some", r["status"] == 200 and n == 2 and "h0" not in after["holds"]
        and "h2" in after["holds"], s=r["s"], gave_way=n, left=len(after["holds"]))
    before = fill()
    tokens = min(s.longest, (free + 3) * s.block) - (free - 2) * s.block
    r = s.complete(s.prompt(free - 2, 0), max_tokens=tokens)
    after = s.ask("list")
    say("giveway outgrows", r["status"] == 200, s=r["s"], max_tokens=tokens,
        gave_way=after["gave_way"] - before["gave_way"], left=len(after["holds"]))
    s.clear()


def junk(depth=0):
    pick = rnd.randrange(9 if depth < 4 else 6)
    return (None if pick == 0 else rnd.random() < 0.5 if pick == 1
            else rnd.choice((0, 1, -1, 2**31, 2**53, 2**63, 2**64, -(2**65), 10**400)) if pick == 2
            else rnd.choice((0.5, -1.5, 1e308)) if pick == 3
            else rnd.choice(("", "hold", "*", "é\x00\n", "x" * 20_000)) if pick == 4
            else "%064x" % rnd.getrandbits(256) if pick == 5
            else [junk(depth + 1) for _ in range(rnd.randrange(6))] if pick == 6
            else {rnd.choice(("v", "op", "id", "proof", "")): junk(depth + 1) for _ in range(4)}
            if pick == 7 else [rnd.choice(("a", 1))] * rnd.choice((1000, 5000)))


def too_big(value):
    """A whole number that vLLM cannot hand to its engine: 0.32 answers 400 to it, 0.22 500."""
    if isinstance(value, (dict, list)):
        return any(map(too_big, value.values() if isinstance(value, dict) else value))
    return type(value) is int and not -(2**63) <= value < 2**64


def abuse(s, n=3000):
    s.clear()
    asked = [s.prompt(rnd.randrange(1, 4)) for _ in range(30)]
    plain = [s.complete(p, 16)["text"] for p in asked]
    statuses, refused, differ, odd, old, lock = {}, {}, [], [], [], threading.Lock()
    left = iter(range(n))

    def client():
        while True:
            with lock:
                i = next(left, None)
            if i is None:
                return
            k = rnd.randrange(len(asked))
            p, kind = asked[k], rnd.randrange(6)
            if kind == 0:
                field = junk()
            elif kind == 1 and old:
                field = rnd.choice(old)
            else:
                at = int(time.time() * 1000) - rnd.choice((0, 0, 0, 400_000)) + i
                field = s.words("hold", p, at, id=f"h{i % 50}", ttl=rnd.randrange(1, 99)) if kind < 4 \
                    else s.words("release", at=at, ids=[f"h{i % 50}"]) if kind == 4 \
                    else s.words("list", at=at)
                if rnd.random() < 0.6:
                    field[rnd.choice(("v", "op", "at", "id", "ttl", "ids", "proof"))] = junk()
                else:
                    old.append(field)
            r = s.complete(p, 16, field)
            with lock:
                statuses[r["status"]] = statuses.get(r["status"], 0) + 1
                if (r["status"] == 200) == too_big(field):
                    odd.append(r)
                if r["status"] == 200:
                    why = str((r["holdfast"] or {}).get("refused"))
                    refused[why] = refused.get(why, 0) + 1
                    if r["text"] != plain[k]:
                        differ.append(k)

    start = time.monotonic()
    clients = [threading.Thread(target=client) for _ in range(8)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    took = round(time.monotonic() - start, 1)
    again = [s.complete(p, 16)["text"] for p in asked]
    s.clear()
    healthy, used = s.http("GET", "/health")[0], s.used()
    say("abuse", healthy == 200 and used == 0 and not odd and not differ, bodies=n, s=took,
        statuses=statuses, too_big_for_vllm=n - statuses.get(200, 0), odd=odd[:3], answers=refused,
        differ=len(differ),
        differ_alone=sum(a != b for a, b in zip(plain, again)), used_at_the_end=used)


def reset(s):
    s.clear()
    p = s.prompt(16)
    s.hold(p)
    status, data = s.http("POST", "/reset_prefix_cache")
    say("reset", status == 200 and s.cached(p) == 0 and not s.ask("list")["holds"], status=status,
        body=data[:200])
    for path in ("/pause?mode=wait&clear_cache=true", "/pause?mode=abort&clear_cache=true"):
        s.hold(p)
        busy = threading.Thread(target=lambda: s.complete(s.prompt(10), 200))
        busy.start()
        time.sleep(0.5)
        paused = s.http("POST", path)
        resumed = s.http("POST", "/resume")
        busy.join()
        healthy = s.http("GET", "/health")[0]
        say("reset by pause", healthy == 200, path=path, paused=paused, resumed=resumed,
            cached_after=s.cached(p) if healthy == 200 else None)


def idle(s, seconds=10):
    """CPU of the engine's processes, at rest, without holds and with them."""
    def times():
        found, hz = {}, os.sysconf("SC_CLK_TCK")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                name = open(f"/proc/{pid}/cmdline").read().replace("\0", " ")
                stat = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if "VLLM::" in name or "vllm serve" in name:
                found[f"{name.split(' ')[0].rsplit('/', 1)[-1]} {pid}"] = (
                    (int(stat[11]) + int(stat[12])) / hz)
        return found

    def rest():
        time.sleep(2)
        a, start = times(), time.monotonic()
        time.sleep(seconds)
        b, took = times(), time.monotonic() - start
        return {k: round((b[k] - a[k]) / took, 4) for k in a if k in b}

    s.clear()
    without = rest()
    for i in range(s.most // 8):
        s.hold(s.prompt(8), f"h{i}")
    say("idle", True, cores_without=without, cores_with=rest(), held=s.ask("list")["blocks_held"])
    s.clear()


ALL = (share, renew, shapes, release, lapse, giveway, idle, reset, survive, abuse)

if __name__ == "__main__":
    server = Server(*sys.argv[1:3])
    say("server", True, model=server.model, blocks=server.total, most=server.most,
        block_size=server.block, longest=server.longest)
    for scenario in ALL:
        if not sys.argv[3:] or scenario.__name__ in sys.argv[3:]:
            scenario(server)
    sys.exit(1 if failed else 0)
