#!/usr/bin/env python3
"""Packs the frames of recorded sessions for `benchmarks/measure decode`: pack-frames.py RECORDING OUT.frames.gz

A recording is JSON lines, gzipped or not. vLLM: lines of type `frame`, whose `frames` are a message's parts in hex, the
payload last. SGLang: lines with `frames`, each with `seq_hex` and `payload_hex`. A sequence that was seen is a replay and
is left out. Written: the number of payloads, then each after its length, big endian, gzipped without a time stamp."""
import gzip
import json
import struct
import sys


def payloads(path):
    seen = -1
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("type") == "frame":
                parts = [(record["seq"], record["frames"][-1])]
            elif "type" in record:
                continue
            else:
                parts = [(int(f["seq_hex"], 16), f["payload_hex"]) for f in record.get("frames", [])]
            for seq, payload in parts:
                if seq > seen:
                    seen = seq
                    yield bytes.fromhex(payload)


def main(recording, out):
    found = list(payloads(recording))
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:
        packed.write(struct.pack(">i", len(found)))
        for payload in found:
            packed.write(struct.pack(">i", len(payload)) + payload)
    print(f"{out}: {len(found)} frames, {sum(map(len, found))} bytes")


main(*sys.argv[1:])
