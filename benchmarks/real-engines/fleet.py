#!/usr/bin/env python3
"""Several real engines in one tree that names blocks by content: `match` by tokens says of each engine what that engine
itself then finds cached. See README.md. Exit code 0: it always did; 1: not."""

import argparse
import pathlib
import random
import shlex
import sys
import time

import mirror
from consumer import Consumer
from engine import Engine
from session import Session


class Server:
    def __init__(self, kind, http, events, replay, topic, start, stop, model):
        self.engine = Engine(kind, start, stop, http, model)
        self.listen = [kind, events, replay, topic]
        self.started = False

    def start(self):
        self.started = True
        self.engine.start()
        kind, events, replay, topic = self.listen
        self.reference = mirror.Mirror(events, replay, topic, kind == "vllm")


class Fleet:
    def __init__(self, arguments):
        self.a = arguments
        self.out = pathlib.Path(arguments.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.servers = [Server(*words, arguments.model) for words in arguments.server]
        command = shlex.split(arguments.consumer) + ["content_chain"]
        for server in self.servers:
            command += server.listen
        self.consumer = Consumer(command, self.out / "consumer.log")
        self.wrong = []

    def caught_up(self, seconds=30):
        """Waits until the consumer has heard all that each engine said, and compares the views."""
        names = []
        for number, server in enumerate(self.servers):
            batches = server.reference.proven()
            with server.reference.lock:
                expected = server.reference.view.lines()
            end = time.time() + seconds
            while True:
                head, view = self.consumer.dump(self.out / ("fleet-%d.holdfast" % number), number)
                if int(head["sequence"]) == batches - 1 and head["certain"] == "true" or time.time() > end:
                    break
                time.sleep(0.1)
            if view != expected or head["certain"] != "true" or head["unplaced"] != "0":
                self.wrong.append("engine %d: the view differs, or is not certain: %s" % (number, head))
            names.append({line.split()[0] for line in view})
        return names

    def send(self, session):
        """Each step goes to one engine, or to all."""
        route = random.Random(self.a.seed)
        sent = 0
        for requests in session:
            if requests is None:
                continue
            everywhere = route.random() < 0.4
            one = route.choice(self.servers)
            for request in requests:
                for server in self.servers if everywhere else [one]:
                    output, _ = server.engine.generate(request)
                    sent += 1
                # Other engines may have fewer tokens than the one that answered.
                session.answered(request, [token % 1000 for token in output])
        return sent

    def prompts(self, session):
        """What was sent last, and prompts that leave such a one in the middle."""
        pick = random.Random(self.a.seed + 1)
        recent = session.past[-self.a.prompts :]
        pick.shuffle(recent)
        for i, (prompt, salt) in enumerate(recent):
            if i % 4 == 3:
                prompt = prompt[: len(prompt) // 2] + [pick.randrange(10, 1000) for _ in range(2 * self.a.block_tokens)]
            yield prompt, salt

    def play(self):
        a = self.a
        for server in self.servers:
            server.start()
        self.consumer.start()
        session = Session(a.seed, a.requests, a.block_tokens, a.capacity)
        sent = self.send(session)
        names = self.caught_up()
        common = set.intersection(*names)
        print("  %s blocks held, %d names in common" % (" and ".join(str(len(n)) for n in names), len(common)))
        asked = agreed = shared = deepest = 0
        for prompt, salt in self.prompts(session):
            depths = self.consumer.match(self.out / "prompt", a.block_tokens, prompt, salt)
            shared += all(depths)
            deepest = max(deepest, min(depths))
            most = (len(prompt) - 1) // a.block_tokens
            request = {"prompt": prompt, "salt": salt, "key": "", "fresh": 1}
            for number, server in enumerate(self.servers):
                _, cached = server.engine.generate(request)
                asked += 1
                if cached == min(depths[number], most) * a.block_tokens:
                    agreed += 1
                else:
                    self.wrong.append(
                        "engine %d: %d tokens cached, match says %d blocks of %d"
                        % (number, cached, depths[number], len(prompt) // a.block_tokens)
                    )
            self.heard()
        self.caught_up()
        self.consumer.ask("stop")
        for sentence in self.wrong:
            print("  " + sentence)
        good = not self.wrong and agreed == asked
        print(
            "%s %s seed %d: %d requests to %d engines; match says what the engine then finds cached in %d of %d;"
            " %d prompts found on all of them, up to %d blocks deep; %d names in common"
            % (
                "ok" if good else "BAD",
                ", ".join("%s %s" % (server.engine.kind, server.engine.version()) for server in self.servers),
                a.seed,
                sent,
                len(self.servers),
                agreed,
                asked,
                shared,
                deepest,
                len(common),
            )
        )
        return good

    def heard(self):
        """Waits until the consumer has heard what the last requests caused."""
        for number, server in enumerate(self.servers):
            before = None
            while True:
                heard = len(server.reference.life)
                sequence = int(self.consumer.dump(self.out / "heard", number)[0]["sequence"])
                if heard == before and sequence == heard - 1:
                    break
                before = heard
                time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--server",
        nargs=7,
        action="append",
        required=True,
        metavar=("KIND", "HTTP", "EVENTS", "REPLAY", "TOPIC", "START", "STOP"),
        help="sglang or vllm, its endpoints, and the commands that start and stop it",
    )
    parser.add_argument("--model", default="m", help="the name that vLLM serves it under")
    parser.add_argument("--block-tokens", type=int, required=True)
    parser.add_argument("--capacity", type=int, required=True, help="tokens that each cache holds")
    parser.add_argument("--consumer", required=True, help="command of the consumer under test")
    parser.add_argument("--out", default="target/real-engines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--prompts", type=int, default=40, help="how many prompts are matched and sent again")
    fleet = Fleet(parser.parse_args())
    try:
        good = fleet.play()
    finally:
        if fleet.consumer.process is not None and fleet.consumer.process.poll() is None:
            fleet.consumer.process.kill()
        for server in fleet.servers:
            if server.started:
                server.engine.stop()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
