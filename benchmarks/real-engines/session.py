"""A seeded session for a prefix cache: groups of requests that are sent together, and clears in between.

What is in it: a forest of prefixes chosen by Zipf's law, conversations that grow by their own answers, exact repeats,
prompts that leave an earlier one inside a block, prompts shorter than a block, tenants with a salt, and floods of fresh
prompts that keep a cache of `capacity` tokens evicting."""

import random

KINDS = [("tree", 30), ("talk", 22), ("again", 18), ("cut", 10), ("flood", 9), ("short", 5), ("twin", 6)]


class Session:
    """Iterate it for steps: None is a clear, a list holds the requests of one step. Say `answered` before the next step."""

    def __init__(self, seed, requests, block, capacity, twins=False):
        self.random = random.Random(seed)
        self.left = requests
        self.block = block
        self.longest = capacity // 8
        self.twins = twins
        self.past = []
        self.talks = []
        self.forest = []
        for _ in range(self.random.randint(5, 9)):
            root = self.tokens(1, 8)
            self.forest.append((root, [self.tokens(1, 5) for _ in range(self.random.randint(1, 4))]))
        self.twin = self.tokens(3, 6)

    def tokens(self, low, high):
        """Fresh tokens, `low` to `high` blocks of them, usually with a rest that fills no block."""
        rest = self.random.randrange(self.block) if self.random.random() < 0.6 else 0
        return [self.random.randrange(10, 1000) for _ in range(self.random.randint(low, high) * self.block + rest)]

    def zipf(self, things, exponent=1.0):
        weights = [1 / (rank + 1) ** exponent for rank in range(len(things))]
        return self.random.choices(things, weights)[0]

    def __iter__(self):
        while self.left > 0:
            if self.past and self.random.random() < 0.012:
                yield None
                continue
            kind = self.random.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]
            together = self.random.randint(3, 5) if kind == "flood" else self.random.choice([1, 1, 1, 1, 2, 4])
            step = [self.request(kind) for _ in range(min(together, self.left))]
            self.left -= len(step)
            yield step

    def request(self, kind):
        salt = self.random.choice(["tenant-a", "tenant-b"]) if self.random.random() < 0.08 else ""
        talk = None
        key = ""
        if kind == "twin" and not self.twins or kind in ("again", "cut") and not self.past:
            kind = "tree"
        if kind == "flood":
            prompt = self.tokens(self.longest // self.block // 2, self.longest // self.block)
        elif kind == "talk":
            if not self.talks or self.random.random() < 0.25:
                root = self.zipf(self.forest)[0] if self.random.random() < 0.7 else self.tokens(0, 5)
                self.talks.insert(0, {"said": root, "salt": salt})
            talk = self.zipf(self.talks[:6])
            salt = talk["salt"]
            prompt = talk["said"] + (self.tokens(0, 3) or [7])
        elif kind == "again":
            prompt, salt = self.zipf(self.past[-24:][::-1])
        elif kind == "cut":
            prompt, salt = self.zipf(self.past[-24:][::-1])
            prompt = prompt[: self.random.randint(1, len(prompt))] + (self.tokens(0, 4) or [7])
        elif kind == "short":
            prompt = self.tokens(1, 1)[: self.random.randint(1, self.block - 1)]
        elif kind == "twin":
            # The same tokens kept twice: an extra key parts them in the cache and not in the hash.
            prompt = self.twin + (self.tokens(1, 2) if self.random.random() < 0.5 else [7])
            key = self.random.choice(["", "k1"])
            salt = ""
        else:
            root, branches = self.zipf(self.forest)
            prompt = root + self.zipf(branches) + self.random.choice([[], [7], self.tokens(0, 4)])
        if talk is None and len(prompt) > self.block and self.random.random() < 0.3:
            prompt = prompt[: len(prompt) // self.block * self.block]
        if len(prompt) > self.longest:
            prompt = prompt[: self.longest]
            if talk is not None:
                self.talks.remove(talk)
                talk = None
        fresh = self.random.choices([1, self.random.randint(2, 8), self.random.randint(9, 40)], [60, 25, 15])[0]
        return {"kind": kind, "prompt": prompt, "fresh": fresh, "salt": salt, "key": key, "talk": talk}

    def answered(self, request, output):
        if request["kind"] != "twin":
            self.past.append((request["prompt"], request["salt"]))
        if request["talk"] in self.talks:
            request["talk"]["said"] = request["prompt"] + output
