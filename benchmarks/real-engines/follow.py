#!/usr/bin/env python3
"""Holdfast beside a real engine: killed with -9 and started again, the engine restarted, compared with a consumer that
never stopped. See README.md. Exit code 0: equal at every checkpoint; 1: not."""

import argparse
import concurrent.futures
import pathlib
import shlex
import sys
import time

import mirror
from consumer import Consumer
from engine import Engine
from session import Session


class Run:
    def __init__(self, arguments):
        self.a = arguments
        self.out = pathlib.Path(arguments.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.engine = Engine(arguments.engine, arguments.start, arguments.stop, arguments.http, arguments.model)
        command = shlex.split(arguments.consumer)
        command += [arguments.naming, arguments.engine, arguments.events, arguments.replay, arguments.topic]
        self.consumer = Consumer(command, self.out / "consumer.log")
        self.reference = None
        self.sent = 0
        self.lost = 0
        self.predicted = 0
        self.mispredicted = []
        self.checkpoints = []
        self.unsure = 0
        # How much was heard when the engine emptied its cache: until more is heard it may not have said so. One engine says
        # a clear with its next batch only, and nothing in a new life before the first block is stored.
        self.unsaid = None
        self.settle_at = None
        self.settle_as = ""
        self.pool = concurrent.futures.ThreadPoolExecutor(8)

    def step(self, session, requests):
        """Sends one step's requests together."""
        alone = self.a.predict and len(requests) == 1 and requests[0]["kind"] != "twin"
        if alone:
            self.quiet()
            if self.unsaid != self.heard():
                self.unsaid = None
        moment = time.time()
        for request, (output, cached) in zip(requests, self.pool.map(self.engine.generate, requests)):
            self.sent += 1
            session.answered(request, output)
        if alone and self.unsaid is None:
            self.quiet()
            prompt, salt = requests[0]["prompt"], requests[0]["salt"]
            expected = self.reference.at(moment).cached(prompt, self.a.block_tokens, salt)
            self.predicted += 1
            if cached != expected:
                self.mispredicted.append("request %d: %d cached, %d expected" % (self.sent, cached, expected))

    def heard(self):
        return len(self.reference.lives), len(self.reference.life)

    def settle(self, requests, name):
        """Plans a checkpoint after so many more requests."""
        self.settle_at = self.sent + requests
        self.settle_as = name

    def quiet(self):
        """Waits until the reference has heard nothing for a moment."""
        before = -1
        while before != len(self.reference.life):
            before = len(self.reference.life)
            time.sleep(0.15)

    def checkpoint(self, name, seconds=30):
        batches = self.reference.proven()
        with self.reference.lock:
            expected = self.reference.view.lines()
        (self.out / ("%s.reference" % name)).write_text("\n".join(expected) + "\n")
        end = time.time() + seconds
        while True:
            head, view = self.consumer.dump(self.out / ("%s.holdfast" % name))
            certain = head["certain"] == "true"
            if int(head["sequence"]) == batches - 1 and (certain or self.a.forgets) or time.time() > end:
                break
            time.sleep(0.1)
        wrong = []
        if self.a.forgets and not certain:
            # It may know less and must know nothing that is not so.
            held = dict(line.split() for line in expected)
            false = [line for line in view if int(line.split()[1]) & ~int(held.get(line.split()[0], 0))]
            if false:
                wrong.append("%d lines are not so" % len(false))
            expected = view
        elif not certain:
            wrong.append("it is not certain: %s" % head["certainty"])
        if int(head["sequence"]) != batches - 1:
            wrong.append("it heard up to batch %s of %d" % (head["sequence"], batches - 1))
        if view != expected:
            missing, extra = set(expected) - set(view), set(view) - set(expected)
            wrong.append("%d lines missing, %d too many" % (len(missing), len(extra)))
        if int(head["blocks"]) != len(expected):
            wrong.append("%s blocks counted, %d held" % (head["blocks"], len(expected)))
        self.checkpoints.append(not wrong)
        self.unsure += not wrong and not certain
        facts = " ".join("%s=%s" % item for item in head.items() if item[0] not in ("sequence", "certain", "blocks"))
        print(
            "  %-22s batch %4d  %4d blocks  %s  [%s]"
            % (
                name,
                batches - 1,
                len(expected),
                "DIFFERENT: " + "; ".join(wrong) if wrong else "equal" if certain else "says it is uncertain",
                facts,
            ),
            flush=True,
        )

    def play(self):
        a = self.a
        self.engine.start()
        self.reference = mirror.Mirror(a.events, a.replay, a.topic, a.engine == "vllm")
        self.consumer.start()
        kills, restarts, dead_until = list(a.kill), list(a.restart), None
        session = Session(a.seed, a.requests, a.block_tokens, a.capacity, twins=a.engine == "sglang")
        for requests in session:
            if kills and self.sent >= kills[0] and requests and len(requests) > 1:
                # In the middle of a burst.
                burst = self.pool.submit(self.step, session, requests)
                time.sleep(0.05)
                self.consumer.kill()
                burst.result()
                dead_until = kills.pop(0) + a.dead
                continue
            if dead_until is not None and self.sent >= dead_until:
                dead_until = None
                self.consumer.start()
                self.settle(a.dead, "after-kill-%d" % (self.consumer.starts - 1))
                print("  killed with -9 and started again before request %d" % (self.sent + 1), flush=True)
            elif self.settle_at is not None and self.sent >= self.settle_at:
                self.settle_at = None
                self.checkpoint(self.settle_as)
            if restarts and self.sent >= restarts[0] and dead_until is None:
                restarts.pop(0)
                self.checkpoint("before-engine-restart")
                self.unsaid = self.heard()
                self.engine.stop()
                self.engine.start()
                self.settle(a.dead, "after-engine-restart")
                print("  engine restarted before request %d" % (self.sent + 1), flush=True)
            if requests is None:
                self.quiet()
                self.unsaid = self.heard()
                self.engine.clear()
            else:
                self.step(session, requests)
        self.checkpoint("end")
        self.consumer.ask("stop")
        return self.report()

    def report(self):
        lives = self.reference.lives + [(len(self.reference.life), self.reference.view.counts)]
        total = {k: sum(counts[k] for _, counts in lives) for k in lives[0][1]}
        equal = sum(self.checkpoints)
        good = equal == len(self.checkpoints) and not self.mispredicted
        for sentence in self.mispredicted:
            print("  " + sentence)
        print(
            "%s %s %s seed %d: %d requests, %d kills, %d engine lives: view equal at %d of %d checkpoints%s;"
            " %d batches, %d blocks stored (%d while held), %d removed (%d unknown), %d clears;"
            " cached tokens as the view says in %d of %d"
            % (
                "ok" if good else "BAD",
                self.a.engine,
                self.engine.version(),
                self.a.seed,
                self.sent,
                self.consumer.starts - 1,
                len(lives),
                equal - self.unsure,
                len(self.checkpoints),
                ", true and said to be uncertain at %d" % self.unsure if self.unsure else "",
                sum(batches for batches, _ in lives),
                total["stored"],
                total["again"],
                total["removed"],
                total["unknown"],
                total["cleared"],
                self.predicted - len(self.mispredicted),
                self.predicted,
            )
        )
        return good


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True, choices=["sglang", "vllm"])
    parser.add_argument("--start", required=True, help="command that returns once the engine answers")
    parser.add_argument("--stop", required=True, help="command that returns once the engine is gone")
    parser.add_argument("--http", required=True, help="http://host:port")
    parser.add_argument("--events", required=True, help="tcp://host:port")
    parser.add_argument("--replay", required=True, help="tcp://host:port")
    parser.add_argument("--topic", default="")
    parser.add_argument("--model", default="m", help="the name that vLLM serves it under")
    parser.add_argument("--block-tokens", type=int, required=True)
    parser.add_argument("--capacity", type=int, required=True, help="tokens that the cache holds")
    parser.add_argument("--consumer", required=True, help="command of the consumer under test")
    parser.add_argument("--naming", default="engine_hash", choices=["engine_hash", "content_chain"])
    parser.add_argument("--out", default="target/real-engines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--kill", type=numbers, default=[100, 240], help="after so many requests, in a burst")
    parser.add_argument("--dead", type=int, default=12, help="requests that a killed consumer misses")
    parser.add_argument("--restart", type=numbers, default=[180], help="restart the engine after so many requests")
    parser.add_argument(
        "--forgets", action="store_true", help="the engine's replay buffer is shorter than its life: uncertain is right"
    )
    parser.add_argument("--predict", type=int, default=1, help="0: do not compare the engine's cached tokens")
    run = Run(parser.parse_args())
    try:
        good = run.play()
    finally:
        if run.consumer.process is not None and run.consumer.process.poll() is None:
            run.consumer.process.kill()
        run.engine.stop()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
