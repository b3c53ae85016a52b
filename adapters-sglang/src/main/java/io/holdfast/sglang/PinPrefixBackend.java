package io.holdfast.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;

/** Holds prefixes in the host memory of an SGLang engine that has {@code pin_prefix}, as only 0.5.10rc0 does. */
public final class PinPrefixBackend implements Backend {
    /*
     * A pin keeps the host copy of a prefix for a time, and nothing takes it back. Its time begins anew with each use of the
     * prefix, so traffic can make it last; and it only ever grows, so whoever asks for a long one once has it for as long as
     * there is traffic. So the time is short, and the pin is asked for again while it is needed. What is left of a process
     * that was killed is over within that time.
     *
     * The GPU copy is evicted as any other. A use after that pays for loading it from host memory, and for no prefill.
     *
     * The engine has a budget for pins of its own, a part of its host memory. What goes beyond is pinned in part, with a yes
     * that says so, or not at all, with a no: then there is nothing that lasts a minute, and the next try waits for room. When the host memory itself is full it drops pins without a word; its events then say
     * that the blocks are gone, since this version announces a removal only when both copies are.
     */

    /** What configuration and reasons call it. */
    public static final String NAME = "pin_prefix";

    /** How long a pin lasts without a renewal or a use. */
    static final Duration TIME = Duration.ofSeconds(60);

    private static final Duration RENEWED = Duration.ofSeconds(20);

    public static final BackendTraits TRAITS = BackendTraits.soft()
            .needing(Need.TOKENS)
            .byCall()
            .endingAfter(TIME, RENEWED)
            .namedOnly();
    private static final String PIN = "/hicache/pin_prefix";
    private static final String NO_ROUTE =
            "This engine has no pin_prefix route, as only SGLang 0.5.10rc0 does; newer ones keep prefixes by sessions"
                    + " (--enable-session-radix-cache) or by priorities (--radix-eviction-policy priority) instead.";
    private static final String ADMIN_KEY =
            "The engine pins only for an administrator: start it with --admin-api-key, and"
                    + " name the environment variable that has the key with adminKeyEnv.";
    private static final String HOST_TIER =
            "The engine keeps no copies in host memory, which is what is pinned: start it with"
                    + " --enable-hierarchical-cache.";
    private static final String SWITCHED_OFF = "The engine's pins are switched off: start it with"
        + " SGLANG_HICACHE_MAX_PINNED_RATIO in its environment, the part of its host memory that pins may take, such"
        + " as 0.3.";
    private static final String MORE = " A larger SGLANG_HICACHE_MAX_PINNED_RATIO of the engine leaves more to pins.";

    private final EngineHttp http;
    private final EngineHttp admin;
    private final ScheduledExecutorService timer;

    /**
     * Speaks to one engine.
     *
     * @param admin the same conversation with the administrator's key, without which it pins nothing
     * @param timer paces the probes of an engine that does not answer; once it is shut down, silence is taken for a no
     */
    public PinPrefixBackend(EngineHttp http, EngineHttp admin, ScheduledExecutorService timer) {
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

    /** Pinning no tokens pins nothing, and comes as far as a pin would. */
    @Override
    public CompletionStage<Capabilities> probe() {
        return new ProbeLoop(
                        timer,
                        () -> admin.post(PIN, body(new int[0], 1))
                                .thenCombine(http.get(ServerInfo.PATH), PinPrefixBackend::attempt))
                .answer();
    }

    private static ProbeLoop.Attempt attempt(Reply pin, Reply info) {
        return ProbeLoop.whyUnanswered(pin)
                .or(() -> ProbeLoop.whyUnanswered(info))
                .<ProbeLoop.Attempt>map(ProbeLoop.Attempt.Unanswered::new)
                .orElseGet(() -> new ProbeLoop.Attempt.Answered(judge(pin, info)));
    }

    private static Capabilities judge(Reply pin, Reply info) {
        Optional<Outcome> trouble = trouble(pin);
        if (trouble.isPresent()
                && trouble.get().kind() != Kind.MISSING
                && !trouble.get().forNow()) {
            return new Capabilities(false, trouble.get().reason());
        }
        if (ServerInfo.read(info) instanceof ServerInfo.Read.Done done
                && done.info().caches() > 1) {
            return new Capabilities(
                    false,
                    "This engine has " + done.info().caches()
                            + " caches (data-parallel ranks), and which of them pinned a prefix it does not say: run"
                            + " one engine per rank, each with a sidecar's engine of its own.");
        }
        return new Capabilities(
                true,
                "The engine pins prefixes in host memory for " + TIME.toSeconds()
                        + " s at a time, which are renewed; a pin cannot be released before its time runs out, and what"
                        + " the engine evicted from the GPU meanwhile is loaded from host memory when it is used.");
    }

    /** Pinning again what is pinned is no second pin. */
    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        if (command.prefix().tokens().isEmpty()) {
            return rejected("A prefix is pinned by its tokens, and they are not known.");
        }
        int[] tokens = command.prefix().tokensOf(command.blocks());
        return admin.post(PIN, body(tokens, TIME.toSeconds())).thenApply(reply -> pinned(reply, tokens.length));
    }

    private static String body(int[] tokens, long seconds) {
        return "{\"token_ids\":"
                + Arrays.toString(
                        Arrays.stream(tokens).mapToLong(Integer::toUnsignedLong).toArray())
                + ",\"ttl_seconds\":" + seconds + "}";
    }

    private static Outcome pinned(Reply reply, int tokens) {
        Optional<Outcome> trouble = trouble(reply);
        if (trouble.isPresent() || !(reply instanceof Reply.Answer answer)) {
            return trouble.orElseThrow();
        }
        JsonNode nodes = Answers.json(answer).path("nodes_pinned");
        if (!nodes.isIntegralNumber()) {
            return Answers.unclear("The engine answered without nodes_pinned: " + Answers.said(answer))
                    .orElseThrow();
        }
        if (nodes.longValue() < 1) {
            return missing();
        }
        String said = Answers.said(answer);
        if (said.toLowerCase(Locale.ROOT).contains("partially pinned") || isOverBudget(said)) {
            return new Outcome(Kind.CLIPPED, "The engine pinned a part of the prefix only: " + said + MORE);
        }
        return new Outcome(
                Kind.ACCEPTED,
                String.format(
                        Locale.ROOT,
                        "The engine pinned its %,d tokens in host memory for %d s, renewed while it is held; where it"
                                + " evicts them from the GPU, the next use loads them from there.",
                        tokens,
                        TIME.toSeconds()));
    }

    /** Why nothing was pinned, or nobody knows what; absent where the engine answered with a yes. */
    private static Optional<Outcome> trouble(Reply reply) {
        if (reply instanceof Reply.Answer answer && answer.status() == 405) {
            return Optional.of(new Outcome(Kind.REJECTED, NO_ROUTE));
        }
        if (reply instanceof Reply.Answer answer && answer.status() == 400) {
            return Optional.of(refused(answer));
        }
        return Answers.trouble(reply, NO_ROUTE);
    }

    private static Outcome refused(Reply.Answer answer) {
        String said = Answers.said(answer);
        if (said.contains("No matching prefix")) {
            return missing();
        }
        if (isOverBudget(said)) {
            return Outcome.refusedForNow("The engine pinned nothing of the prefix: " + said + MORE);
        }
        if (said.contains("requires admin API key")) {
            return new Outcome(Kind.REJECTED, ADMIN_KEY);
        }
        if (said.contains("requires --enable-hierarchical-cache")) {
            return new Outcome(Kind.REJECTED, HOST_TIER);
        }
        if (said.contains("Pinning is disabled")) {
            return new Outcome(Kind.REJECTED, SWITCHED_OFF);
        }
        return new Outcome(Kind.REJECTED, "The engine refused to pin with HTTP 400: " + said);
    }

    private static boolean isOverBudget(String said) {
        return said.contains("Pin budget exhausted");
    }

    private static Outcome missing() {
        return new Outcome(
                Kind.MISSING, "The engine has nothing of the prefix to pin: it was evicted in the meantime.");
    }

    /** Never asked, by its traits. */
    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return rejected("A pin is not taken back: it ends " + TIME.toSeconds() + " s after its last renewal or use.");
    }

    private static CompletionStage<Outcome> rejected(String why) {
        return CompletableFuture.completedFuture(new Outcome(Kind.REJECTED, why));
    }
}
