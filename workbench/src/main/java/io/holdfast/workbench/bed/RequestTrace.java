package io.holdfast.workbench.bed;

import io.holdfast.evidence.LinearFit;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.report.TextTree;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.workbench.bed.ServerStages.Stage;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * One request, stage by stage: by the client's stamps, and within them by the server's own count where it has one.
 *
 * @param connectMillis what opening the connection took, which was open before the request's turn
 * @param clientTroubles why the stamps say more of the client than of the server, a clause each
 */
public record RequestTrace(
        double connectMillis, RequestRecord record, ServerStages server, List<String> clientTroubles) {
    /** Parts and whole may differ by as much. */
    public static final double TOLERANCE_MILLIS = 0.1;

    private static final String NOT_MEASURED = "not measured";
    private static final int[] SAMPLES = {1, 32, 64, 128};
    private static final double CONFIDENCE = 0.95;

    public RequestTrace {
        clientTroubles = List.copyOf(clientTroubles);
    }

    /** Sends a request to an engine that serves nobody else, on a connection that is opened before. */
    public static RequestTrace of(HttpEngine engine, LoadRequest request, RunClock clock) {
        String before = engine.metrics();
        Load load = engine.prepare(List.of(request));
        long began = clock.nanos();
        load.connect(1);
        double connect = (clock.nanos() - began) / 1e6;
        RequestRecord record = load.send(1, 1).getFirst();
        List<String> troubles = load.health().map(ClientHealth::troubles).orElse(List.of());
        ServerStages stages =
                before.isEmpty() ? ServerStages.none() : ServerStages.since(before, engine::metrics, clock);
        return new RequestTrace(connect, record, stages, troubles);
    }

    /** A stage by the client's stamps. */
    public record Span(String name, double millis) {}

    /** The stages that the client saw, in their order and without a gap between. */
    public List<Span> client() {
        List<Span> spans = new ArrayList<>();
        long at = record.scheduled();
        at = add(spans, "sent", at, OptionalLong.of(record.sent()));
        at = add(spans, "first byte", at, record.firstByte());
        at = add(spans, "first token", at, record.firstToken());
        at = add(spans, "decode", at, record.lastToken());
        add(spans, "end of the stream", at, OptionalLong.of(record.done()));
        return spans;
    }

    private static long add(List<Span> spans, String name, long from, OptionalLong to) {
        if (to.isPresent()) {
            spans.add(new Span(name, (to.getAsLong() - from) / 1e6));
        }
        return to.orElse(from);
    }

    public double totalMillis() {
        return (record.done() - record.scheduled()) / 1e6;
    }

    /** Returns sums that do not add up, a sentence each. */
    public List<String> sums() {
        List<String> wrong = new ArrayList<>();
        sum("The request", totalMillis(), client().stream().map(Span::millis).toList())
                .ifPresent(wrong::add);
        double[] gaps = record.tokens().gapsMillis();
        if (gaps.length > 0
                && record.firstToken().isPresent()
                && record.lastToken().isPresent()) {
            double decode =
                    (record.lastToken().getAsLong() - record.firstToken().getAsLong()) / 1e6;
            sum(
                            "Decode",
                            decode,
                            IntStream.range(0, gaps.length)
                                    .mapToObj(i -> gaps[i])
                                    .toList())
                    .ifPresent(wrong::add);
        }
        server.of(Stage.WHOLE)
                .filter(whole -> whole > totalMillis() + TOLERANCE_MILLIS)
                .map(whole -> String.format(
                        Locale.ROOT,
                        "The server counted %.1f ms for a request that took %.1f ms here.",
                        whole,
                        totalMillis()))
                .ifPresent(wrong::add);
        return wrong;
    }

    /** Why parts are not their whole; absent where they are, within {@link #TOLERANCE_MILLIS}. */
    public static Optional<String> sum(String what, double whole, List<Double> parts) {
        double sum = parts.stream().mapToDouble(Double::doubleValue).sum();
        return Math.abs(sum - whole) <= TOLERANCE_MILLIS
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "%s took %.1f ms and its parts add up to %.1f ms, which is %+.1f ms.",
                        what,
                        whole,
                        sum,
                        sum - whole));
    }

    /**
     * The time before a token, by its place in the answer.
     *
     * @param token from 1, the first one after the one that prefill brought
     * @param context tokens that were before it; absent where the engine does not count its prompt
     */
    public record TokenTime(int token, OptionalInt context, double millis) {}

    /** Returns the times at some places, and at the last one. */
    public List<TokenTime> samples() {
        double[] itl = record.itlMillis();
        return IntStream.concat(IntStream.of(SAMPLES), IntStream.of(itl.length))
                .filter(token -> token >= 1 && token <= itl.length)
                .distinct()
                .mapToObj(token -> new TokenTime(
                        token,
                        record.promptTokens().isPresent()
                                ? OptionalInt.of(record.promptTokens().getAsInt() + token)
                                : OptionalInt.empty(),
                        itl[token - 1]))
                .toList();
    }

    /**
     * Returns how the time for a token grows with its place, in milliseconds a token; absent for answers of a few
     * tokens.
     */
    public Optional<LinearFit> slope() {
        double[] itl = record.itlMillis();
        return LinearFit.of(
                IntStream.rangeClosed(1, itl.length).asDoubleStream().toArray(), itl);
    }

    /** Returns the slope in a sentence. */
    public String slopeText() {
        return slope().map(fit -> {
                    var interval = fit.slopeInterval(CONFIDENCE);
                    return String.format(
                            Locale.ROOT,
                            "The time for a token %s: %+.4f ms a token (95 %% interval %+.4f to %+.4f).",
                            interval.excludesZero()
                                    ? fit.slope() > 0 ? "grows with its place" : "falls with its place"
                                    : "does not visibly depend on its place",
                            fit.slope(),
                            interval.low(),
                            interval.high());
                })
                .orElse("Too few tokens came one by one to tell how their times depend on their place.");
    }

    /** The request as a tree of stages; what nobody counted is said not to be measured. */
    public TextTree tree() {
        List<TextTree> stages = new ArrayList<>();
        stages.add(TextTree.leaf("connect", millis(connectMillis), "client, before its turn"));
        for (Span span : client()) {
            List<TextTree> inside = inside(span.name());
            stages.add(new TextTree(span.name(), millis(span.millis()), "client", inside));
        }
        List<TextTree> own = new ArrayList<>();
        for (Stage stage : List.of(Stage.DETOKENIZE, Stage.CACHE_INSERTION, Stage.WHOLE)) {
            own.add(measured(stage));
        }
        stages.add(TextTree.of("server, beside these", own));
        return new TextTree("request", millis(totalMillis()), tokens(), stages);
    }

    private List<TextTree> inside(String name) {
        return switch (name) {
            case "first byte" -> List.of(measured(Stage.PROCESS), measured(Stage.QUEUE), measured(Stage.PREFILL));
            case "decode" -> List.of(measured(Stage.DECODE));
            default -> List.of();
        };
    }

    private TextTree measured(Stage stage) {
        return server.of(stage)
                .map(millis -> TextTree.leaf(stage.text(), millis(millis), "server"))
                .orElseGet(() -> TextTree.leaf(stage.text(), NOT_MEASURED, ""));
    }

    private String tokens() {
        return count(record.promptTokens()) + " tokens in, " + count(record.completionTokens()) + " out, "
                + count(record.cachedTokens()) + " cached";
    }

    private static String count(OptionalInt number) {
        return number.isPresent() ? Integer.toString(number.getAsInt()) : "unknown";
    }

    private static String millis(double millis) {
        return String.format(Locale.ROOT, "%,.3f ms", millis);
    }
}
