#!/usr/bin/env python3
"""What a sidecar costs, and whether it stays what it is, beside engines that publish blocks; standard library only.

    load.py soak [--minutes 40] [--engines 8] [--blocks 30000] [--seed 1] [--cached 2048]
    load.py cost [--minutes 3] [--blocks 10000] [--pairs 3] [--cached 2048] NAME=LAUNCHER [NAME=LAUNCHER]

The engines are event sockets and a few HTTP routes in another process (StreamPublishers of benchmarks.jar); the sidecars
only observe (backend: dry_run), with automatic holds on, so that all of it works.

soak: one sidecar; engines are restarted and lose batches by the seed. One line each half minute: resident memory, open
files, threads, and the longest time that the event thread took to come round (from the API, asked ten times a second). It
fails when memory or files of the last third are more than those of the third after the warm-up, by more than a twentieth and
by more than 8, or when a round took longer than --most-lag seconds.

cost: processor time and memory with one engine and with eight, which publish so many blocks a second in all. With two
launchers, such as this version and another, both are measured in turns, the order reversed with each pair, and the medians
of the paired ratios are printed: on a machine that does other work, nothing else is worth reading. The first minute of each
run is not counted.

--cached is how many blocks each engine's cache holds: what a sidecar remembers of an engine goes with that."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")


def ask(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


class Engines:
    """So many of them in one process, silent until they are told to go."""

    def __init__(self, told, count, seed):
        java = os.environ.get("HOLDFAST_JAVA_HOME")
        words = [f"{java}/bin/java" if java else "java", "-Xmx512m", "-cp", told.jar,
                 "io.holdfast.benchmarks.StreamPublishers", str(count), str(told.blocks), str(seed), str(told.cached)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.places = [self.process.stdout.readline().split() for _ in range(count)]

    def go(self):
        self.process.stdin.write("g")
        self.process.stdin.flush()

    def stop(self):
        self.process.kill()
        self.process.wait()


class Sidecar:
    def __init__(self, launcher, engines, log):
        self.state = tempfile.TemporaryDirectory(prefix="holdfast-load-")
        config = pathlib.Path(self.state.name, "holdfast.yaml")
        lines = ["listen: {port: 0}", f"stateDirectory: '{self.state.name}/state'", "engines:"]
        for number, (events, replay, http) in enumerate(engines.places):
            lines.append(f"  e{number}: {{type: sglang, url: '{http}', events: '{events}', replay: '{replay}',"
                         " backend: dry_run, automaticHolds: true}")
        config.write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen([launcher, "sidecar", "--config", str(config)], stdout=subprocess.PIPE,
                                        stderr=log, text=True)
        self.url = next(found.group() for line in self.process.stdout
                        if (found := re.search(r"http://[0-9.]+:\d+", line)))
        self.pid = self.process.pid
        while not os.path.basename(os.readlink(f"/proc/{self.pid}/exe")).startswith("java"):
            # A launcher that is a script and stays there: the one that serves is below it.
            below = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            self.pid = int(below[0])

    def cpu(self):
        """Seconds of processor time so far, of all threads and of the event thread."""
        def seconds(stat):
            fields = stat.read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / TICK
        root = pathlib.Path(f"/proc/{self.pid}")
        events = [task for task in (root / "task").iterdir()
                  if (task / "comm").read_text().startswith("holdfast-events")]
        return seconds(root / "stat"), sum(seconds(task / "stat") for task in events)

    def look(self):
        """Resident memory in MiB, open files, threads."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return (int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024,
                len(os.listdir(f"/proc/{self.pid}/fd")),
                int(re.search(r"Threads:\s+(\d+)", status).group(1)))

    def metric(self, name):
        return sum(float(line.rsplit(" ", 1)[1]) for line in ask(self.url + "/metrics").splitlines()
                   if line.startswith(name))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.state.cleanup()


class Lag(threading.Thread):
    """Asks again and again how long ago the event thread came round."""

    def __init__(self, sidecar):
        super().__init__(daemon=True)
        self.sidecar, self.worst, self.all, self.going = sidecar, 0.0, [], True

    def run(self):
        while self.going:
            try:
                lag = self.sidecar.metric("holdfast_poll_lag_seconds")
            except OSError:
                continue
            self.worst = max(self.worst, lag)
            self.all.append(lag)
            time.sleep(0.1)

    def take(self):
        worst, self.worst = self.worst, 0.0
        return worst


def soak(told):
    engines = Engines(told, told.engines, told.seed)
    sidecar = Sidecar(told.launcher, engines, sys.stderr)
    lag = Lag(sidecar)
    lag.start()
    engines.go()
    seen, worst = [], 0.0
    try:
        for line in range(told.minutes * 2):
            before, at = sidecar.cpu()[0], time.monotonic()
            removed = sidecar.metric("holdfast_events_stored_blocks_total")
            time.sleep(30)
            stored = (sidecar.metric("holdfast_events_stored_blocks_total") - removed) / (time.monotonic() - at)
            used = 100 * (sidecar.cpu()[0] - before) / (time.monotonic() - at)
            memory, files, threads = sidecar.look()
            slowest = lag.take()
            worst = max(worst, slowest)
            seen.append((memory, files))
            print(f"{30 * (line + 1):5} s: {stored:7,.0f} blocks/s, {used:5.1f} % of a core, {memory:6.1f} MiB,"
                  f" {files} files, {threads} threads, longest round {slowest:.3f} s,"
                  f" gaps {sidecar.metric('holdfast_events_gaps_total'):.0f},"
                  f" restarts {sidecar.metric('holdfast_events_restarts_total'):.0f}", flush=True)
    finally:
        lag.going = False
        sidecar.stop()
        engines.stop()
    third = max(1, len(seen) // 3)
    early, late = seen[third:2 * third] or seen, seen[-third:]
    failed = []
    for name, which in ("memory in MiB", 0), ("open files", 1):
        before, after = (statistics.mean(each[which] for each in some) for some in (early, late))
        print(f"{name}: {before:.1f} in the second third, {after:.1f} in the last")
        if after > 1.05 * before and after > before + 8:
            failed.append(name)
    print(f"longest round {worst:.3f} s, median look {statistics.median(lag.all):.3f} s, bound {told.most_lag} s")
    if worst > told.most_lag:
        failed.append("rounds")
    print("FAILED: " + ", ".join(failed) if failed else "stayed what it was")
    return 1 if failed else 0


def run(told, launcher, count):
    engines = Engines(told, count, 0)
    sidecar = Sidecar(launcher, engines, subprocess.DEVNULL)
    try:
        engines.go()
        time.sleep(60)
        at, before = time.monotonic(), sidecar.cpu()
        stored = sidecar.metric("holdfast_events_stored_blocks_total")
        time.sleep(60 * told.minutes - 60)
        span, after = time.monotonic() - at, sidecar.cpu()
        stored = (sidecar.metric("holdfast_events_stored_blocks_total") - stored) / span
        return (100 * (after[0] - before[0]) / span, 100 * (after[1] - before[1]) / span, sidecar.look()[0], stored)
    finally:
        sidecar.stop()
        engines.stop()


def cost(told):
    arms = [each.split("=", 1) for each in told.arms]
    for count in told.counts:
        found = {name: [] for name, _ in arms}
        for pair in range(told.pairs):
            for name, launcher in arms if pair % 2 == 0 else reversed(arms):
                found[name].append(run(told, launcher, count))
                cpu, events, memory, stored = found[name][-1]
                print(f"{count} engines, {name}: {cpu:.2f} % of a core, {events:.2f} of it the event thread,"
                      f" {memory:.0f} MiB, {stored:,.0f} blocks/s", flush=True)
        for name, _ in arms:
            cpu, events, memory, _ = (statistics.median(column) for column in zip(*found[name]))
            print(f"{count} engines, {name}, medians of {told.pairs}: {cpu:.2f} % of a core, event thread {events:.2f},"
                  f" {memory:.0f} MiB")
        if len(arms) == 2:
            (one, _), (two, _) = arms
            for what, which in ("all threads", 0), ("event thread", 1), ("memory", 2):
                ratios = [b[which] / a[which] for a, b in zip(found[one], found[two])]
                print(f"{count} engines, {two} against {one}, {what}: {statistics.median(ratios):.2f}"
                      f" ({min(ratios):.2f} to {max(ratios):.2f})")
    return 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--jar", default=str(HERE.parent / "target/benchmarks.jar"))
    ways = options.add_subparsers(required=True)
    soaks = ways.add_parser("soak")
    soaks.add_argument("--minutes", type=int, default=40)
    soaks.add_argument("--engines", type=int, default=8)
    soaks.add_argument("--blocks", type=int, default=30_000)
    soaks.add_argument("--seed", type=int, default=1)
    soaks.add_argument("--most-lag", type=float, default=1.0)
    soaks.add_argument("--launcher", default=str(HERE.parent.parent / "holdfast"))
    soaks.set_defaults(way=soak)
    costs = ways.add_parser("cost")
    costs.add_argument("--minutes", type=float, default=3)
    costs.add_argument("--blocks", type=int, default=10_000)
    costs.add_argument("--pairs", type=int, default=3)
    costs.add_argument("--counts", type=lambda text: [int(each) for each in text.split(",")], default=[1, 8])
    costs.add_argument("arms", nargs="+")
    costs.set_defaults(way=cost)
    for way in soaks, costs:
        way.add_argument("--cached", type=int, default=2048)
    told = options.parse_args()
    sys.exit(told.way(told))


if __name__ == "__main__":
    main()
