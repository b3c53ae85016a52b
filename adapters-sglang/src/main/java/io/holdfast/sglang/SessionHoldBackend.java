package io.holdfast.sglang;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.Reply;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.random.RandomGenerator;

/** Holds prefixes on a stock SGLang engine that runs with {@code --enable-session-radix-cache}. */
public final class SessionHoldBackend implements Backend {
    /*
     * A request that names a session makes the session refer to its prefix, and what sessions refer to is evicted last.
     * So a hold is one request of the prefix itself, for a single token, in a session of its own; closing the session
     * releases it. The protection is soft: where nothing else is left the engine evicts it all the same, so no pin can
     * stop the engine.
     *
     * A session that was closed is ignored from then on, so an id is never used twice: it has a part that is this
     * process's own, and the number of the hold and of the attempt. The answer to a closing is the same whether the
     * session was open, so it tells nothing but that it is closed now.
     */

    /** Name in configuration and ledger. */
    public static final String NAME = "session_hold";

    public static final BackendTraits TRAITS =
            BackendTraits.soft().needing(Need.TOKENS).withSilentRelease();
    /** First release that evicts last what sessions refer to; before it the same flag means something else. */
    private static final EngineVersion FIRST = new EngineVersion(0, 5, 17);
    /** Before this release the tree that knows of sessions has to be enabled. */
    private static final EngineVersion ONE_TREE = new EngineVersion(0, 5, 19);

    private static final String GENERATE = "/generate";

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
    public SessionHoldBackend(EngineHttp http, ScheduledExecutorService timer, RandomGenerator random) {
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
        return ServerInfo.asked(http, timer, SessionHoldBackend::judge);
    }

    private static Capabilities judge(ServerInfo info) {
        Optional<Capabilities> hindrance = info.hindrance();
        if (hindrance.isPresent()) {
            return hindrance.get();
        }
        Optional<EngineVersion> version = info.version();
        if (version.filter(its -> its.isBefore(FIRST)).isPresent()) {
            return new Capabilities(
                    false,
                    "Sessions of SGLang " + version.get() + " protect nothing, since it only frees at their end what"
                            + " they used: use SGLang " + FIRST + " or later.");
        }
        return info.flag("enable_session_radix_cache")
                ? new Capabilities(true, "The engine keeps what sessions refer to.")
                : new Capabilities(
                        false,
                        "The engine does not keep what sessions refer to: start it with"
                                + (version.filter(its -> its.isBefore(ONE_TREE)).isPresent()
                                        ? " SGLANG_ENABLE_UNIFIED_RADIX_TREE=1 in its environment and"
                                        : "")
                                + " --enable-session-radix-cache.");
    }

    @Override
    public String handle(PinCommand command) {
        return "holdfast-" + ownPart + "-" + command.holdId() + "-" + command.attempt();
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        Optional<int[]> tokens = command.prefix().tokens();
        if (tokens.isEmpty()) {
            return CompletableFuture.completedFuture(new Outcome(
                    Outcome.Kind.REJECTED, "A session is made by sending the prefix, and its tokens are not known."));
        }
        int[] held = command.prefix().tokensOf(command.blocks());
        return http.waiting(GenerateSender.QUEUE)
                .post(GENERATE, GenerateSender.body(held, "\"session_id\":\"" + handle(command) + "\","))
                .thenApply(reply -> pinned(reply, held.length));
    }

    private static Outcome pinned(Reply reply, int tokens) {
        return Answers.trouble(reply, SglangSessions.NO_ROUTE)
                .orElseGet(() -> new Outcome(
                        Outcome.Kind.ACCEPTED,
                        "The engine stored " + tokens + " tokens in a session of their own.",
                        GenerateSender.cached(reply)));
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return sessions.close(handles);
    }
}
