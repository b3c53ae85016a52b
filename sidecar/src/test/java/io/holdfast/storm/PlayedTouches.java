package io.holdfast.storm;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.sglang.PriorityTouchBackend;
import io.holdfast.sglang.SessionHoldBackend;
import io.holdfast.storm.VirtualNetwork.Reply;
import io.holdfast.vllm.ConnectorBackend;
import io.holdfast.vllm.NixlLeaseBackend;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** The backends that hold by requests, over the storm's network; traits and handles are those of the real ones. */
final class PlayedTouches {
    private final String life;
    private final VirtualNetwork network;
    private final BooleanSupplier alive;
    private final Consumer<PinCommand> watch;
    private final Consumer<PinCommand> renewing;

    /**
     * @param life a name that no other life of any sidecar has
     * @param watch told of each touch that leaves
     * @param renewing told of each renewal of a lease that leaves
     */
    PlayedTouches(
            String life,
            VirtualNetwork network,
            BooleanSupplier alive,
            Consumer<PinCommand> watch,
            Consumer<PinCommand> renewing) {
        this.life = life;
        this.network = network;
        this.alive = alive;
        this.watch = watch;
        this.renewing = renewing;
    }

    /** Of nobody, to look at. */
    static PlayedTouches unused() {
        Timeline time = new Timeline();
        StormOracle oracle = new StormOracle(time, false);
        SplittableRandom random = new SplittableRandom(1);
        VirtualEngine engine =
                new VirtualEngine("engine", time, SglangSettings.defaults(), new Speed(30, 4_000, 15_000, 1), oracle);
        VirtualNetwork network = new VirtualNetwork("nobody", time, random, oracle, new Disk(time), engine);
        return new PlayedTouches("nobody", network, () -> false, _ -> {}, _ -> {});
    }

    /** As {@code session_hold}. */
    Backend sessions() {
        return new Sessions();
    }

    /** As {@code priority_touch}. */
    Backend priorities() {
        return new Priorities();
    }

    /** As {@code nixl_lease}. */
    Backend nixl() {
        return new Nixl();
    }

    /** Returns whether the session is a lease of this life. */
    boolean leased(String session) {
        return session.startsWith(leases());
    }

    private String leases() {
        return "lease-" + life + "-";
    }

    /** Returns what plays {@code vllm_connector}. */
    Backend connector() {
        return new Connector();
    }

    /** The real one. */
    Backend warm() {
        return new Warm();
    }

    /** A request of the sidecar's own. */
    CompletionStage<Outcome> send(int[] tokens) {
        return send(tokens, RequestOptions.of(1));
    }

    private CompletionStage<Outcome> send(int[] tokens, RequestOptions options) {
        return call(answer -> network.generate(tokens, options, answer));
    }

    private CompletionStage<Outcome> call(Consumer<Consumer<Reply>> call) {
        CompletableFuture<Outcome> answer = new CompletableFuture<>();
        if (alive.getAsBoolean()) {
            call.accept(reply -> {
                if (alive.getAsBoolean()) {
                    answer.complete(outcome(reply));
                }
            });
        }
        return answer;
    }

    private static Outcome outcome(Reply reply) {
        return switch (reply.fate()) {
            case ANSWERED ->
                reply.count() == VirtualEngine.REFUSED
                        ? Outcome.refusedForNow("its share is full")
                        : new Outcome(Kind.ACCEPTED, "it answered", OptionalLong.of(reply.count()));
            case UNCLEAR -> new Outcome(Kind.DEFERRED, "no answer");
            case NOT_SENT -> new Outcome(Kind.NOT_SENT, "never sent");
            case FORBIDDEN -> new Outcome(Kind.REJECTED, "forbidden");
        };
    }

    private CompletionStage<Capabilities> asked() {
        CompletableFuture<Capabilities> answer = new CompletableFuture<>();
        network.question(alive, () -> {
            if (alive.getAsBoolean()) {
                answer.complete(new Capabilities(true, "it can"));
            }
        });
        return answer;
    }

    private static Outcome worse(Outcome one, Outcome other) {
        return one.kind() == Kind.ACCEPTED ? other : one;
    }

    private final class Sessions implements Backend {
        @Override
        public String name() {
            return SessionHoldBackend.NAME;
        }

        @Override
        public BackendTraits traits() {
            return SessionHoldBackend.TRAITS;
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return asked();
        }

        @Override
        public String handle(PinCommand command) {
            return "holdfast-" + life + "-" + command.holdId() + "-" + command.attempt();
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            watch.accept(command);
            return send(
                    command.prefix().tokensOf(command.blocks()),
                    RequestOptions.of(1).withSession(handle(command)));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            return handles.stream()
                    .map(handle -> call(answer -> network.close(handle, answer)))
                    .reduce((one, other) -> one.thenCombine(other, PlayedTouches::worse))
                    .orElseThrow();
        }
    }

    private final class Priorities implements Backend {
        @Override
        public String name() {
            return PriorityTouchBackend.NAME;
        }

        @Override
        public BackendTraits traits() {
            return PriorityTouchBackend.TRAITS;
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return asked();
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            watch.accept(command);
            return send(
                    command.prefix().tokensOf(command.blocks()),
                    RequestOptions.of(1).withPriority(StormSidecar.PRIORITY));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            throw new AssertionError("Nobody can take back " + handles);
        }
    }

    private final class Nixl implements Backend {
        @Override
        public String name() {
            return NixlLeaseBackend.NAME;
        }

        @Override
        public BackendTraits traits() {
            return NixlLeaseBackend.traits(VirtualEngine.NIXL_LEASE);
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return asked();
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            watch.accept(command);
            return lease(command);
        }

        @Override
        public CompletionStage<Outcome> renew(PinCommand command) {
            renewing.accept(command);
            return lease(command).thenApply(outcome -> missing(outcome, command));
        }

        private CompletionStage<Outcome> lease(PinCommand command) {
            return send(
                    andOneMore(command),
                    RequestOptions.of(1).withOrder(new HoldOrder.Lease(leases() + handle(command))));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            throw new AssertionError("Nobody can take back " + handles);
        }
    }

    /** A renewal that found less than is held is a loss. */
    private static Outcome missing(Outcome outcome, PinCommand command) {
        int held = command.prefix().tokensOf(command.blocks()).length;
        return outcome.kind() == Kind.ACCEPTED && outcome.cachedTokens().orElse(0) < held
                ? new Outcome(Kind.MISSING, "not all of it was there")
                : outcome;
    }

    private static int[] andOneMore(PinCommand command) {
        int[] prefix = command.prefix().tokensOf(command.blocks());
        int[] tokens = Arrays.copyOf(prefix, prefix.length + 1);
        tokens[prefix.length] = prefix[prefix.length - 1];
        return tokens;
    }

    private final class Connector implements Backend {
        @Override
        public String name() {
            return ConnectorBackend.NAME;
        }

        @Override
        public BackendTraits traits() {
            return ConnectorBackend.TRAITS;
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return asked();
        }

        @Override
        public String handle(PinCommand command) {
            return "holdfast-" + life + "-" + command.holdId() + "-" + command.attempt();
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            watch.accept(command);
            return hold(command);
        }

        @Override
        public CompletionStage<Outcome> renew(PinCommand command) {
            renewing.accept(command);
            return hold(command).thenApply(outcome -> missing(outcome, command));
        }

        private CompletionStage<Outcome> hold(PinCommand command) {
            return send(
                    andOneMore(command),
                    RequestOptions.of(1)
                            .withOrder(new HoldOrder.Hold(
                                    handle(command), traits().endsAfter().toSeconds())));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            return send(new int[] {1}, RequestOptions.of(1).withOrder(new HoldOrder.Release(handles)));
        }
    }

    private final class Warm implements Backend {
        private final KeepWarmBackend real = new KeepWarmBackend(PlayedTouches.this::send, PlayedTouches.this::asked);

        @Override
        public String name() {
            return real.name();
        }

        @Override
        public BackendTraits traits() {
            return real.traits();
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return real.probe();
        }

        @Override
        public String handle(PinCommand command) {
            return real.handle(command);
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            watch.accept(command);
            return real.pin(command);
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            return real.unpin(handles);
        }
    }
}
