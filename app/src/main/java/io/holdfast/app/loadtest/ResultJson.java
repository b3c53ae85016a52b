package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.analysis.MetricResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunFindings;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.analysis.Sample;
import io.holdfast.loadtest.analysis.Shares;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.Shown;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * The result of a load test as one JSON document, with all that a plot of it needs. Its schema is {@value #SCHEMA} beside
 * this class; a value that is unknown is null and never left out.
 */
public final class ResultJson {
    /** Name of the document's schema. */
    public static final String SCHEMA = "loadtest-result.schema.json";

    /** Grows when a field changes its meaning or goes; new fields leave it as it is. */
    private static final int VERSION = 1;

    private ResultJson() {}

    /** Returns the document, with the usual percentiles and no limits. */
    static ObjectNode document(Result result) {
        RunHeader header = result.header();
        return Json.object()
                .put("version", VERSION)
                .put("workloadId", result.workloadId())
                .put("seed", result.seed())
                .put("startedAt", header.startedAt())
                .put("server", header.unit())
                .put("model", model(header))
                .put("arm", header.holder())
                .put("claimsHold", header.claimsHold())
                .put("salted", header.isSalted())
                .put("serverProcesses", result.serverProcesses())
                .put("look", result.look())
                .put("voidedPairs", result.voided().size())
                .put("engine", Json.of(header.engine()).renamed("longestPrompt", "longestPromptTokens"))
                .put("plan", plan(header))
                .put("criteria", criteria(header))
                .put("arms", List.of(arm(result, Arm.BASELINE), arm(result, Arm.PINNED)))
                .put("verdict", verdict(result.verdict()))
                .put(
                        "metrics",
                        result.metrics().stream().map(ResultJson::metric).toList())
                .put("proof", proof(result.cacheProof()))
                .put("lostHolds", Json.of(result.lostHolds()).without("why"))
                .put(
                        "drift",
                        result.drift()
                                .map(drift -> Json.object()
                                        .put("changePercent", Shown.growth(drift.change()))
                                        .put("p", drift.p())
                                        .put("matters", drift.matters(header.criteria()))))
                .put(
                        "waves",
                        result.waves()
                                .map(waves -> Json.object()
                                        .put("first", effect(waves.first()))
                                        .put("steady", effect(waves.steady()))))
                .put("measures", measures(RunMeasures.of(result)))
                .put("findings", RunFindings.of(result).all())
                .put(
                        "floods",
                        Floods.of(header, result.legs())
                                .map(floods -> Json.of(floods).without("arrivals")))
                .put(
                        "legs",
                        result.legs().stream()
                                .map(leg -> leg(leg, header.judgedBy()))
                                .toList())
                .put("warnings", result.warnings())
                .tree();
    }

    private static Optional<String> model(RunHeader header) {
        return Stream.of("model", "serves")
                .map(name -> header.client().getOrDefault(name, ""))
                .filter(name -> !name.isEmpty())
                .findFirst();
    }

    /** Returns a verdict with the figures that it is about. */
    public static Json verdict(Verdict verdict) {
        Estimate estimate = verdict.estimate();
        return Json.object()
                .put("name", verdict.finding())
                .put("shortfall", verdict.shortfall())
                .put("headline", verdict.headline())
                .put("withOrderBias", verdict.withOrderBias())
                .put("effectPercent", estimate.effectPercent())
                .put("ci95", estimate.ci95().map(ResultJson::percents))
                .put("naivePercent", estimate.naivePercent())
                .put("orderBiasPercent", estimate.orderBiasPercent())
                .put("requiredPairsOfEachOrder", verdict.requiredPerOrder())
                .put("reason", verdict.reason())
                .put("flags", verdict.flags().stream().sorted().toList())
                .put("warnings", verdict.warnings());
    }

    private static Json plan(RunHeader header) {
        return Json.object()
                .put("rounds", header.plan().rounds())
                .put("looks", header.plan().looks())
                .put("design", header.plan().design())
                .put("pairs", header.plan().lives().size())
                .put("legs", header.legs().size())
                .put("burnIn", header.burnIn())
                .put("rehearsal", header.rehearsal())
                .put("concurrency", header.concurrency())
                .put("holdSlotMillis", header.slotMillis())
                .put("workload", header.workload().name())
                .put("prefixTokens", header.workload().prefixTokens())
                .put("pressureTokens", header.workload().pressureTokens())
                .put("arrivals", header.workload().arrivals());
    }

    private static Json criteria(RunHeader header) {
        return Json.object()
                .put("deltaPercent", Shown.growth(header.criteria().delta()))
                .put("alpha", header.criteria().alpha())
                .put("minimumPairsOfEachOrder", header.criteria().minimumPerOrder())
                .put("judgedBy", names(header.judgedBy()));
    }

    private static List<String> names(List<Statistic> numbers) {
        return numbers.stream().map(Statistic::name).toList();
    }

    private static Json arm(Result result, Arm arm) {
        ArmSummary summary = arm == Arm.BASELINE ? result.baseline() : result.pinned();
        return medians(arm, summary)
                .put("legs", summary.legs())
                .put("probes", summary.probes())
                .put(
                        "quantiles",
                        summary.quantiles().stream()
                                .map(range -> Json.of(range)
                                        .renamed("value", "millis")
                                        .renamed("ci95", "ci95Millis"))
                                .toList())
                .put("ownRequests", result.own(arm).requests())
                .put("ownPrefilledTokens", result.own(arm).prefilledTokens())
                .put("engines", Shares.of(result.measured(arm)));
    }

    /** Returns an arm by name, with the medians of its probes. */
    public static Json medians(Arm arm, ArmSummary summary) {
        return Json.object()
                .put("arm", name(arm))
                .put("cachedTokens", summary.cachedTokens())
                .put("ttftMillis", summary.ttftMillis());
    }

    private static Json metric(MetricResult metric) {
        Verdict verdict = metric.verdict();
        Estimate estimate = verdict.estimate();
        Optional<Estimate.Shown> shown = estimate.shown();
        return Json.object()
                .put("metric", metric.statistic().name())
                .put("finding", verdict.finding())
                .put("headline", verdict.headline())
                .put("logRatios", pairs(estimate.data()))
                .put(
                        "effect",
                        effect(estimate).put("ci90Percent", estimate.ci90().map(ResultJson::percents)))
                .put(
                        "shown",
                        effect(effectOf(shown), shown.map(Estimate.Shown::ci95))
                                .put(
                                        "normalOrder",
                                        shown.map(Estimate.Shown::normalOrder).orElse(false)))
                .put("naive", effect(estimate.naive(), estimate.naiveCi95()))
                .put("orderBias", effect(estimate.orderBias(), estimate.orderBiasCi95()))
                .put("carryOver", effect(estimate.carryOver(), estimate.carryOverCi95()))
                .put("normalOrder", effect(estimate.tauNormal(), estimate.tauNormalCi95()))
                .put("reversedOrder", effect(estimate.tauReversed(), Optional.empty()))
                .put("hodgesLehmann", effect(estimate.hodgesLehmann(), estimate.hodgesLehmannCi95()))
                .put("pairSd", estimate.pairSd())
                .put("tPValue", estimate.tPValue())
                .put(
                        "permutation",
                        estimate.permutation()
                                .map(test -> Json.of(test).without("exact").put("p", test.p())));
    }

    private static OptionalDouble effectOf(Optional<Estimate.Shown> shown) {
        return shown.map(of -> OptionalDouble.of(of.effect())).orElse(OptionalDouble.empty());
    }

    private static Json pairs(CrossoverData data) {
        Json pairs = Json.object();
        for (PairOrder order : PairOrder.values()) {
            pairs.put(order.name(), data.of(order));
        }
        return pairs;
    }

    private static Json proof(CacheProof proof) {
        return Json.of(proof)
                .renamed("exposure", "exposureCi95")
                .renamed("mechanism", "mechanismCi95")
                .put("exposed", proof.exposed())
                .put("kept", proof.kept());
    }

    private static Json measures(RunMeasures measures) {
        return Json.object()
                .put(
                        "arms",
                        Stream.of(Arm.BASELINE, Arm.PINNED)
                                .map(arm -> ofAnArm(arm, measures.in(arm)))
                                .toList())
                .put(
                        "byPosition",
                        measures.cells().stream()
                                .map(cell -> Json.object()
                                        .put("arm", name(cell.arm()))
                                        .put("position", cell.position())
                                        .put("legs", cell.legs())
                                        .put("ttftMillis", sample(cell.ttft()))
                                        .put("sdInALegMillis", cell.legSd()))
                                .toList())
                .put("spread", ratio(measures.spread()))
                .put("tail", ratio(measures.tail()));
    }

    private static Json ofAnArm(Arm name, RunMeasures.OfAnArm arm) {
        Json load = Json.object();
        arm.load().values().forEach((metric, value) -> load.put(metric.name(), value));
        return Json.object()
                .put("arm", name(name))
                .put("legs", arm.legs())
                .put("ttftMillis", sample(arm.ttft()))
                .put("firstWaveMillis", sample(arm.first()))
                .put("steadyMillis", sample(arm.steady()))
                .put("dependence", arm.dependence().map(of -> Json.of(of).renamed("effective", "effectiveValues")))
                .put("saturatedLegs", arm.saturatedLegs())
                .put("load", load);
    }

    private static Optional<Json> sample(Optional<Sample> sample) {
        return sample.map(of -> Json.of(of).renamed("count", "n"));
    }

    private static Json ratio(Estimate estimate) {
        Optional<Estimate.Shown> shown = estimate.shown();
        return effect(shown.isPresent() ? effectOf(shown) : estimate.effect(), shown.map(Estimate.Shown::ci95))
                .put("orderBias", effect(estimate.orderBias(), estimate.orderBiasCi95()));
    }

    private static Json leg(LegRecord leg, List<Statistic> numbers) {
        Json millis = Json.object();
        numbers.forEach(number -> millis.put(number.name(), number.of(leg.requests())));
        return Json.object()
                .put("life", leg.life())
                .put("order", leg.order())
                .put("position", leg.position())
                .put("arm", leg.arm())
                .put("measured", leg.isMeasured())
                .put("problem", leg.problem())
                .put(
                        "serverLog",
                        leg.serverLog().map((ServerLog log) -> Json.of(log).without("prefills", "cachedTokens")))
                .put("engines", leg.shares())
                .put("millis", millis)
                .put("probes", leg.probes().stream().map(ResultJson::probe).toList());
    }

    private static Json probe(RequestRecord probe) {
        return Json.object()
                .put("cycle", probe.cycle())
                .put("status", probe.status())
                .put("ttftMillis", probe.ttftMillis())
                .put("promptTokens", probe.promptTokens())
                .put("cachedTokens", probe.cachedTokens());
    }

    /** Returns a line through points, with its p value in both directions. */
    static Json line(LinearFit line) {
        return Json.of(line).put("p", line.pTwoSided());
    }

    private static Json effect(Estimate estimate) {
        return effect(estimate.effect(), estimate.ci95());
    }

    /** Returns a log ratio as a percentage of change with its 95 % interval. */
    private static Json effect(OptionalDouble log, Optional<Interval> ci95) {
        return Json.object()
                .put("percent", log.stream().map(Shown::growth).boxed().findFirst())
                .put("ci95Percent", ci95.map(ResultJson::percents));
    }

    /** Returns an interval of log ratios as percentages of change. */
    static List<Double> percents(Interval log) {
        return List.of(Shown.growth(log.low()), Shown.growth(log.high()));
    }

    private static String name(Arm arm) {
        return arm.name().toLowerCase(Locale.ROOT);
    }
}
