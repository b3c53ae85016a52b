package io.holdfast.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.ProbeLoop;
import io.holdfast.http.Reply;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;

/*
 * Pins on SGLang branches that have /hicache/pin_blocks and lock blocks on the GPU.
 *
 * One block. The engine's lock walks from the pinned block to the root, so a path needs one hash: its last block. That
 * block must have ended an insertion. The engine's index leads from a hash to the node that the insertion made, and
 * only for an insertion's last block is that node certain to be alive or forgotten; for any other it can be a dead
 * node, and a pin and unpin of a dead node kill the scheduler. The command vouches for it.
 *
 * Counting. The engine counts pins per hash, so a repeated pin needs a repeated unpin: a call is sent once, and silence
 * is told as silence, a call that never left as that. A count of 0 is an answer: no such block (pin), or no longer
 * pinned (unpin), because the engine unpinned everything under pressure or was flushed. An unpin may name several
 * blocks, and the count then is of those that were pinned, whichever they are.
 *
 * Caches. A pin reaches every data-parallel rank, each with a cache of its own, and the counts of all come added up.
 * The command says how many are known to have the block, and vouches for each; any other count is told as such.
 *
 * Probe. Pinning an empty list changes nothing and tells the variants apart: no route on a stock engine; a refusal that
 * asks for the host tier on the branch that pins host copies, which is another promise altogether; a count of 0 here.
 * With the host tier on, this branch counts 0 for ever, as it does without events, which fill its index.
 */

/** Holds prefixes on the GPU of an SGLang engine that has {@code pin_blocks}. */
public final class PinBlocksBackend implements Backend {
    /** Name in configuration and ledger. */
    public static final String NAME = "pin_blocks";

    private static final String PIN = "/hicache/pin_blocks";
    private static final String UNPIN = "/hicache/unpin_blocks";
    private static final String NO_ROUTE = "This engine has no pin_blocks route, as only SGLang branches do.";
    private static final String OTHER_WAYS = NO_ROUTE
            + " A stock engine keeps prefixes by sessions (--enable-session-radix-cache) or by priorities"
            + " (--radix-eviction-policy priority) instead; use the backend dry_run to see what pins would do.";
    private static final String HOST_VARIANT = "This engine's pin_blocks pins copies in host memory, not on the GPU,"
            + " which this backend does not support.";

    public static final BackendTraits TRAITS = BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);

    private final EngineHttp http;
    private final EngineHttp admin;
    private final ScheduledExecutorService timer;

    /**
     * Speaks to one engine.
     *
     * @param timer paces the probes of an engine that does not answer; once it is shut down, silence is taken for a no
     */
    public PinBlocksBackend(EngineHttp http, ScheduledExecutorService timer) {
        this(http, http, timer);
    }

    /**
     * Creates the backend of an engine with another key for pins, in {@code admin}; the engine takes it for nothing
     * else.
     */
    public PinBlocksBackend(EngineHttp http, EngineHttp admin, ScheduledExecutorService timer) {
        this.http = http;
        this.admin = admin;
        this.timer = timer;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public BackendTraits traits() {
        return TRAITS;
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        return new ProbeLoop<>(
                        timer,
                        () -> admin.post(PIN, "{\"block_hashes\":[]}")
                                .thenCombine(http.get(ServerInfo.PATH), PinBlocksBackend::attempt),
                        why -> new Capabilities(false, why))
                .answer();
    }

    private static ProbeLoop.Attempt<Capabilities> attempt(Reply pin, Reply info) {
        Optional<String> silence = Answers.whyUnanswered(pin);
        if (silence.isEmpty() && pin instanceof Reply.Answer answer && answer.status() == 200) {
            silence = Answers.whyUnanswered(info);
        }
        return new ProbeLoop.Attempt<>(silence, () -> judge(pin, info));
    }

    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        String block = handle(command);
        return admin.post(PIN, body(List.of(block))).thenApply(reply -> pinned(reply, block, command.caches()));
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return admin.post(UNPIN, body(handles)).thenApply(reply -> unpinned(reply, handles));
    }

    private static String body(List<String> handles) {
        return "{\"block_hashes\":[" + String.join(",", handles) + "]}";
    }

    private static Outcome pinned(Reply reply, String block, int caches) {
        return switch (Count.of(reply, "pinned_count")) {
            case Count.None none -> none.outcome();
            case Count.Of count
            when count.blocks() <= 0 ->
                outcome(
                        Outcome.Kind.MISSING,
                        "The engine has no block " + block + " to pin: it was evicted in the meantime.");
            case Count.Of count
            when count.blocks() != caches ->
                new Outcome(
                        Outcome.Kind.CLIPPED,
                        "The engine pinned block " + block + " in " + count.blocks() + " of its caches, and " + caches
                                + (caches == 1 ? " was" : " were") + " known to have it.",
                        (int) Math.min(count.blocks(), Integer.MAX_VALUE));
            case Count.Of count ->
                outcome(
                        Outcome.Kind.ACCEPTED,
                        "The engine pinned block " + block + " and the path to it"
                                + (caches == 1 ? "." : ", in " + caches + " caches."));
        };
    }

    private static Outcome unpinned(Reply reply, List<String> handles) {
        String blocks = handles.size() == 1 ? "block " + handles.getFirst() : handles.size() + " blocks";
        return switch (Count.of(reply, "unpinned_count")) {
            case Count.None none -> none.outcome();
            case Count.Of count
            when count.blocks() <= 0 ->
                outcome(
                        Outcome.Kind.MISSING,
                        "The engine no longer held " + blocks
                                + ": it had unpinned under pressure, or its cache was flushed.");
            case Count.Of count
            when handles.size() > 1 && count.blocks() != handles.size() ->
                outcome(
                        Outcome.Kind.CLIPPED,
                        "The engine unpinned " + count.blocks() + " of " + blocks + " and does not say which.");
            case Count.Of count -> outcome(Outcome.Kind.ACCEPTED, "The engine unpinned " + blocks + ".");
        };
    }

    /** Number of blocks that the engine says it pinned or unpinned. */
    private sealed interface Count {
        record Of(long blocks) implements Count {}

        /** It did not say. */
        record None(Outcome outcome) implements Count {}

        static Count of(Reply reply, String counter) {
            Optional<Outcome> trouble = Answers.trouble(reply, NO_ROUTE);
            if (trouble.isPresent() || !(reply instanceof Reply.Answer answer)) {
                return new None(trouble.orElseThrow());
            }
            JsonNode count = answer.json().path(counter);
            return count.isIntegralNumber()
                    ? new Of(count.longValue())
                    : new None(Answers.unclear("The engine answered without a " + counter + ": " + answer.said())
                            .orElseThrow());
        }
    }

    private static Outcome outcome(Outcome.Kind kind, String reason) {
        return new Outcome(kind, reason);
    }

    private static Capabilities judge(Reply pin, Reply info) {
        return switch (pin) {
            case Reply.NoAnswer lost -> cannot(lost.why());
            case Reply.Answer answer when answer.status() == 404 || answer.status() == 405 -> cannot(OTHER_WAYS);
            case Reply.Answer answer when answer.wantsKey() -> cannot(Answers.anotherKey(answer));
            case Reply.Answer answer
            when answer.said().contains("requires --enable-hierarchical-cache") -> cannot(HOST_VARIANT);
            case Reply.Answer answer
            when answer.status() != 200 ->
                cannot("The engine refused to pin nothing with HTTP " + answer.status() + ": " + answer.said());
            case Reply.Answer answer
            when !answer.json().path("pinned_count").isIntegralNumber() ->
                cannot("The engine answered without a pinned_count: " + answer.said());
            case Reply.Answer answer ->
                switch (ServerInfo.read(info)) {
                    case ServerInfo.Read.Failed failed ->
                        cannot("The engine has pin_blocks, but whether it publishes events is not known. "
                                + failed.why());
                    case ServerInfo.Read.Done done -> judge(done.info());
                };
        };
    }

    private static Capabilities judge(ServerInfo info) {
        if (info.flag("enable_hierarchical_cache")) {
            return cannot(
                    "This engine runs with --enable-hierarchical-cache, under which pin_blocks pins nothing on the"
                            + " GPU: start it without.");
        }
        if (!info.publishesEvents()) {
            return cannot(
                    "The engine has pin_blocks, but fills its index of blocks only when it publishes events: start"
                            + " it with --kv-events-config.");
        }
        String why = "The engine has pin_blocks and publishes events.";
        if (info.caches() > 1) {
            why += " It has " + info.caches()
                    + " caches (data-parallel ranks), and a pin reaches all that have the block.";
        }
        if (info.number("page_size").orElse(0) == 1) {
            why += " Its blocks are single tokens (page_size 1), which makes events costly: start it with --page-size"
                    + " 16 or more.";
        }
        return new Capabilities(true, why, info.caches());
    }

    private static Capabilities cannot(String why) {
        return new Capabilities(false, why);
    }
}
