package io.holdfast.sglang;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.Backend;
import io.holdfast.core.BackendTraits;
import io.holdfast.core.Capabilities;
import io.holdfast.core.Outcome;
import io.holdfast.core.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/*
 * Pins on SGLang branches that have /hicache/pin_blocks and lock blocks on the GPU.
 *
 * One block. The engine's lock walks from the pinned block to the root, so a path needs one hash: its last block. That
 * block must have ended an insertion. The engine's index leads from a hash to the node that the insertion made, and only
 * for an insertion's last block is that node certain to be alive or forgotten; for any other it can be a dead node, and a
 * pin and unpin of a dead node kill the scheduler. The command vouches for it.
 *
 * Counting. The engine counts pins per hash, so a repeated pin needs a repeated unpin: a call is sent once, and silence is
 * told as silence, a call that never left as that. A count of 0 is an answer: no such block (pin), or no longer pinned
 * (unpin), because the engine unpinned everything under pressure or was flushed. An unpin may name several blocks, and the
 * count then is of those that were pinned, whichever they are.
 *
 * Caches. A pin reaches every data-parallel rank, and each has a cache of its own. That a block ended an insertion is known
 * of one of them only; in another the same hash may lead to a dead node. So an engine with several caches is never pinned.
 *
 * Probe. Pinning an empty list changes nothing and tells the variants apart: no route on a stock engine; a refusal that
 * asks for the host tier on the branch that pins host copies, which is another promise altogether; a count of 0 here.
 * With the host tier on, this branch counts 0 for ever, as it does without events, which fill its index.
 *
 * Silence. An engine that starts, or is too busy to answer, has said nothing about what it can do: the probe is asked again
 * until a real answer comes, and whoever waits for it waits. Only the end of the timer ends that without one.
 */

/** Holds prefixes on the GPU of an SGLang engine that has {@code pin_blocks}. */
public final class PinBlocksBackend implements Backend {
    /** What configuration and ledger call it. */
    public static final String NAME = "pin_blocks";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PIN = "/hicache/pin_blocks";
    private static final String UNPIN = "/hicache/unpin_blocks";
    private static final String MAYBE_DONE = " The engine may have carried it out all the same.";
    private static final String NO_ROUTE = "This engine has no pin_blocks route, as only SGLang branches do.";
    private static final String OTHER_WAYS = NO_ROUTE
            + " A stock engine keeps prefixes by sessions (--enable-session-radix-cache) or by priorities"
            + " (--radix-eviction-policy priority) instead; use the backend dry_run to see what pins would do.";
    private static final String HOST_VARIANT = "This engine's pin_blocks pins copies in host memory, not on the GPU,"
            + " which this backend does not support.";

    private static final BackendTraits TRAITS = new BackendTraits(true, true, false, true, false, true);
    private static final long ASK_AGAIN_MILLIS = 500;

    private final EngineHttp http;
    private final ScheduledExecutorService timer;

    /**
     * Speaks to one engine.
     *
     * @param timer paces the probes of an engine that does not answer; once it is shut down, silence is taken for a no
     */
    public PinBlocksBackend(EngineHttp http, ScheduledExecutorService timer) {
        this.http = http;
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
        CompletableFuture<Capabilities> told = new CompletableFuture<>();
        probe(told);
        return told;
    }

    private void probe(CompletableFuture<Capabilities> told) {
        CompletionStage<Void> unused = http.post(PIN, "{\"block_hashes\":[]}")
                .thenAcceptBoth(
                        http.get(ServerInfo.PATH),
                        (pin, info) -> silence(pin, info)
                                .ifPresentOrElse(why -> probeLater(told, why), () -> told.complete(judge(pin, info))));
    }

    private void probeLater(CompletableFuture<Capabilities> told, String why) {
        try {
            Future<?> unused = timer.schedule(() -> probe(told), ASK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            told.complete(cannot(why));
        }
    }

    /** Why the answers say nothing about what the engine can do; empty when they do say it. */
    private static Optional<String> silence(Reply pin, Reply info) {
        Optional<String> silence = silence(pin);
        boolean infoMatters = pin instanceof Reply.Answer answer && answer.status() == 200;
        return silence.isEmpty() && infoMatters ? silence(info) : silence;
    }

    private static Optional<String> silence(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Optional.of(lost.why());
            case Reply.Answer answer
            when busy(answer) ->
                Optional.of("The engine answered a probe with HTTP " + answer.status() + ": " + said(answer));
            case Reply.Answer answer -> Optional.empty();
        };
    }

    private static boolean busy(Reply.Answer answer) {
        return answer.status() == 429 || answer.status() >= 500;
    }

    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        String block = handle(command);
        return http.post(PIN, body(List.of(block))).thenApply(reply -> pinned(reply, block));
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return http.post(UNPIN, body(handles)).thenApply(reply -> unpinned(reply, handles));
    }

    private static String body(List<String> handles) {
        return "{\"block_hashes\":[" + String.join(",", handles) + "]}";
    }

    private static Outcome pinned(Reply reply, String block) {
        return switch (Count.of(reply, "pinned_count")) {
            case Count.None none -> none.outcome();
            case Count.Of count
            when count.blocks() > 0 ->
                outcome(Outcome.Kind.ACCEPTED, "The engine pinned block " + block + " and the path to it.");
            case Count.Of count ->
                outcome(
                        Outcome.Kind.MISSING,
                        "The engine has no block " + block + " to pin: it was evicted in the meantime.");
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

    /** How many blocks the engine says it pinned or unpinned. */
    private sealed interface Count {
        record Of(long blocks) implements Count {}

        /** It did not say. */
        record None(Outcome outcome) implements Count {}

        static Count of(Reply reply, String counter) {
            return switch (reply) {
                case Reply.NoAnswer lost when lost.maybeDone() -> none(Outcome.Kind.DEFERRED, lost.why() + MAYBE_DONE);
                case Reply.NoAnswer lost -> none(Outcome.Kind.NOT_SENT, lost.why() + " It was not carried out.");
                case Reply.Answer answer
                when answer.status() == 200 -> {
                    JsonNode count = json(answer).path(counter);
                    yield count.isIntegralNumber()
                            ? new Of(count.longValue())
                            : none(
                                    Outcome.Kind.DEFERRED,
                                    "The engine answered without a " + counter + ": " + said(answer) + MAYBE_DONE);
                }
                case Reply.Answer answer when answer.status() == 404 -> none(Outcome.Kind.REJECTED, NO_ROUTE);
                case Reply.Answer answer
                when answer.status() == 401 || answer.status() == 403 -> none(Outcome.Kind.REJECTED, key(answer));
                case Reply.Answer answer
                when busy(answer) ->
                    none(
                            Outcome.Kind.DEFERRED,
                            "The engine answered HTTP " + answer.status() + ": " + said(answer) + MAYBE_DONE);
                case Reply.Answer answer ->
                    none(
                            Outcome.Kind.REJECTED,
                            "The engine refused with HTTP " + answer.status() + ": " + said(answer));
            };
        }

        private static Count none(Outcome.Kind kind, String reason) {
            return new None(outcome(kind, reason));
        }
    }

    private static Outcome outcome(Outcome.Kind kind, String reason) {
        return new Outcome(kind, reason);
    }

    private static Capabilities judge(Reply pin, Reply info) {
        return switch (pin) {
            case Reply.NoAnswer lost -> cannot(lost.why());
            case Reply.Answer answer when answer.status() == 404 || answer.status() == 405 -> cannot(OTHER_WAYS);
            case Reply.Answer answer when answer.status() == 401 || answer.status() == 403 -> cannot(key(answer));
            case Reply.Answer answer
            when said(answer).contains("requires --enable-hierarchical-cache") -> cannot(HOST_VARIANT);
            case Reply.Answer answer
            when answer.status() != 200 ->
                cannot("The engine refused to pin nothing with HTTP " + answer.status() + ": " + said(answer));
            case Reply.Answer answer
            when !json(answer).path("pinned_count").isIntegralNumber() ->
                cannot("The engine answered without a pinned_count: " + said(answer));
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
        if (info.caches() > 1) {
            return cannot("This engine has " + info.caches()
                    + " caches (data-parallel ranks), and a pin reaches all of them while only the first is followed:"
                    + " run one engine per rank, each with a sidecar's engine of its own.");
        }
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
        if (info.number("page_size").orElse(0) == 1) {
            why += " Its blocks are single tokens (page_size 1), which makes events costly: start it with --page-size"
                    + " 16 or more.";
        }
        return new Capabilities(true, why);
    }

    private static Capabilities cannot(String why) {
        return new Capabilities(false, why);
    }

    private static String key(Reply.Answer answer) {
        return "The engine wants another key for pins (HTTP " + answer.status()
                + "): where it has an admin key, that one must be in the Authorization header.";
    }

    /** The engine's own words, as a sentence's end. */
    private static String said(Reply.Answer answer) {
        String message = json(answer).path("message").asText("");
        String text = message.isEmpty() ? answer.body().strip() : message;
        String shortened = text.length() > 200 ? text.substring(0, 200) + "…" : text;
        return shortened.endsWith(".") ? shortened : shortened + ".";
    }

    private static JsonNode json(Reply.Answer answer) {
        try {
            return JSON.readTree(answer.body());
        } catch (JsonProcessingException e) {
            return JSON.missingNode();
        }
    }
}
