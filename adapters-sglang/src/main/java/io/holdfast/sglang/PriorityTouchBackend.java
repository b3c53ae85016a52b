package io.holdfast.sglang;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;

/** Holds prefixes on a stock SGLang engine that runs with {@code --radix-eviction-policy priority}. */
public final class PriorityTouchBackend implements Backend {
    /*
     * Under that policy a block is evicted by the highest priority of the requests that had it, and of equal ones by
     * its last use. So a hold is one request of the prefix, for a single token, with a priority above all that clients
     * send. It has to be two above: an engine stores the prompt of a request whose answer filled a block once more, one
     * above what the request had. No event and no metric tells what clients send, so the operator has to.
     *
     * A priority only ever goes up. What was touched stays above clients' blocks until the engine evicts it, which it
     * does when nothing else is left, or empties its cache; there is no unpin, and none is claimed. Protection ends
     * where the touched prefix ends, also within a node: the request cuts it there. It is soft: a request that needs
     * the room gets it.
     */

    /** Name in configuration and ledger. */
    public static final String NAME = "priority_touch";

    /** The key of the configuration without which it does nothing. */
    public static final String KEY = "clientPriorityMax";

    /** A touch is so much above what clients send. */
    static final int ABOVE_CLIENTS = 2;

    public static final BackendTraits TRAITS =
            BackendTraits.soft().needing(Need.TOKENS).withoutUnpin();
    private static final String GENERATE = "/generate";
    private static final String NO_ROUTE = "This engine has no /generate route, so it is no SGLang.";
    private static final String FLAG = "--radix-eviction-policy priority";
    private static final String WRITE_KEY =
            "write " + KEY + ", the highest priority that clients send, 0 where they send none";

    private final EngineHttp http;
    private final ScheduledExecutorService timer;
    private final OptionalInt clientPriorityMax;

    /**
     * Speaks to one engine.
     *
     * @param timer paces the probes of an engine that does not answer; once it is shut down, silence is taken for a no
     * @param clientPriorityMax the highest priority that clients send; absent: not known, so that nothing can be held
     */
    public PriorityTouchBackend(EngineHttp http, ScheduledExecutorService timer, OptionalInt clientPriorityMax) {
        this.http = http;
        this.timer = timer;
        this.clientPriorityMax = clientPriorityMax;
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
        return ServerInfo.asked(http, timer, this::judge);
    }

    private Capabilities judge(ServerInfo info) {
        Optional<Capabilities> hindrance = info.hindrance();
        if (hindrance.isPresent()) {
            return hindrance.get();
        }
        String policy = info.text("radix_eviction_policy");
        if (!policy.equals("priority")) {
            return cannot("The engine does not evict by priority"
                    + (policy.isEmpty() ? "" : " but by " + policy)
                    + ": start it with " + FLAG
                    + (clientPriorityMax.isPresent() ? "." : ", and " + WRITE_KEY + "."));
        }
        boolean scheduled = info.flag("enable_priority_scheduling");
        if (info.flag("abort_on_priority_when_disabled") && !scheduled) {
            return cannot("The engine ends every request that has a priority: start it without"
                    + " --abort-on-priority-when-disabled, or with --enable-priority-scheduling.");
        }
        if (info.flag("schedule_low_priority_values_first") && scheduled) {
            return cannot(
                    "The engine serves low priorities first, so a request above all clients' would wait for all of"
                            + " them: start it without --schedule-low-priority-values-first.");
        }
        if (clientPriorityMax.isEmpty()) {
            return cannot("The engine evicts by priority, and which priorities clients send is not known: " + WRITE_KEY
                    + ".");
        }
        return new Capabilities(
                true,
                "The engine evicts by priority, and what is held is sent at " + priority()
                        + ", two above what clients send; it cannot be released again, only evicted.");
    }

    private static Capabilities cannot(String why) {
        return new Capabilities(false, why);
    }

    private int priority() {
        return clientPriorityMax.orElseThrow() + ABOVE_CLIENTS;
    }

    /** Touching again what was touched is no second pin. */
    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        Optional<int[]> tokens = command.prefix().tokens();
        if (tokens.isEmpty()) {
            return rejected("A prefix is given a priority by sending it, and its tokens are not known.");
        }
        if (clientPriorityMax.isEmpty()) {
            return rejected("Which priorities clients send is not known: " + WRITE_KEY + ".");
        }
        int[] held = command.prefix().tokensOf(command.blocks());
        return http.waiting(GenerateSender.QUEUE)
                .post(GENERATE, GenerateSender.body(held, "\"priority\":" + priority() + ","))
                .thenApply(reply -> touched(reply, held.length));
    }

    private Outcome touched(Reply reply, int tokens) {
        OptionalLong cached = GenerateSender.cached(reply);
        return Answers.trouble(reply, NO_ROUTE)
                .orElseGet(() -> new Outcome(
                        Outcome.Kind.ACCEPTED,
                        String.format(
                                Locale.ROOT,
                                "The engine has its %,d tokens at priority %d, above what clients send.",
                                tokens,
                                priority()),
                        cached));
    }

    /** Never asked, by its traits. */
    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return rejected(
                "A priority is never lowered: it ends when the engine evicts what has it, or empties its cache.");
    }

    private static CompletionStage<Outcome> rejected(String why) {
        return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.REJECTED, why));
    }
}
