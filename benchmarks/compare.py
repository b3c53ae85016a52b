#!/usr/bin/env python3
"""Our index and others on the same workload files, in turns; standard library only.

    compare.py --peers BIN --data DIR [--files syn-w1,syn-w8,...] [--arms holdfast,chain20] [--pairs 5] [--mode bench|mem|check]

Each arm runs in a fresh process; every second pair runs them in reversed order, so that what else the machine does meets all
of them. Each line that an arm prints is appended to --out as JSON. At the end: medians, and medians of the ratios within
pairs with their range; above 1 the first arm is ahead, or for the percentile of the queries, slower."""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHOWN = {
    "bench": ["mops_cpu", "qps_cpu", "p99_ns", "mops", "qps", "first_s"],
    "mem": ["bytes_a_membership"],
    "check": [],
}


def figures(line):
    return dict(pair.split("=", 1) for pair in line.split() if "=" in pair)


def run(arm, arguments, name):
    path = os.path.join(arguments.data, name + ".kvwl")
    command = [os.path.join(HERE, "measure"), "index"] if arm == "holdfast" else [arguments.peers, arm]
    done = subprocess.run(command + [arguments.mode, path], capture_output=True, text=True)
    found = [figures(line) for line in done.stdout.splitlines() if line.startswith("impl=")]
    if done.returncode or not found:
        sys.exit(f"compare: {arm} failed on {path}:\n{done.stderr}")
    seen = found[-1]
    if arguments.mode == "mem":
        with open(path + ".held") as held:
            seen["bytes_a_membership"] = int(seen.get("heap_delta", seen["rss_delta"])) / int(held.read())
    return seen


def summary(rows, arms, mode):
    checks = {row["check"] for row in rows.values() if "check" in row}
    lines = [f"answers: {'all equal, ' + checks.pop() if len(checks) == 1 else sorted(checks)}"] if checks else []
    pairs = sorted({pair for pair, _ in rows})
    for key in SHOWN[mode]:
        medians = [statistics.median(float(rows[pair, arm][key]) for pair in pairs) for arm in arms]
        line = f"{key:18} " + "  ".join(f"{arm} {value:,.4g}" for arm, value in zip(arms, medians))
        for other in arms[1:]:
            ratios = [float(rows[pair, arms[0]][key]) / float(rows[pair, other][key]) for pair in pairs]
            line += f"  /{other} {statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]"
        lines.append(line)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, metavar="BIN")
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--files", default="syn-w1,syn-w8,syn-w64,moon-w8")
    parser.add_argument("--arms", default="holdfast,chain20")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--mode", choices=SHOWN, default="bench")
    parser.add_argument("--out", default="compare.jsonl")
    arguments = parser.parse_args()
    arms = arguments.arms.split(",")
    for name in arguments.files.split(","):
        rows = {}
        for pair in range(arguments.pairs):
            for arm in arms[:: -1 if pair % 2 else 1]:
                rows[pair, arm] = run(arm, arguments, name)
                with open(arguments.out, "a") as out:
                    out.write(json.dumps({"file": name, "pair": pair, "arm": arm} | rows[pair, arm]) + "\n")
        print(f"\n{name}", *summary(rows, arms, arguments.mode), sep="\n  ", flush=True)


main()
