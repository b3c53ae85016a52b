"""The reference consumer: a plain mirror of one engine's event stream that never stops.

It shares nothing with the consumer under test: libzmq, msgspec, dictionaries. It keeps every payload of the engine's life,
so that at any time the whole life can be asked from the engine once more and compared byte by byte (`proven`)."""

import threading
import time

import msgspec
import zmq

END = b"\xff" * 8
TIERS = {None: 1, "GPU": 1, "CPU": 2, "CPU_PINNED": 2, "CPU_TIER1": 2, "CPU_TIER2": 4, "DISK": 4, "EXTERNAL": 8}
FIELDS = {
    "BlockStored": "block_hashes parent_block_hash token_ids block_size lora_id medium lora_name extra_keys group_idx".split(),
    "BlockRemoved": "block_hashes medium group_idx".split(),
    "AllBlocksCleared": [],
}


def named(event):
    """An event as a dictionary, whether it came as a map or as an array."""
    if isinstance(event, dict):
        return event
    return dict(zip(["type"] + FIELDS[event[0]], event))


def number(name):
    """A block's name as the signed 64-bit number that a long holds; of bytes the last eight count."""
    unsigned = int.from_bytes(name[-8:], "big") if isinstance(name, bytes) else name & (1 << 64) - 1
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


class View:
    """What the events say that the cache holds: copies by (name, tier), and each block's place by its tokens."""

    def __init__(self, clear_keeps_other_tiers):
        self.clear_keeps_other_tiers = clear_keeps_other_tiers
        self.copies = {}
        self.places = {}
        self.children = {}
        self.counts = dict.fromkeys(["stored", "again", "removed", "cleared", "unknown"], 0)

    def apply(self, event):
        event = named(event)
        kind = event["type"]
        if kind == "AllBlocksCleared":
            self.counts["cleared"] += 1
            for block in [b for b in self.copies if b[1] == 1 or not self.clear_keeps_other_tiers]:
                self.drop(block)
            return
        tier = TIERS[event.get("medium")]
        if event.get("group_idx"):
            return
        if kind == "BlockRemoved":
            for name in event["block_hashes"]:
                block = (number(name), tier)
                self.counts["removed"] += 1
                if block not in self.copies:
                    self.counts["unknown"] += 1
                elif self.copies[block] == 1:
                    self.drop(block)
                else:
                    self.copies[block] -= 1
            return
        parent = event["parent_block_hash"]
        parent = None if parent is None else number(parent)
        size = event["block_size"]
        for i, name in enumerate(event["block_hashes"]):
            block = (number(name), tier)
            self.counts["stored"] += 1
            self.counts["again"] += block in self.copies
            self.copies[block] = self.copies.get(block, 0) + 1
            salt = event.get("cache_salt") or ""
            extra = (event.get("extra_keys") or [None] * (i + 1))[i]
            if extra:
                salt = extra[0]
            place = (parent, tuple(event["token_ids"][i * size : (i + 1) * size]), salt if parent is None else "")
            self.places[block[0]] = place
            self.children[place] = block[0]
            parent = block[0]

    def drop(self, block):
        del self.copies[block]

    def cached(self, prompt, size, salt):
        """How many tokens of the prompt the engine should find: whole blocks from the root, and never the last token."""
        parent = None
        for i in range((len(prompt) - 1) // size):
            child = self.children.get((parent, tuple(prompt[i * size : (i + 1) * size]), salt if i == 0 else ""))
            if child is None or not any((child, tier) in self.copies for tier in (1, 2, 4, 8)):
                return i * size
            parent = child
        return (len(prompt) - 1) // size * size

    def lines(self):
        tiers = {}
        for name, tier in self.copies:
            tiers[name] = tiers.get(name, 0) | tier
        return sorted("%d %d" % item for item in tiers.items())


class Mirror:
    """Listens on a thread of its own for as long as the process runs; once made, it knows what the engine said before."""

    def __init__(self, events, replay, topic, clear_keeps_other_tiers):
        self.events = events
        self.replay = replay
        self.topic = topic.encode()
        self.keeps = clear_keeps_other_tiers
        self.context = zmq.Context()
        self.lock = threading.Lock()
        self.view = View(self.keeps)
        self.life = []
        self.lives = []
        self.notes = []
        self.joined = threading.Event()
        threading.Thread(target=self.listen, daemon=True).start()
        if not self.joined.wait(60):
            raise AssertionError("nobody publishes at " + events)

    def listen(self):
        socket = self.context.socket(zmq.SUB)
        socket.set_hwm(0)
        socket.subscribe(self.topic)
        monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        socket.connect(self.events)
        monitor.recv_multipart()
        socket.disable_monitor()
        with self.lock:
            for payload in self.ask(0):
                self.take(payload)
        self.joined.set()
        while True:
            _, sequence, payload = socket.recv_multipart()
            self.heard(int.from_bytes(sequence[:8], "big"), payload)

    def heard(self, sequence, payload):
        with self.lock:
            if sequence == len(self.life):
                self.take(payload)
            elif sequence < len(self.life) and self.life[sequence] == payload:
                self.notes.append("%d came again" % sequence)
            else:
                # A hole, or another life: the engine says the whole of it.
                self.notes.append("%d after %d" % (sequence, len(self.life) - 1))
                whole = self.ask(0)
                if self.life[: len(whole)] != whole[: len(self.life)]:
                    self.begin()
                for later in whole[len(self.life) :]:
                    self.take(later)

    def at(self, moment):
        """The view by what the engine had said at a moment of its clock, however late it arrived."""
        with self.lock:
            batches = [msgspec.msgpack.decode(payload) for payload in self.life]
        view = View(self.keeps)
        for batch in batches:
            if batch[0] < moment:
                for event in batch[1]:
                    view.apply(event)
        return view

    def take(self, payload):
        self.life.append(payload)
        for event in msgspec.msgpack.decode(payload)[1]:
            self.view.apply(event)

    def begin(self):
        """Another life of the engine: an empty cache."""
        if self.life:
            self.lives.append((len(self.life), self.view.counts))
        self.view = View(self.keeps)
        self.life = []

    def ask(self, oldest=None):
        """Every payload of the engine's present life that it remembers, as its replay endpoint says it.

        With `oldest` that must be the number of the first; without it, one that is older than what is remembered is taken
        from here."""
        with self.context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            socket.connect(self.replay)
            socket.send_multipart([b"", (0).to_bytes(8, "big")])
            whole = []
            while socket.poll(10_000):
                frames = socket.recv_multipart()
                if frames[-2] == END:
                    return whole
                sequence = int.from_bytes(frames[-2][:8], "big")
                if oldest is None and not whole:
                    whole = self.life[:sequence]
                if sequence != len(whole):
                    raise AssertionError("the replay is not whole: %s after %d" % (frames[-2].hex(), len(whole) - 1))
                whole.append(frames[-1])
        raise AssertionError("no answer from " + self.replay)

    def proven(self, seconds=30):
        """Waits until the engine publishes nothing more; then every batch of its life must be here, byte by byte."""
        end = time.time() + seconds
        before = self.ask()
        while time.time() < end:
            time.sleep(0.7)
            whole = self.ask()
            with self.lock:
                if whole == before and whole == self.life:
                    return len(whole)
            before = whole
        raise AssertionError("the reference has %d batches and the engine says %d" % (len(self.life), len(before)))
