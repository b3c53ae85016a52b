package io.holdfast.storm;

import io.holdfast.core.Backend;
import io.holdfast.core.Capabilities;
import io.holdfast.core.Controller;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.DryRunBackend;
import io.holdfast.core.EngineReadings;
import io.holdfast.core.HoldRequest;
import io.holdfast.core.HoldState;
import io.holdfast.core.HoldView;
import io.holdfast.core.LedgerEntry;
import io.holdfast.core.LedgerStore;
import io.holdfast.core.Outcome;
import io.holdfast.core.PinCommand;
import io.holdfast.core.Reading;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangStats;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * One life of a sidecar: the real controller with a network, a ledger and a disk that the storm plays.
 *
 * <p>All that the storm knows of the core's API is in here.
 */
final class StormSidecar {
    /** The ledger on disk, which outlives the lives of its sidecar. */
    static final class Store {
        private List<LedgerEntry> lines = new ArrayList<>();

        /** The blocks of open entries at an engine, and whether the ledger gives a reason to keep them. */
        Map<Long, Boolean> open(VirtualEngine engine) {
            Map<String, Long> open = new LinkedHashMap<>();
            for (LedgerEntry line : lines) {
                String key = line.holdId() + "/" + line.lastBlock();
                if (line.step() == LedgerEntry.Step.RELEASED) {
                    open.remove(key);
                } else {
                    open.put(key, line.lastBlock());
                }
            }
            Map<Long, Boolean> blocks = new HashMap<>();
            open.values().forEach(block -> blocks.put(block, false));
            return blocks;
        }
    }

    /**
     * What an operator wrote.
     *
     * @param promisesSizes whether the largest prompt is written down, or left to be measured
     */
    record Written(
            Duration tick, boolean automatic, boolean dryRun, int longestAnswer, boolean promisesSizes, int longest) {}

    private final Timeline time;
    private final VirtualNetwork network;
    private final Disk disk;
    private final Store store;
    private final Controller controller;
    private volatile boolean alive = true;

    /** @throws IOException when it does not start */
    StormSidecar(
            String id,
            Timeline time,
            VirtualNetwork network,
            Disk disk,
            Store store,
            Written written,
            SplittableRandom random)
            throws IOException {
        this.time = time;
        this.network = network;
        this.disk = disk;
        this.store = store;
        Executor acting = task -> disk.execute(() -> {
            if (alive) {
                task.run();
            }
        });
        this.controller = new Controller(
                new ControllerSettings(
                        id,
                        0.5,
                        written.longestAnswer(),
                        written.promisesSizes() ? OptionalInt.of(written.longest()) : OptionalInt.empty(),
                        written.automatic(),
                        Duration.ofSeconds(20),
                        written.tick(),
                        Optional.empty()),
                RequestRules.sglang(),
                written.dryRun() ? new DryRunBackend() : new PlayedBackend(),
                new PlayedStore(),
                acting,
                random);
    }

    KvEventSink events() {
        return controller.events();
    }

    void onMail(Runnable wakeup) {
        controller.onMail(wakeup);
    }

    void poll() {
        if (alive) {
            controller.poll(time.now());
        }
    }

    /** Hands in what the engine's routes said. */
    void readings(SglangSettings settings, int capacity, SglangStats stats, long at) {
        controller.readings(new EngineReadings(
                known("capacity", capacity, at),
                known("page", settings.pageTokens(), at),
                known("longest prompt", settings.maxPromptTokens(), at),
                known("running", stats.running(), at),
                known("waiting", stats.waiting(), at),
                known("used", stats.usedTokens(), at),
                known(
                        "ttft",
                        stats.whole().ttft().sumSeconds()
                                + stats.streamed().ttft().sumSeconds(),
                        at),
                known(
                        "ttft count",
                        (double) (stats.whole().ttft().count()
                                + stats.streamed().ttft().count()),
                        at),
                known(
                        "prompt tokens",
                        (double)
                                (stats.whole().promptTokens() + stats.streamed().promptTokens()),
                        at),
                known("cached tokens", (double) stats.cachedTokens(), at)));
    }

    void noReadings() {
        controller.readings(EngineReadings.unknown("the engine did not answer"));
    }

    private static Reading known(String name, double value, long at) {
        return Reading.known(value, name, at);
    }

    void hold(long[] path, Duration lease) {
        quietly(controller.request(new HoldRequest(path, lease)));
    }

    /** Gives up one of the holds. */
    void releaseOne(SplittableRandom random) {
        List<HoldView> living = living();
        if (!living.isEmpty()) {
            quietly(controller.release(living.get(random.nextInt(living.size())).id()));
        }
    }

    void releaseAll() {
        quietly(controller.releaseAll("the storm wants it"));
    }

    void resume() {
        quietly(controller.resumeHolding());
    }

    /** Lets go of everything for the end of the process. */
    CompletionStage<?> letGo() {
        return controller.releaseAll("the sidecar ends");
    }

    /** The process is gone; what it has sent is on its way. */
    void kill() {
        alive = false;
    }

    int wantedTokens(int page) {
        return living().stream().mapToInt(HoldView::wantedBlocks).sum() * page;
    }

    int holds() {
        return living().size();
    }

    private List<HoldView> living() {
        return controller.view().holds().stream()
                .filter(hold -> hold.state() != HoldState.RELEASED && hold.state() != HoldState.LOST)
                .toList();
    }

    /** Why something is still there, in a line. */
    String describe() {
        return controller.view().holds() + " " + controller.view().capabilities();
    }

    private static void quietly(CompletionStage<?> answer) {
        answer.whenComplete((_, _) -> {});
    }

    private final class PlayedBackend implements Backend {
        @Override
        public String name() {
            return "pin_blocks";
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            CompletableFuture<Capabilities> answer = new CompletableFuture<>();
            boolean able = network.answersQuestions();
            time.after(5 * Timeline.MILLI, () -> {
                if (alive) {
                    answer.complete(new Capabilities(able, false, true, able ? "it can" : "no answer"));
                }
            });
            return answer;
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            return call(true, command);
        }

        @Override
        public CompletionStage<Outcome> unpin(PinCommand command) {
            return call(false, command);
        }

        private CompletionStage<Outcome> call(boolean pin, PinCommand command) {
            CompletableFuture<Outcome> answer = new CompletableFuture<>();
            if (alive) {
                network.call(pin, List.of(command.lastBlock()), reply -> {
                    if (alive) {
                        answer.complete(outcome(reply));
                    }
                });
            }
            return answer;
        }

        private static Outcome outcome(VirtualNetwork.Reply reply) {
            return switch (reply.fate()) {
                case ANSWERED ->
                    new Outcome(reply.count() > 0 ? Outcome.Kind.ACCEPTED : Outcome.Kind.MISSING, "it answered");
                case UNCLEAR -> new Outcome(Outcome.Kind.DEFERRED, "no answer");
                case NOT_SENT -> new Outcome(Outcome.Kind.DEFERRED, "never sent");
                case FORBIDDEN -> new Outcome(Outcome.Kind.REJECTED, "forbidden");
            };
        }
    }

    private final class PlayedStore implements LedgerStore {
        @Override
        public List<LedgerEntry> read() {
            return List.copyOf(store.lines);
        }

        @Override
        public void append(LedgerEntry entry) throws IOException {
            disk.write();
            if (alive) {
                store.lines.add(entry);
            }
        }

        @Override
        public void replaceWith(List<LedgerEntry> entries) throws IOException {
            disk.write();
            if (alive) {
                store.lines = new ArrayList<>(entries);
            }
        }
    }
}
