package io.holdfast.vllm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;

/** Holds prefixes on a vLLM engine that runs NIXL, by the lease on what a decode server would fetch. */
public final class NixlLeaseBackend implements Backend {
    /*
     * A prefill server keeps the blocks of a finished request until a decode server has fetched them, and at the longest
     * for a lease, whose length is the server's own. So a hold is a request of the prefix for one token that says that
     * its blocks will be fetched, and nobody comes. The answer is a receipt with which they could be; it is looked at
     * and dropped.
     *
     * No call takes a lease back, and none prolongs one: a renewal is a further lease on the same blocks. Each has one
     * block more than the prefix for the token beyond it, which is not shared, and with renewals at a third of the time
     * four of them overlap.
     *
     * The engine evicts nothing that is leased, whatever waits. So these are hard pins, within the guard, and what does
     * not fit all the same waits for one lease at the longest, renewals behind it.
     *
     * A renewal that found fewer tokens than are held is a loss, where the engine tells how many it found. That it
     * started anew shows in its events.
     *
     * Of a model with states in place of blocks, and of one that drafts several tokens, the field cuts the end of the
     * prompt off: the receipt counts fewer tokens than were sent, and nothing is held there. What such a request leased
     * counts all the same until it is over.
     */

    /** Name in configuration and reasons. */
    public static final String NAME = "nixl_lease";

    /** Longest lease for which nobody is warned. */
    private static final Duration LONGEST_CALM = Duration.ofMinutes(1);

    private static final String LEASES = "do_remote_decode";
    /** Beginning of the names of NIXL's metrics, which an engine has from its start. */
    private static final String SIGN = "vllm:nixl_";

    private static final int RENEWALS_A_LEASE = 3;
    /** Tokens of a probe: one block of any usual size, and more than any model's prompt is shortened by. */
    private static final int PROBE_TOKENS = 16;

    private static final String START =
            "Start it with --kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}'";

    private final EngineHttp http;
    private final CompletionSender sender;
    private final ScheduledExecutorService timer;
    private final Duration lease;
    /** Made once, since every pin asks for them at each tick. */
    private final BackendTraits traits;

    /**
     * Speaks to one engine.
     *
     * @param timer paces the questions of a probe
     * @param lease the engine's {@code kv_lease_duration}, which nothing tells
     */
    public NixlLeaseBackend(EngineHttp http, ScheduledExecutorService timer, Duration lease) {
        this.http = http;
        this.sender = new CompletionSender(http);
        this.timer = timer;
        this.lease = lease;
        this.traits = traits(lease);
    }

    /** Returns the traits of pins by leases of this length. */
    public static BackendTraits traits(Duration lease) {
        return BackendTraits.hard()
                .needing(Need.TOKENS)
                .endingAfter(lease, lease.dividedBy(RENEWALS_A_LEASE))
                .withBlocksBeside(RENEWALS_A_LEASE + 1);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public BackendTraits traits() {
        return traits;
    }

    /**
     * Looks at the engine's metrics, and takes a lease of a block or so where they do not show it: an older engine may
     * lease all the same, and only a lease proves that.
     */
    @Override
    public CompletionStage<Capabilities> probe() {
        return signs(
                http,
                timer,
                shows -> shows
                        ? CompletableFuture.completedFuture(able())
                        : ask(new int[PROBE_TOKENS]).thenApply(this::judge));
    }

    private Capabilities able() {
        String time = lease.toSeconds() + " s";
        boolean calm = lease.compareTo(LONGEST_CALM) <= 0;
        return new Capabilities(
                true,
                "The engine leases what it computed for " + time + " at a time. "
                        + cost(time, calm ? "" : ": start the engine with a shorter kv_lease_duration"));
    }

    private Capabilities judge(CompletionSender.Answer answer) {
        return (answer.outcome().kind() == Kind.ACCEPTED
                        ? refusal(answer, PROBE_TOKENS)
                        : Optional.of(
                                "No lease was granted: " + answer.outcome().reason()))
                .map(why -> new Capabilities(false, why))
                .orElseGet(this::able);
    }

    /** Finds out by the engine's metrics alone whether it runs NIXL, so that nothing is leased. */
    public static CompletionStage<Capabilities> look(EngineHttp http, ScheduledExecutorService timer) {
        return signs(
                http,
                timer,
                shows -> CompletableFuture.completedFuture(
                        shows
                                ? new Capabilities(
                                        true,
                                        "The engine runs NIXL, which holds for a lease at a time (its"
                                                + " kv_lease_duration, 30 s as a rule). " + cost("a lease", ""))
                                : new Capabilities(false, "The engine runs no NIXL. " + START + ".")));
    }

    /** Goes on with whether metrics of NIXL's show, where the engine caches prefixes at all, in one cache. */
    private static CompletionStage<Capabilities> signs(
            EngineHttp http, ScheduledExecutorService timer, Function<Boolean, CompletionStage<Capabilities>> then) {
        return PrefixCaching.find(http, timer)
                .thenCompose(found -> found.can().canPin()
                        ? then.apply(found.page().has(SIGN))
                        : CompletableFuture.completedFuture(found.can()));
    }

    private static String cost(String time, String mend) {
        return "A request that does not fit beside what is held waits up to " + time + ", and everybody behind it"
                + mend
                + ". While anything is leased the engine's loop takes a part of a core, and each lease ends with a"
                + " warning in its log.";
    }

    /** Names the last block, so that a further request for the same prefix takes up what was not renewed any more. */
    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return hold(command, false);
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        return hold(command, true);
    }

    private CompletionStage<Outcome> hold(PinCommand command, boolean again) {
        if (command.prefix().tokens().isEmpty()) {
            return CompletableFuture.completedFuture(new Outcome(
                    Kind.REJECTED, "A prefix is leased by sending it to the engine, and its tokens are not known."));
        }
        int[] prefix = command.prefix().tokensOf(command.blocks());
        return ask(CompletionSender.andOneMore(prefix)).thenApply(answer -> held(answer, prefix.length, again));
    }

    private Outcome held(CompletionSender.Answer answer, int tokens, boolean again) {
        Outcome sent = answer.outcome();
        if (sent.kind() != Kind.ACCEPTED) {
            return sent;
        }
        Optional<String> refusal = refusal(answer, tokens + 1);
        if (refusal.isPresent()) {
            // What was computed of it may be leased, and counts until that has run out.
            return new Outcome(leased(answer) ? Kind.CLIPPED : Kind.REJECTED, refusal.get(), sent.cachedTokens());
        }
        return again && answer.foundLessThan(tokens)
                ? new Outcome(
                        Kind.MISSING,
                        "of " + tokens + " tokens the engine found "
                                + sent.cachedTokens().getAsLong()
                                + " at the renewal: the lease had run out before, or the engine started anew",
                        sent.cachedTokens())
                : new Outcome(
                        Kind.ACCEPTED,
                        "The engine leases its " + tokens + " tokens for " + lease.toSeconds() + " s.",
                        sent.cachedTokens());
    }

    /** Returns the reason why a request that was answered holds nothing, or not all that was sent. */
    private static Optional<String> refusal(CompletionSender.Answer answer, int sent) {
        if (!leased(answer)) {
            return Optional.of("The engine leases nothing. " + START + ".");
        }
        long computed = Math.min(
                answer.promptTokens().orElse(sent),
                answer.transfer().path("remote_num_tokens").asLong(sent));
        return computed < sent
                ? Optional.of("The engine shortens what is to be leased (" + computed + " tokens of " + sent
                        + "), as it does for models with states and for those that draft: nothing is held by leases"
                        + " there.")
                : Optional.empty();
    }

    private static boolean leased(CompletionSender.Answer answer) {
        return answer.transfer().hasNonNull("remote_engine_id")
                && !answer.transfer().path("remote_block_ids").isEmpty();
    }

    private CompletionStage<CompletionSender.Answer> ask(int[] tokens) {
        JsonNode transfer = JsonNodeFactory.instance.objectNode().put(LEASES, true);
        return sender.ask(tokens, transfer);
    }

    /** Takes nothing back: there is no call for it. */
    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return CompletableFuture.completedFuture(
                new Outcome(Kind.REJECTED, "No call takes a lease back; it ends when its time has run out."));
    }
}
