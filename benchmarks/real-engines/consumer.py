"""The consumer under test: a process of its own."""

import os
import select
import signal
import subprocess


class Consumer:
    """It answers commands on its standard input."""

    def __init__(self, command, log):
        self.command = command
        self.log = log
        self.process = None
        self.starts = 0

    def start(self):
        self.starts += 1
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.log, "a"), text=True
        )

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 60)[0]:
            raise AssertionError("the consumer does not answer: " + command)
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError("the consumer is gone: see " + str(self.log))
        return answer

    def dump(self, path, cache=0):
        """A cache's view: its head as a dictionary, and its lines in order."""
        self.ask("dump %d %s" % (cache, path))
        lines = path.read_text().splitlines()
        head = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
        return head, sorted(line for line in lines if not line.startswith("# "))

    def match(self, path, block, prompt, salt):
        """How many leading blocks of the prompt each cache holds."""
        path.write_text("%d %s %s\n" % (block, salt or "-", " ".join(map(str, prompt))))
        return [int(depth) for depth in self.ask("match %s" % path).split()]
