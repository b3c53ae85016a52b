#!/usr/bin/env python3
"""What POST /query costs beside a route that reads and parses the same body and answers a constant.

query.py SIDECAR-PID SIDECAR-URL CONSTANT-PID CONSTANT-URL [--rate 1000] [--seconds 10] [--pairs 5]

Both are asked at the same rate by connections that stay open, in turns whose order is reversed with each pair. Printed are
the CPU time of each process for one query (/proc/PID/stat, less what the process took in as many seconds in which nobody asked
it: a sidecar follows its engines all the time) and latencies from the time at which a request was due, by pair,
and the medians of the paired ratios: on a machine that does other work nothing else is worth reading.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
import urllib.parse

args = argparse.ArgumentParser()
args.add_argument("sidecar_pid")
args.add_argument("sidecar")
args.add_argument("constant_pid")
args.add_argument("constant")
args.add_argument("--rate", type=int, default=1000)
args.add_argument("--seconds", type=float, default=10)
args.add_argument("--pairs", type=int, default=5)
args.add_argument("--connections", type=int, default=16)
o = args.parse_args()
BODY = json.dumps({"token_ids": list(range(1000, 1000 + 2048))}).encode()


def cpu(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def lane(url, due, start, took):
    at = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    head = (
        f"POST /query HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(BODY)}\r\n\r\n"
    ).encode()
    for offset in due:
        await asyncio.sleep(max(0, start + offset - time.perf_counter()))
        writer.write(head + BODY)
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{url} answered {answer[:60]}")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took.append(time.perf_counter() - start - offset)
    writer.close()


async def leg(pid, url):
    count = int(o.rate * o.seconds)
    due = [i / o.rate for i in range(count)]
    took = []
    before = cpu(pid)
    await asyncio.sleep(o.seconds)
    idle = cpu(pid) - before
    before, start = cpu(pid), time.perf_counter() + 0.05
    await asyncio.gather(*(lane(url, due[i :: o.connections], start, took) for i in range(o.connections)))
    took.sort()
    return (cpu(pid) - before - idle) / count * 1e6, took[len(took) // 2] * 1e3, took[int(len(took) * 0.99)] * 1e3


async def main():
    pairs = []
    for pair in range(-1, o.pairs):
        order = [(o.sidecar_pid, o.sidecar), (o.constant_pid, o.constant)]
        legs = {}
        for pid, url in order if pair % 2 else order[::-1]:
            legs[url] = await leg(pid, url)
        if pair >= 0:
            query, constant = legs[o.sidecar], legs[o.constant]
            pairs.append((query, constant))
            print(
                f"pair {pair + 1}: query {query[0]:.0f} us CPU, {query[1]:.2f} ms, p99 {query[2]:.2f} ms;"
                f" constant {constant[0]:.0f} us CPU, {constant[1]:.2f} ms, p99 {constant[2]:.2f} ms",
                flush=True,
            )
    for index, name in enumerate(("CPU per query", "median latency", "p99 latency")):
        print(f"{name}: {statistics.median(q[index] / c[index] for q, c in pairs):.2f} x")


asyncio.run(main())
