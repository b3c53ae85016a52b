"""The real kvctl beside an emulated engine's memory: what each says of the other's writes. Exit code 0: as with a real engine."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time

MIB = 1 << 20
STARTUP = 1536 * MIB


class Engine:
    def __init__(self, command, name):
        self.process = subprocess.Popen(
            shlex.split(command) + [name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.file = self.process.stdout.readline().strip()

    def ask(self, command):
        self.tell(command)
        return self.hear()

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        self.ask("close")
        self.process.stdin.close()
        self.process.wait()


class Kvctl:
    def __init__(self, command, name):
        self.command, self.name = shlex.split(command), name

    def run(self, *words, shown=True):
        done = subprocess.run(self.command + list(words), capture_output=True, text=True, check=True)
        if shown:
            print("$ kvctl " + " ".join(words))
            print("".join("  " + line + "\n" for line in (done.stdout + done.stderr).strip().splitlines()), end="")
        return done.stdout

    def listed(self):
        self.run("list", self.name)
        rows = json.loads(self.run("list", "--json", shown=False))
        return [(row["limit_bytes"] // MIB, row["used_bytes"] // MIB) for row in rows if row["ipc"] == self.name]

    def limit(self, size):
        self.run("limit", self.name, size)
        time.sleep(0.15)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kvctl", required=True)
    options.add_argument("--engine", required=True, help="starts ElasticEngine; the segment's name is added")
    options.add_argument("--name", default="kvc_holdfast_check")
    options = options.parse_args()

    engine = Engine(options.engine, options.name)
    kvctl = Kvctl(options.kvctl, options.name)
    wrong = []

    def expect(what, seen, wanted):
        print(f"{'ok' if seen == wanted else 'WRONG'}: {what}: {seen}" + ("" if seen == wanted else f", not {wanted}"))
        if seen != wanted:
            wrong.append(what)

    try:
        expect("a fresh engine, limit and use in MiB", kvctl.listed(), [(1536, 16)])
        expect("80 blocks with the null block are 10 pages", engine.ask("use 79"), "79")
        expect("which kvctl sees", kvctl.listed(), [(1536, 160)])
        kvctl.limit("480M")
        expect("an idle engine keeps what it has", kvctl.listed(), [(480, 160)])
        expect("an engine that wants all gets 30 pages", engine.ask("use 767"), "239")
        expect("and uses no more than the limit", kvctl.listed(), [(480, 480)])
        kvctl.limit("64M")
        expect("below what is in use, nothing is taken away", engine.ask("use 767"), "239")
        expect("until blocks are freed", engine.ask("use 31"), "31")
        expect("then the limit is in force", engine.ask("use 767"), "31")
        expect("which kvctl sees", kvctl.listed(), [(64, 64)])
        kvctl.limit("1536M")
        expect("the limit of the start changes nothing", engine.ask("use 767"), "31")
        kvctl.limit(str(STARTUP + 8))
        expect("eight bytes more give all back", engine.ask("use 767"), "767")
        engine.ask("use 0")

        engine.tell("churn 200000")
        for size in range(700, 720):
            kvctl.run("limit", options.name, f"{size}M", shown=False)
        expect("200,000 pages taken and freed beside 20 limits", engine.hear(), "200000")
        expect("lose none", kvctl.listed(), [(719, 16)])

        engine.kill()
        expect("an engine that is killed leaves its segment", kvctl.listed(), [(719, 16)])
        engine = Engine(options.engine, options.name)
        expect("its next life knows no limit", kvctl.listed(), [(1536, 16)])
        engine.close()
        expect("one that ends removes its segment", os.path.exists(engine.file), False)
    finally:
        if engine.process.poll() is None:
            engine.kill()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
