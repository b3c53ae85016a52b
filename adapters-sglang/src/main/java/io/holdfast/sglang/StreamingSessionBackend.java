package io.holdfast.sglang;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.Reply;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** Holds prefixes on a stock SGLang engine that runs with {@code --enable-streaming-session}. */
public final class StreamingSessionBackend implements Backend {
    /*
     * The first request of a streaming session locks what it finds of its prompt in the cache, until the session is
     * closed or had no request for its time. So a hold is a session with one request of the prefix, for a single token.
     * What that request does not find stays the session's own and helps nobody, so its answer has to say that it found
     * all of the prefix; where it did not, the session is closed at once. One token more than whole blocks is sent,
     * since the engine never finds a prompt's last token; it takes a block of its own in each session.
     *
     * A further request of a session would go on after the first and make it longer. So a renewal opens a second
     * session over the prefix, and closes the first when the second holds: the prefix is locked all the time. Each hold
     * has two ids that take turns, and an unpin closes both, whatever a renewal left. The engine itself knows which of
     * the two is open, so nothing is remembered here: the one that can be opened is the next. Where neither can, a
     * session that an earlier call had no clear answer about is there still, and its time runs out before the hold's.
     *
     * The first part of the ids is this process's own; what it leaves behind ends in time.
     */

    /** Name in configuration and reasons. */
    public static final String NAME = "streaming_session";

    private static final Duration TIME = Duration.ofSeconds(60);
    private static final Duration RENEWED = Duration.ofSeconds(20);

    public static final BackendTraits TRAITS =
            BackendTraits.hard().needing(Need.TOKENS).leasedFor(TIME, RENEWED).withBlocksBeside(2);

    /** First release that was tried; earlier ones have the flag and could stop under load. */
    private static final EngineVersion FIRST = new EngineVersion(0, 5, 23);

    private static final String OPEN = "/open_session";
    private static final String GENERATE = "/generate";
    private static final String STILL_OPEN = "still open";

    private final EngineHttp http;
    private final SglangSessions sessions;
    private final ScheduledExecutorService timer;
    private final String ownPart;

    /**
     * Speaks to one engine.
     *
     * @param timer paces the probes of an engine that does not answer; once it is shut down, silence is taken for a no
     * @param random tells the sessions of this process from those of any other
     */
    public StreamingSessionBackend(EngineHttp http, ScheduledExecutorService timer, RandomGenerator random) {
        this.http = http;
        this.sessions = new SglangSessions(http);
        this.timer = timer;
        this.ownPart = HexFormat.of().toHexDigits(random.nextLong());
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
        return ServerInfo.asked(http, timer, StreamingSessionBackend::judge);
    }

    private static Capabilities judge(ServerInfo info) {
        Optional<Capabilities> hindrance = info.hindrance();
        if (hindrance.isPresent()) {
            return hindrance.get();
        }
        Optional<EngineVersion> version = info.version();
        if (version.filter(its -> its.isBefore(FIRST)).isPresent()) {
            return cannot(
                    "Streaming sessions of SGLang " + version.get() + " were not tried, and some early releases stop"
                            + " with them under load: use SGLang " + FIRST + " or later.");
        }
        if (!info.flag("enable_streaming_session")) {
            return cannot("The engine has no streaming sessions: start it with --enable-streaming-session.");
        }
        Optional<String> untried = Stream.of("enable-session-radix-cache", "enable-hierarchical-cache")
                .filter(flag -> info.flag(flag.replace('-', '_')))
                .findFirst();
        if (untried.isPresent()) {
            return cannot("Streaming sessions were not tried beside --" + untried.get()
                    + ": start the engine without one of the two.");
        }
        return new Capabilities(
                true,
                "The engine's streaming sessions lock what they found in the cache for " + TIME.toSeconds()
                        + " s at a time.");
    }

    private static Capabilities cannot(String why) {
        return new Capabilities(false, why);
    }

    @Override
    public String handle(PinCommand command) {
        return "holdfast-" + ownPart + "-" + command.holdId() + "-" + command.attempt();
    }

    private static String one(String handle) {
        return handle + "-a";
    }

    private static String other(String handle) {
        return handle + "-b";
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        if (command.prefix().tokens().isEmpty()) {
            return done(new Outcome(
                    Kind.REJECTED, "A session is made by sending the prefix, and its tokens are not known."));
        }
        String session = one(handle(command));
        return open(session).thenCompose(opening -> switch (opening) {
            case Opening.Done done -> hold(session, command);
            case Opening.Failed failed -> done(failed.outcome());
            case Opening.OpenBefore before -> done(before.outcome());
        });
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        String one = one(handle(command));
        String other = other(handle(command));
        return open(one).thenCompose(opening -> switch (opening) {
            case Opening.Done done -> holdInPlaceOf(other, one, command);
            case Opening.Failed failed -> done(failed.outcome());
            case Opening.OpenBefore before ->
                open(other).thenCompose(second -> switch (second) {
                    case Opening.Done done -> holdInPlaceOf(one, other, command);
                    case Opening.Failed failed -> done(failed.outcome());
                    case Opening.OpenBefore both -> done(both.outcome());
                });
        });
    }

    private CompletionStage<Outcome> holdInPlaceOf(String last, String next, PinCommand command) {
        return hold(next, command)
                .thenCompose(outcome -> outcome.kind() == Kind.ACCEPTED
                        // What becomes of it does not matter: the next renewal waits until its time has run out.
                        ? sessions.close(last).thenApply(closed -> outcome)
                        : done(outcome));
    }

    /** Result of opening a session. */
    private sealed interface Opening {
        record Done() implements Opening {}

        /** An earlier call opened it, and nothing closed it since. */
        record OpenBefore(String session) implements Opening {
            Outcome outcome() {
                return new Outcome(
                        Kind.NOT_SENT,
                        "The session " + session + " is open from an earlier call until its time runs out.");
            }
        }

        record Failed(Outcome outcome) implements Opening {}
    }

    private CompletionStage<Opening> open(String session) {
        return http.post(
                        OPEN,
                        "{\"capacity_of_str_len\":100000,\"session_id\":\"" + session
                                + "\",\"streaming\":true,\"timeout\":" + TIME.toSeconds() + "}")
                .thenApply(reply -> opening(reply, session))
                // Where nobody knows whether it was opened, it would be in the way of the next renewals.
                .thenCompose(opening -> opening instanceof Opening.Failed failed
                                && failed.outcome().kind() == Kind.DEFERRED
                        ? sessions.close(session).thenApply(closed -> opening)
                        : CompletableFuture.completedFuture(opening));
    }

    private static Opening opening(Reply reply, String session) {
        if (reply instanceof Reply.Answer answer
                && answer.status() == 400
                && answer.said().contains(STILL_OPEN)) {
            return new Opening.OpenBefore(session);
        }
        return Answers.trouble(reply, SglangSessions.NO_ROUTE)
                .<Opening>map(Opening.Failed::new)
                .orElseGet(Opening.Done::new);
    }

    /** Has an open session lock the prefix, or closes it. */
    private CompletionStage<Outcome> hold(String session, PinCommand command) {
        int[] prefix = command.prefix().tokensOf(command.blocks());
        int[] tokens = Arrays.copyOf(prefix, prefix.length + 1);
        tokens[prefix.length] = prefix[prefix.length - 1];
        return http.waiting(GenerateSender.QUEUE)
                .post(GENERATE, GenerateSender.body(tokens, "\"session_params\":{\"id\":\"" + session + "\"},"))
                .thenCompose(reply -> {
                    Outcome outcome = held(reply, prefix.length);
                    return outcome.kind() == Kind.ACCEPTED
                            ? done(outcome)
                            : sessions.close(session).thenApply(closed -> afterClosing(outcome, closed));
                });
    }

    private static Outcome held(Reply reply, int tokens) {
        Optional<Outcome> trouble = Answers.trouble(reply, SglangSessions.NO_ROUTE);
        if (trouble.isPresent()) {
            return trouble.get();
        }
        OptionalLong found = GenerateSender.cached(reply);
        return found.orElse(0) < tokens
                ? new Outcome(
                        Kind.MISSING,
                        "Of " + tokens + " tokens the engine found " + found.orElse(0)
                                + " in its cache, and the rest would be the session's own.",
                        found)
                : new Outcome(Kind.ACCEPTED, "A streaming session locks its " + tokens + " tokens.", found);
    }

    /** Returns the outcome of a hold that was not made: a session that may be open locks a part until its time runs out. */
    private static Outcome afterClosing(Outcome outcome, Outcome closed) {
        return outcome.kind() == Kind.DEFERRED || closed.kind() == Kind.ACCEPTED
                ? outcome
                : new Outcome(
                        Kind.DEFERRED,
                        outcome.reason() + " Its session is not known to be closed. " + closed.reason(),
                        outcome.cachedTokens());
    }

    /** Closes both sessions of each handle, whichever is open. */
    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return sessions.close(handles.stream()
                .flatMap(handle -> Stream.of(one(handle), other(handle)))
                .toList());
    }

    private static CompletionStage<Outcome> done(Outcome outcome) {
        return CompletableFuture.completedFuture(outcome);
    }
}
