package io.holdfast.storm;

import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.Reason;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.TokenListener;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.SplittableRandom;

/**
 * A stock engine in virtual time, alone or with a sidecar beside it that was told where the engine is and nothing else, and
 * clients that send what they have to send, so many requests at a time.
 */
final class StockRun {
    /**
     * A request of a client.
     *
     * @param answer tokens of the answer
     * @param head tokens that it shares with others, at its beginning; 0 for none
     */
    @SuppressWarnings("ArrayRecordComponent") // two are never compared
    record Request(int[] prompt, int answer, int head) {
        Request(int[] prompt, int answer) {
            this(prompt, answer, 0);
        }
    }

    @FunctionalInterface
    interface Served {
        void with(Request request, int cachedTokens, Duration timeToFirstToken);
    }

    private static final Duration STEP = Duration.ofMillis(50);
    /** Longer than any list of requests takes. */
    private static final Duration PATIENCE = Duration.ofHours(12);

    final Timeline time = new Timeline();
    final FreshTokens tokens = new FreshTokens();
    final StockEngine stock;

    private final StormOracle oracle = new StormOracle(time, false, false);
    private final VirtualEngine engine;
    private final Optional<StormProcess> process;
    private int failed;
    private int underWay;

    /** @param beside whether there is a sidecar */
    StockRun(StockEngine stock, long seed, boolean beside) {
        this.stock = stock;
        this.engine = stock.start(time, oracle);
        this.process = beside
                ? Optional.of(new StormProcess(
                        "sidecar", time, new SplittableRandom(seed), oracle, engine, stock.byDefault(), 0))
                : Optional.empty();
        process.ifPresent(StormProcess::start);
        pass(Duration.ofSeconds(3));
    }

    void pass(Duration duration) {
        time.runUntil(time.now() + duration.toNanos());
    }

    /** Until all are answered, so many at a time. */
    void serve(List<Request> requests, int atATime, Served served) {
        Queue<Request> queue = new ArrayDeque<>(requests);
        for (int i = 0; i < atATime; i++) {
            next(queue, served);
        }
        untilAnswered();
    }

    /** After a while, whatever else is under way. */
    void sendAfter(Duration wait, Request request, Served served) {
        underWay++;
        time.after(wait.toNanos(), () -> {
            underWay--;
            submit(request, served, () -> {});
        });
    }

    /** Until nothing that clients sent is without an answer. */
    void untilAnswered() {
        long end = time.now() + PATIENCE.toNanos();
        while (underWay > 0 && time.now() < end) {
            pass(STEP);
        }
        if (underWay > 0) {
            throw new AssertionError(underWay + " requests got no answer within " + PATIENCE + ".");
        }
    }

    private void next(Queue<Request> queue, Served served) {
        Request request = queue.poll();
        if (request != null) {
            submit(request, served, () -> next(queue, served));
        }
    }

    private void submit(Request request, Served served, Runnable then) {
        underWay++;
        long sent = time.now();
        long[] first = {-1};
        engine.submit(new Generation(
                request.prompt(), RequestOptions.of(request.answer()), true, sent, new TokenListener() {
                    @Override
                    public void token(int token, int count, int cachedTokens, boolean last) {
                        if (first[0] < 0) {
                            first[0] = engine.passEnds();
                        }
                        if (last) {
                            answered(() -> served.with(request, cachedTokens, Duration.ofNanos(first[0] - sent)));
                        }
                    }

                    @Override
                    public void failed(String message) {
                        failed++;
                        answered(() -> {});
                    }

                    private void answered(Runnable tell) {
                        time.at(engine.passEnds(), () -> {
                            underWay--;
                            tell.run();
                            then.run();
                        });
                    }
                }));
    }

    /** What the sidecar thinks. */
    Optional<EngineView> view() {
        return process.flatMap(StormProcess::sidecar).map(StormSidecar::view);
    }

    /** Tokens that are held by a decision of the sidecar's own. */
    List<HoldView> held() {
        return view().stream()
                .flatMap(view -> view.holds().stream())
                .filter(hold -> hold.origin() == HoldOrigin.AUTOMATIC && hold.state() == HoldState.HELD)
                .toList();
    }

    /** How long nothing was held, so that it could be measured what holds do. */
    Duration off() {
        return view().map(view -> view.ttft().offTime()).orElse(Duration.ZERO);
    }

    /** Whether nothing that may be let go is held now, so that it can be measured what holds do. */
    boolean measuring() {
        return view().stream()
                .flatMap(view -> view.lastPlan().lines().stream())
                .anyMatch(line -> line.code() == Reason.MEASURING);
    }

    /** Requests of the sidecar's own. */
    long own() {
        return view().map(view -> view.own().sent()).orElse(0L);
    }

    int failed() {
        return failed;
    }

    List<String> failures() {
        return List.copyOf(oracle.failures().values());
    }

    /** Why nothing is held, as the sidecar says it: the plan's word for the longest prefix, and what bounds holds. */
    String whyNot() {
        return view().map(view -> view.lastPlan().lines().stream()
                                .map(line -> line.action() + " " + line.code() + ": " + line.reason())
                                .findFirst()
                                .orElse("no line in the plan")
                        + "; automatic holds may take " + view.budget().automaticTokens() + ": "
                        + view.budget().terms().stream()
                                .filter(term ->
                                        term.tokens().orElse(0) == view.budget().automaticTokens())
                                .map(term -> term.name() + ", " + term.why())
                                .findFirst()
                                .orElse("no term"))
                .orElse("no sidecar");
    }
}
