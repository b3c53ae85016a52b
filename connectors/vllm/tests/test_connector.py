# SPDX-License-Identifier: Apache-2.0
"""The connector on vLLM's own classes, with no model:  VENV/bin/python -m unittest -v  (in tests/)"""

import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from engine import BLOCK, MAX_LEN, SECRET, VERSION, Engine

import holdfast_connector as h
from vllm.v1.request import RequestStatus

rnd = random.Random(1)


def prompt(blocks, extra=1):
    return [rnd.randrange(10, 1000) for _ in range(blocks * BLOCK + extra)]


def body(e, op="hold", tokens=(), secret=SECRET, **kw):
    at = kw.pop("at", None)
    if at is None:
        e.wall += 1  # each asking has a time of its own, hence a proof of its own
        at = e.wall
    text = h.message(op, at, id=kw.get("id"), ttl=kw.get("ttl"), ids=kw.get("ids"), tokens=tokens)
    return {"v": 1, "op": op, "at": at, "proof": h.proof(secret, text), **kw}


def hold(e, tokens, id="a", ttl=60, **kw):
    return e.ask(tokens, body(e, tokens=tokens, id=id, ttl=ttl, **kw))


def release(e, *ids):
    return e.ask([5], body(e, "release", ids=list(ids)))


def flood(e, times=1.5, blocks=10):
    for _ in range(int(times * e.pool.num_gpu_blocks / blocks)):
        e.add(prompt(blocks))
    e.run()


class Holding(unittest.TestCase):
    def test_survives_floods_and_lapses(self):
        e, p, control = Engine(), prompt(8), prompt(8)
        answer = hold(e, p)
        self.assertEqual(answer, {
            "v": 1, "held": 8, "ttl": 60, "blocks_held": 8, "blocks_most": 25,
            "blocks_total": 100, "gave_way": 0, "block_size": 16})
        e.add(control)
        e.run()
        for _ in range(5):
            flood(e)
            self.assertEqual((e.hits(p), e.hits(control)), (128, 0))
        e.now += 59.9
        flood(e)
        self.assertEqual(e.hits(p), 128)
        e.now += 0.2
        flood(e)
        self.assertEqual(e.hits(p), 0)
        self.assertEqual((e.in_use(), e.connector._refs), (0, {}))

    def test_an_idle_engine_frees_at_the_next_request_before_it_is_scheduled(self):
        e = Engine()
        hold(e, prompt(8), ttl=10)
        e.now += 100
        self.assertEqual(e.in_use(), 8)
        e.add([5, 6])
        self.assertEqual(e.in_use(), 0)

    def test_release_is_done_on_arrival(self):
        e, p = Engine(), prompt(8)
        hold(e, p, "a")
        hold(e, prompt(3), "b")
        r = e.add([5], body={"holdfast": body(e, "release", ids=["a", "a", "nobody"])})
        self.assertEqual(e.in_use(), 3)
        e.run()
        self.assertEqual(e.answers[r.request_id]["released"], 1)
        self.assertEqual(e.answers[r.request_id]["blocks_held"], 3)
        self.assertEqual(release(e, "*")["released"], 1)
        self.assertEqual(e.in_use(), 0)

    def test_renewal_costs_no_block_and_replaces(self):
        e, p, exact = Engine(), prompt(8), prompt(8, 0)
        for tokens in (p, exact):
            for _ in range(50):
                self.assertEqual(hold(e, tokens, ttl=20)["blocks_held"], 8)
                e.now += 15
        other = prompt(4)
        self.assertEqual(hold(e, other)["blocks_held"], 4)

    def test_only_whole_blocks_of_the_prompt_are_held(self):
        e, p = Engine(), prompt(4, 5)
        answer = e.ask(p, body(e, tokens=p, id="a", ttl=60), max_tokens=100)
        self.assertEqual(answer["held"], 4)
        self.assertEqual(hold(e, prompt(0, 15), "b")["refused"], "request")

    def test_holds_that_overlap_count_once(self):
        e, p = Engine(), prompt(8)
        q = p[: 4 * BLOCK] + prompt(6)
        hold(e, p, "a", 10)
        self.assertEqual(hold(e, q, "b", 60)["blocks_held"], 14)
        e.now += 11
        flood(e)
        self.assertEqual((e.hits(p), e.hits(q)), (64, 160))
        e.now += 60
        flood(e)
        self.assertEqual((e.hits(p), e.in_use()), (0, 0))

    def test_share_and_ttl_are_bounded(self):
        e, p, q = Engine(max_ttl=100), prompt(20), prompt(6)
        self.assertEqual(hold(e, p, "a", 10**9)["ttl"], 100)
        answer = hold(e, q, "b")
        self.assertEqual((answer["held"], answer["refused"], answer["blocks_held"]), (0, "share", 20))
        self.assertNotIn("ttl", answer)
        self.assertEqual(hold(e, q, "a")["held"], 6)  # room is made by what it replaces
        self.assertEqual(hold(e, prompt(26), "a")["refused"], "share")
        listed = e.ask([5], body(e, "list"))["holds"]
        self.assertEqual(listed, {"a": [6, 60.0]})

    def test_list_tells_the_seconds_left(self):
        e = Engine()
        hold(e, prompt(2), "a", 60)
        e.now += 12.34
        hold(e, prompt(3), "b", 30)
        self.assertEqual(e.ask([5], body(e, "list"))["holds"], {"a": [2, 47.7], "b": [3, 30.0]})

    def test_an_aborted_request_is_not_held(self):
        e, p = Engine(), prompt(8)
        r = e.add(p, 50, {"holdfast": body(e, tokens=p, id="a", ttl=60)})
        e.step()
        e.step()
        e.scheduler.finish_requests(r.request_id, RequestStatus.FINISHED_ABORTED)
        e.run()
        self.assertEqual((e.in_use(), e.connector._holds, e.connector._asked), (0, {}, {}))
        self.assertEqual(e.connector._live, {})

    def test_who_empties_the_cache_is_not_kept_from_it(self):
        e, p = Engine(), prompt(8)
        hold(e, p)
        r = e.add(prompt(3), 50)
        e.step()
        self.assertFalse(e.scheduler.reset_prefix_cache())  # a request runs: the hold stays
        self.assertEqual(len(e.connector._holds), 1)
        self.assertTrue(e.scheduler.reset_prefix_cache(reset_running_requests=True))
        self.assertEqual((e.hits(p), e.connector._holds), (0, {}))
        e.run()
        self.assertIn(r.request_id, e.ended)
        hold(e, p)
        self.assertTrue(e.scheduler.reset_prefix_cache())
        self.assertEqual((e.in_use(), e.hits(p)), (0, 0))

    def test_no_field_no_answer(self):
        e = Engine()
        for params in (None, {}, {"other": 1}):
            r = e.add(prompt(1), body=params)
            e.run()
            self.assertIsNone(e.answers[r.request_id])


class Asking(unittest.TestCase):
    def refused(self, e, tokens, b):
        answer = e.ask(tokens, b)
        self.assertEqual(answer["v"], 1)
        self.assertFalse(set(answer) - {"v", "refused", "now"}, answer)
        self.assertEqual(e.connector._holds, {})
        return answer["refused"]

    def test_vectors(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json")) as f:
            vectors = json.load(f)
        for v in vectors["proofs"]:
            b = v["body"]
            text = h.message(b["op"], b["at"], id=b.get("id"), ttl=b.get("ttl"),
                             ids=b.get("ids"), tokens=v["tokens"])
            self.assertEqual(text, v["message"])
            self.assertEqual(h.proof(v["secret"], text), b["proof"])
        for v in vectors["bodies"]:
            e = Engine()
            e.connector._secret = v["secret"]
            e.wall = v["now"]
            r = e.request(v["tokens"], body={"holdfast": v["body"]})
            asked = e.connector._arrived(r, v["body"])
            self.assertEqual(asked.answer.get("refused"), v["refused"], v)

    def test_proofs(self):
        e, p = Engine(), prompt(8)
        good = body(e, tokens=p, id="a", ttl=60)
        self.assertEqual(self.refused(e, p, {**good, "id": "b"}), "proof")
        self.assertEqual(self.refused(e, p, {**good, "ttl": 61}), "proof")
        self.assertEqual(self.refused(e, p, {**good, "at": good["at"] + 1}), "proof")
        self.assertEqual(self.refused(e, p + [9], good), "proof")
        self.assertEqual(self.refused(e, p, body(e, tokens=p, id="a", ttl=60, secret="x" * 20)), "proof")
        answer = e.ask(p, {**good, "unknown": [1]})
        self.assertEqual(answer["held"], 8)
        release(e, "*")
        self.assertEqual(self.refused(e, p, good), "seen")
        e.wall += 300_001
        r = e.add(p, body={"holdfast": good})
        e.run()
        self.assertEqual(e.answers[r.request_id], {"v": 1, "refused": "clock", "now": e.wall})
        self.assertEqual(self.refused(e, p, body(e, tokens=p, id="a", ttl=1, at=e.wall + 300_001)), "clock")
        self.assertEqual(hold(e, p, at=e.wall + 299_999)["held"], 8)

    def test_proofs_seen_are_few_and_do_not_stay(self):
        e = Engine()
        h.PROOFS_REMEMBERED, most = 50, h.PROOFS_REMEMBERED
        self.addCleanup(setattr, h, "PROOFS_REMEMBERED", most)
        for _ in range(60):
            release(e, "x")
        self.assertEqual(len(e.connector._seen), 50)
        e.wall += 300_200
        release(e, "x")
        self.assertEqual(len(e.connector._seen), 1)

    def test_malformed(self):
        e, p = Engine(), prompt(2)
        good = body(e, tokens=p, id="a", ttl=60)
        for change in (
            {"v": 2}, {"v": True}, {"v": "1"}, {"v": None}, {"op": "drop"}, {"op": None},
            {"op": ["hold"]}, {"op": {}}, {"at": "1"}, {"at": 1.5}, {"at": True}, {"at": -1},
            {"at": 10**400}, {"id": ""}, {"id": "a\n"}, {"id": "ä"}, {"id": "a" * 129},
            {"id": None}, {"id": 1}, {"ttl": 0}, {"ttl": 60.0}, {"ttl": "60"}, {"ttl": True},
            {"ttl": 10**5000}, {"proof": ""}, {"proof": "A" * 64}, {"proof": "é" * 64},
            {"proof": None}, {"proof": 5}, {"proof": good["proof"] + "\n"},
        ):
            self.assertEqual(self.refused(e, p, {**good, **change}), "request", change)
        for gone in ("v", "op", "at", "id", "ttl", "proof"):
            self.assertEqual(
                self.refused(e, p, {k: v for k, v in good.items() if k != gone}), "request")
        for ids in (None, "*", [], ["*", "a"], ["a,b"], [1], ["a"] * 1001, [["a"]], {"a": 1}):
            b = {**body(e, "release", ids=["a"]), "ids": ids}
            self.assertEqual(self.refused(e, p, b), "request", ids)
        for b in (None, 1, "hold", [], [good], True, 1.5):
            self.assertEqual(self.refused(e, p, b), "request", b)

    def test_no_secret_no_hold(self):
        p = prompt(2)
        env = {"HF_TEST_OK": "  " + SECRET + "\n", "HF_TEST_SHORT": "fifteen chars.."}
        os.environ.update(env)
        for extra, why in (
            ({}, "no secret"), ({"secret_file": "/nonexistent"}, "no secret"),
            ({"secret_file": "/"}, "no secret"), ({"secret_file": None}, "no secret"),
            ({"secret_file": 0}, "no secret"), ({"secret_env": "HF_TEST_SHORT"}, "no secret"),
            ({"secret_env": "HF_TEST_NONE"}, "no secret"), ({"secret_env": 5}, "no secret"),
            ({"secret": SECRET}, "no secret"),
        ):
            e = Engine(secret=False)
            e.connector._configure(*configured(e, extra))
            self.assertEqual(self.refused(e, p, body(e, tokens=p, id="a", ttl=60)), why, extra)
        e = Engine(secret=False, secret_env="HF_TEST_OK")
        self.assertEqual(hold(e, p)["held"], 2)

    def test_a_configuration_out_of_range_holds_nothing(self):
        p = prompt(2)
        for extra in (
            {"max_share": 0}, {"max_share": 0.91}, {"max_share": "nan"}, {"max_share": []},
            {"max_ttl": 0}, {"max_ttl": "x"}, {"give_way_after": "inf"}, {"give_way_after": None},
        ):
            e = Engine(**extra)
            self.assertEqual(
                self.refused(e, p, body(e, tokens=p, id="a", ttl=60)), "engine", extra)

    def test_the_secret_is_never_printed(self):
        with self.assertLogs("vllm.holdfast") as log:
            e = Engine()
            e.connector._configure(*configured(e, {"secret": "in the flag, 16 and more"}))
            e = Engine()
            hold(e, prompt(2))
            e.ask(prompt(2), {"v": 1})
        self.assertNotIn("in the flag, 16", "".join(log.output))
        self.assertNotIn(SECRET, "".join(log.output))
        self.assertIn("'secret' is ignored", "".join(log.output))


def configured(e, extra):
    """The arguments of _configure, with this configuration of the connector."""
    from vllm.config import KVTransferConfig

    config = e.scheduler.vllm_config
    config.kv_transfer_config = KVTransferConfig(
        kv_connector="HoldfastConnector", kv_role="kv_producer", kv_connector_extra_config=extra)
    return config, e.scheduler.kv_cache_config


class GivingWay(unittest.TestCase):
    def full(self, **kw):
        """A share of 40 of 100 blocks, full of ten holds of four, the oldest first."""
        e = Engine(max_share=0.4, **kw)
        self.prompts = [prompt(4) for _ in range(10)]
        for i, p in enumerate(self.prompts):
            self.assertEqual(hold(e, p, f"h{i}", 900)["held"], 4)
        self.assertEqual(e.in_use(), 40)
        return e

    def test_the_largest_request_waits_for_half_a_second(self):
        for in_flight in (1, 2):
            e = self.full(in_flight=in_flight)
            r = e.add(prompt(99, 15))
            start = e.now
            while r.request_id not in e.ended and e.now < start + 5:
                e.step()
                e.now += 0.01
            self.assertLess(e.now - start, 0.55)
            self.assertGreater(e.now - start, 0.49)
            self.assertEqual(e.connector._gave_way, 10)
            e.run()
            self.assertEqual(e.in_use(), 0)

    def test_only_as_many_as_needed_oldest_first(self):
        e = self.full()
        hold(e, self.prompts[0] , "h0", 900)  # renewed: no longer the oldest
        r = e.add(prompt(68, 0))
        for _ in range(49):
            self.assertEqual(e.step(), 0)
            e.now += 0.01
        self.assertEqual(len(e.connector._holds), 10)
        e.now += 0.02
        e.run()
        self.assertIn(r.request_id, e.ended)
        self.assertEqual(list(e.connector._holds), [f"h{i}" for i in (3, 4, 5, 6, 7, 8, 9, 0)])
        self.assertEqual(e.ask([5], body(e, "list"))["gave_way"], 2)

    def test_what_the_request_hits_is_not_counted_twice(self):
        e = self.full()
        r = e.add(self.prompts[9][: 4 * BLOCK] + prompt(64, 0))  # 64 beside 60 free, and 4 held
        e.step()
        e.now += 1
        e.run()
        self.assertIn(r.request_id, e.ended)
        self.assertEqual(len(e.connector._holds), 9)

    def test_holds_stay_while_anything_is_scheduled(self):
        for in_flight in (1, 2, 3):
            e = self.full(in_flight=in_flight)
            for _ in range(30):  # 2.4 x the cache, and each turn of the model takes two seconds
                e.add(prompt(8), max_tokens=3)
            e.run(seconds=2.0)
            self.assertEqual((len(e.connector._holds), e.connector._gave_way), (10, 0))

    def test_a_long_step_in_flight_is_not_a_stall(self):
        e = self.full(in_flight=2)
        e.add(prompt(50))
        big = e.add(prompt(55))
        e.step(5.0)  # admits the first; the second does not fit
        e.step(5.0)  # nothing to schedule while it is in flight
        e.run(seconds=5.0)
        self.assertIn(big.request_id, e.ended)
        self.assertEqual(len(e.connector._holds), 10)

    def test_the_end_of_one_of_several_steps_in_flight_is_not_a_stall(self):
        e = self.full(in_flight=3)
        e.add(prompt(24))
        e.step()
        e.add(prompt(24))
        e.step()
        last = e.add(prompt(45))
        e.step(5.0)  # nothing to schedule; the first ends, which is not enough
        self.assertEqual(e.step(5.0), 0)  # nothing for five seconds, but the second is in flight
        self.assertEqual(len(e.connector._holds), 10)
        e.run()
        self.assertIn(last.request_id, e.ended)
        self.assertEqual(len(e.connector._holds), 10)

    def test_waiting_for_something_else_is_no_reason(self):
        e = self.full()
        r = e.add(prompt(99))
        r.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
        r.structured_output_request = type("S", (), {"grammar": None})()
        for _ in range(10):
            self.assertEqual(e.step(), 0)
            e.now += 1
        self.assertEqual(len(e.connector._holds), 10)

    def test_a_paused_engine_keeps_its_holds(self):
        from vllm.v1.core.sched.interface import PauseState

        e = self.full()
        e.add(prompt(99))
        e.step()  # looked at and not admitted; then paused
        for state in (PauseState.PAUSED_NEW, PauseState.PAUSED_ALL):
            e.scheduler.set_pause_state(state)
            for _ in range(10):
                e.step()
                e.now += 1
        self.assertEqual(len(e.connector._holds), 10)

    def test_a_request_that_outgrows_the_rest_waits_once(self):
        for in_flight in (1, 2):
            e = self.full(in_flight=in_flight)
            r = e.add(prompt(58, 0), max_tokens=20 * BLOCK)
            waited, before = 0.0, 0
            for _ in range(2000):
                if r.request_id in e.ended:
                    break
                if not e.step():
                    waited += 0.02
                e.now += 0.02
            self.assertIn(r.request_id, e.ended)
            self.assertEqual(r.num_preemptions, 1)
            self.assertLess(waited, 0.7)
            self.assertGreaterEqual(len(e.connector._holds), 4)

    def test_who_leaves_takes_the_stall_along(self):
        e = self.full()
        r = e.add(prompt(99))
        e.step()
        e.now += 0.4
        e.scheduler.finish_requests(r.request_id, RequestStatus.FINISHED_ABORTED)
        e.now += 100  # the engine sleeps
        e.add(prompt(90))
        e.step()
        e.step()
        self.assertEqual(len(e.connector._holds), 10)
        e.now += 0.6
        e.run()
        self.assertLess(len(e.connector._holds), 10)


class Hybrid(unittest.TestCase):
    """Two groups of layers, one with a sliding window of 64 tokens."""

    def test_survives_and_ends(self):
        e, p = Engine(window=64), prompt(8)
        answer = hold(e, p)
        self.assertGreaterEqual(answer["held"], 8 + 3)  # all of one group, a window of the other
        for _ in range(5):
            flood(e)
            self.assertEqual(e.hits(p), 128)
        release(e, "*")
        flood(e)
        self.assertEqual((e.hits(p), e.in_use(), e.connector._failures), (0, 0, 0))

    def test_gives_way(self):
        e = Engine(window=64, max_share=0.6)
        for i in range(5):
            self.assertGreaterEqual(hold(e, prompt(5), f"h{i}", 900)["held"], 5)
        r = e.add(prompt(45))
        start = e.now
        while r.request_id not in e.ended and e.now < start + 5:
            e.step()
            e.now += 0.01
        self.assertLess(e.now - start, 0.7)
        self.assertGreater(e.connector._gave_way, 0)
        e.run()
        release(e, "*")
        self.assertEqual((e.in_use(), e.connector._failures), (0, 0))

    def test_holds_stay_while_anything_is_scheduled(self):
        e = Engine(window=64, max_share=0.6, in_flight=2)
        for i in range(4):
            hold(e, prompt(5), f"h{i}", 900)
        for _ in range(30):
            e.add(prompt(8), max_tokens=20)
        e.run(seconds=2.0)
        self.assertEqual((len(e.connector._holds), e.connector._gave_way), (4, 0))


class Hostile(unittest.TestCase):
    def value(self, depth=0):
        pick = rnd.randrange(12 if depth < 3 else 9)
        return (
            None if pick == 0 else rnd.random() < 0.5 if pick == 1 else rnd.choice((
                0, 1, -1, 2**31, 2**53, 2**64, -(2**70), 10**300)) if pick == 2
            else rnd.choice((0.0, 1.0, -1.5, 1e308, float("inf"), float("nan"))) if pick == 3
            else "" if pick == 4 else "x" * rnd.choice((1, 64, 128, 129, 10_000)) if pick == 5
            else "".join(chr(rnd.choice((0, 10, 97, 233, 0x4e2d, 0x1f600))) for _ in range(9))
            if pick == 6 else "%064x" % rnd.getrandbits(256) if pick == 7
            else rnd.choice(("hold", "release", "list", "*", "h1")) if pick == 8
            else [self.value(depth + 1) for _ in range(rnd.randrange(5))] if pick == 9
            else {rnd.choice(("v", "op", "id", "a", "")): self.value(depth + 1)
                  for _ in range(rnd.randrange(5))} if pick == 10
            else [rnd.choice(("a", 1, None))] * rnd.choice((1, 1000, 1001, 5000)))

    def hostile(self, e, tokens, old):
        kind = rnd.randrange(8)
        if kind == 0:
            return self.value()
        if kind == 1 and old:
            return rnd.choice(old)  # a replay
        if kind < 5:
            good = body(e, tokens=tokens, id=f"h{rnd.randrange(40)}", ttl=rnd.randrange(1, 2000))
        elif kind == 5:
            good = body(e, "release", ids=rnd.choice((["*"], [f"h{rnd.randrange(40)}"], ["h1"] * 9)))
        else:
            good = body(e, "list")
        if rnd.random() < 0.4:
            good[rnd.choice(("v", "op", "at", "id", "ttl", "ids", "proof", "other"))] = self.value()
        else:
            old.append(good)
        del old[:-100]
        return good

    def check(self, e):
        c = e.connector
        blocks = [b.block_id for _, held in c._holds.values() for b in held]
        self.assertEqual(set(blocks), set(c._refs))
        self.assertEqual(len(blocks), sum(c._refs.values()))
        self.assertLessEqual(len(c._refs), c._most())

    def test_a_hundred_thousand_bodies(self):
        e, old = Engine(max_share=0.2), []
        c = e.connector
        running = [e.add(prompt(n), 1000) for n in (2, 5, 9, 14)]  # whose blocks may be held
        e.step()
        ids = [e.scheduler.kv_cache_manager.get_block_ids(r.request_id) for r in running]
        ends = [RequestStatus.FINISHED_LENGTH_CAPPED] * 5 + [
            s for s in RequestStatus if RequestStatus.is_finished(s)]
        refusals = {}
        for n in range(100_000):
            i = rnd.randrange(4)
            like = running[i]
            b = self.hostile(e, like.prompt_token_ids, old)
            r = like.__class__.__new__(like.__class__)
            r.__dict__.update(like.__dict__)
            r.request_id = f"x{n}"
            r.kv_transfer_params = rnd.choice(
                ({"holdfast": b},) * 9 + ({"holdfast": b, "do_remote_prefill": True}, b))
            r.status = RequestStatus.WAITING
            c.on_new_request(r)
            r.status = rnd.choice(ends)
            delayed, answer = c.request_finished_all_groups(r, ids[i])
            self.assertIs(delayed, False)
            if answer:
                why = answer["holdfast"].get("refused")
                refusals[why] = refusals.get(why, 0) + 1
            self.check(e)
            if rnd.random() < 0.1:
                e.now += rnd.choice((0.1, 5, 100))
                e.wall += rnd.choice((1, 1000, 100_000))
        self.assertEqual(c._failures, 0)
        self.assertEqual((c._asked, set(c._live)), ({}, {r.request_id for r in running}))
        for why in ("request", "proof", "clock", "seen", "share", "aborted", None):
            self.assertGreater(refusals.get(why, 0), 100, refusals)
        e.scheduler.finish_requests(None, RequestStatus.FINISHED_ABORTED)
        release(e, "*")
        self.assertEqual((e.in_use(), c._refs, c._live), (0, {}, {}))
        self.assertTrue(all(b.ref_cnt == 0 for b in e.pool.blocks if not b.is_null))
        print(f"\nvLLM {VERSION}: 100000 bodies, answered with {refusals}")

    def test_through_the_whole_scheduler(self):
        for in_flight in (1, 2):
            e, old = Engine(max_share=0.5, in_flight=in_flight), []
            prompts = [prompt(n) for n in (0, 1, 3, 5, 8, 13, 21)]
            asked = 0
            while asked < 3000:
                for _ in range(rnd.randrange(6)):
                    p = rnd.choice(prompts) if rnd.random() < 0.7 else prompt(rnd.randrange(90))
                    b = self.hostile(e, p, old)
                    r = e.add(p, rnd.randrange(1, 40), {"holdfast": b})
                    asked += 1
                    if rnd.random() < 0.1:
                        e.scheduler.finish_requests(r.request_id, RequestStatus.FINISHED_ABORTED)
                while e.scheduler.get_num_unfinished_requests() > 20:
                    e.step()
                    e.now += rnd.choice((0.001, 0.1, 0.6))
                    self.check(e)
            e.run(seconds=0.1)
            self.assertEqual(e.connector._failures, 0)
            release(e, "*")
            e.now += 1000
            e.run()
            self.assertEqual(
                (e.in_use(), e.connector._refs, e.connector._live, e.connector._asked),
                (0, {}, {}, {}))


class OtherVersions(unittest.TestCase):
    """A name that is missing refuses holds, and requests are served."""

    def refused(self, e):
        p = prompt(4)
        answer = e.ask(p, body(e, tokens=p, id="a", ttl=60))
        self.assertEqual((answer["refused"], answer.get("held", 0)), ("engine", 0))
        flood(e)
        self.assertEqual(e.in_use(), 0)

    def test_no_pool(self):
        e = Engine()
        e.connector._pool = None
        self.refused(e)
        self.assertEqual(e.ask([5], body(e, "list"))["refused"], "engine")

    def test_names_of_the_pool(self):
        for name in ("touch", "blocks", "get_cached_block", "num_gpu_blocks"):
            e = Engine()

            class Without:
                def __getattr__(self, key, pool=e.pool, name=name):
                    if key == name:
                        raise AttributeError(key)
                    return getattr(pool, key)

            e.connector._pool = Without()
            self.refused(e)

    def test_a_pool_that_cannot_free(self):
        e = Engine()
        hold(e, prompt(3))
        real, e.pool.free_blocks = e.pool.free_blocks, None
        e.now += 100
        e.connector._sweep()
        e.pool.free_blocks = real
        p = prompt(4)
        self.assertEqual(e.ask(p, body(e, tokens=p, id="b", ttl=60))["refused"], "engine")

    def test_requests_that_are_not_announced(self):
        e, p = Engine(), prompt(4)
        e.connector.on_new_request = lambda request: None
        self.assertEqual(e.ask(p, body(e, tokens=p, id="a", ttl=60)), {"v": 1, "refused": "engine"})

    def test_other_requests(self):
        e, p = Engine(), prompt(4)
        r = e.request(p, body={"holdfast": body(e, tokens=p, id="a", ttl=60)})
        r.prompt_token_ids = None
        e.connector.on_new_request(r)
        self.assertEqual(e.connector._asked[r.request_id].answer["refused"], "request")
        r.prompt_token_ids = [-1]
        e.connector.on_new_request(r)
        self.assertEqual(e.connector._asked[r.request_id].answer["refused"], "engine")

    def test_no_prefix_caching(self):
        e = Engine(prefix_caching=False)
        p = prompt(4)
        self.assertEqual(e.ask(p, body(e, tokens=p, id="a", ttl=60))["refused"], "engine")

    def test_steps_that_are_not_understood(self):
        e = Engine()
        hold(e, prompt(4))
        self.assertEqual(e.in_use(), 4)
        self.assertIsNotNone(e.connector.build_connector_meta(None))
        self.assertEqual((e.in_use(), e.connector._refs), (0, {}))  # nothing that could stand in the way
        p = prompt(4)
        self.assertEqual(hold(e, p)["refused"], "engine")
        e = Engine(max_share=0.9)
        for i in range(8):
            hold(e, prompt(10), f"h{i}")
        del e.connector._max_model_len
        r = e.add(prompt(50))
        e.step()
        e.now += 1
        e.run()
        self.assertIn(r.request_id, e.ended)
        self.assertEqual(e.in_use(), 0)
        self.assertEqual(e.connector.get_num_new_matched_tokens(None, None), (0, False))


if __name__ == "__main__":
    unittest.main(verbosity=2)
