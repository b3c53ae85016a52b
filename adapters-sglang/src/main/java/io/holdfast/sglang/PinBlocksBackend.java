package io.holdfast.sglang;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.Backend;
import io.holdfast.core.Capabilities;
import io.holdfast.core.Outcome;
import io.holdfast.core.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
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
 * told as silence. A count of 0 is an answer: no such block (pin), or no longer pinned (unpin), because the engine
 * unpinned everything under pressure or was flushed.
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
        return "pin_blocks";
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
    public CompletionStage<Outcome> pin(PinCommand command) {
        return http.post(PIN, body(command)).thenApply(reply -> outcome(reply, "pinned_count", command, true));
    }

    @Override
    public CompletionStage<Outcome> unpin(PinCommand command) {
        return http.post(UNPIN, body(command)).thenApply(reply -> outcome(reply, "unpinned_count", command, false));
    }

    private static String body(PinCommand command) {
        return "{\"block_hashes\":[" + command.lastBlock() + "]}";
    }

    private static Outcome outcome(Reply reply, String counter, PinCommand command, boolean pin) {
        String block = "block " + command.lastBlock();
        return switch (reply) {
            case Reply.NoAnswer lost ->
                outcome(
                        Outcome.Kind.DEFERRED,
                        lost.why() + (lost.maybeDone() ? MAYBE_DONE : " It was not carried out."));
            case Reply.Answer answer
            when answer.status() == 200 -> {
                JsonNode count = json(answer).path(counter);
                if (!count.isIntegralNumber()) {
                    yield outcome(
                            Outcome.Kind.DEFERRED,
                            "The engine answered without a " + counter + ": " + said(answer) + MAYBE_DONE);
                }
                if (count.longValue() > 0) {
                    yield outcome(
                            Outcome.Kind.ACCEPTED,
                            pin
                                    ? "The engine pinned " + block + " and the path to it."
                                    : "The engine unpinned " + block + ".");
                }
                yield outcome(
                        Outcome.Kind.MISSING,
                        pin
                                ? "The engine has no " + block + " to pin: it was evicted in the meantime."
                                : "The engine no longer held " + block
                                        + ": it had unpinned it under pressure, or its cache was flushed.");
            }
            case Reply.Answer answer when answer.status() == 404 -> outcome(Outcome.Kind.REJECTED, NO_ROUTE);
            case Reply.Answer answer
            when answer.status() == 401 || answer.status() == 403 -> outcome(Outcome.Kind.REJECTED, key(answer));
            case Reply.Answer answer
            when busy(answer) ->
                outcome(
                        Outcome.Kind.DEFERRED,
                        "The engine answered HTTP " + answer.status() + ": " + said(answer) + MAYBE_DONE);
            case Reply.Answer answer ->
                outcome(Outcome.Kind.REJECTED, "The engine refused with HTTP " + answer.status() + ": " + said(answer));
        };
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
        return new Capabilities(true, false, true, why);
    }

    private static Capabilities cannot(String why) {
        return new Capabilities(false, false, true, why);
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
