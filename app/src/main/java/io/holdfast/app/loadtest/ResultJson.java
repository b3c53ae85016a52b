package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Drift;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Permutation;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.analysis.MetricResult;
import io.holdfast.loadtest.analysis.OwnRequests;
import io.holdfast.loadtest.analysis.QuantileRange;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunFindings;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.analysis.Shares;
import io.holdfast.loadtest.analysis.Waves;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.journal.Statistic;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * The result of a load test as one JSON document, with all that a plot of it needs. Its schema is {@value #SCHEMA} beside this
 * class; what is unknown is null and never left out.
 */
public final class ResultJson {
    public static final String SCHEMA = "loadtest-result.schema.json";

    /** Grows when a field changes its meaning or goes; new fields leave it as it is. */
    private static final int VERSION = 1;

    private ResultJson() {}

    /** With the usual percentiles and no limits. */
    static ObjectNode document(Result result) {
        return document(result, RunMeasures.of(result));
    }

    static ObjectNode document(Result result, RunMeasures measures) {
        RunHeader header = result.header();
        ObjectNode root = JsonText.object();
        root.put("version", VERSION)
                .put("workloadId", result.workloadId())
                .put("seed", result.seed())
                .put("startedAt", header.startedAt())
                .put("server", header.unit())
                .putNull("model")
                .put("arm", header.holder())
                .put("claimsHold", header.claimsHold())
                .put("salted", header.isSalted())
                .put("serverProcesses", result.serverProcesses())
                .put("look", result.look())
                .put("voidedPairs", result.voided().size());
        Stream.of("serves", "model")
                .map(name -> header.client().getOrDefault(name, ""))
                .filter(name -> !name.isEmpty())
                .forEach(name -> root.put("model", name));
        engine(root.putObject("engine"), header.engine());
        plan(root.putObject("plan"), header);
        criteria(root.putObject("criteria"), header);
        ArrayNode arms = root.putArray("arms");
        arm(arms.addObject(), "baseline", result.baseline(), result.own(Arm.BASELINE));
        arm(arms.addObject(), "pinned", result.pinned(), result.own(Arm.PINNED));
        engines((ObjectNode) arms.path(0), Shares.of(result.measured(Arm.BASELINE)));
        engines((ObjectNode) arms.path(1), Shares.of(result.measured(Arm.PINNED)));
        root.set("verdict", verdict(result.verdict()));
        ArrayNode metrics = root.putArray("metrics");
        result.metrics().forEach(metric -> metric(metrics.addObject(), metric));
        proof(root.putObject("proof"), result.cacheProof());
        root.putObject("lostHolds")
                .put("lost", result.lostHolds().lost())
                .put("pinnedLegs", result.lostHolds().pinnedLegs());
        root.putNull("drift");
        result.drift().ifPresent(drift -> drift(root.putObject("drift"), drift, header.criteria()));
        root.putNull("waves");
        result.waves().ifPresent(waves -> waves(root.putObject("waves"), waves));
        MeasuresJson.put(root, measures);
        findings(root.putArray("findings"), RunFindings.of(result));
        root.putNull("floods");
        Floods.of(header, result.legs()).ifPresent(floods -> floods(root.putObject("floods"), floods));
        ArrayNode legs = root.putArray("legs");
        result.legs().forEach(leg -> leg(legs.addObject(), leg, header.judgedBy()));
        texts(root.putArray("warnings"), result.warnings());
        return root;
    }

    public static ObjectNode verdict(Verdict verdict) {
        Estimate estimate = verdict.estimate();
        ObjectNode node = JsonText.object();
        node.put("name", verdict.finding().name())
                .putNull("shortfall")
                .put("headline", verdict.headline())
                .put("withOrderBias", verdict.withOrderBias());
        verdict.shortfall().ifPresent(lacking -> node.put("shortfall", lacking.name()));
        JsonText.number(node, "effectPercent", estimate.effectPercent());
        percent(node, "ci95", estimate.ci95());
        JsonText.number(node, "naivePercent", estimate.naivePercent());
        JsonText.number(node, "orderBiasPercent", estimate.orderBiasPercent());
        node.putNull("requiredPairsOfEachOrder");
        verdict.requiredPerOrder().ifPresent(pairs -> node.put("requiredPairsOfEachOrder", pairs));
        node.put("reason", verdict.reason());
        texts(
                node.putArray("flags"),
                verdict.flags().stream().sorted().map(Enum::name).toList());
        texts(node.putArray("warnings"), verdict.warnings());
        return node;
    }

    private static void engine(ObjectNode node, EngineFacts engine) {
        node.put("family", engine.family().name());
        node.putNull("version").putNull("pageTokens").putNull("capacityTokens").putNull("longestPromptTokens");
        engine.version().ifPresent(version -> node.put("version", version));
        engine.pageTokens().ifPresent(tokens -> node.put("pageTokens", tokens));
        engine.capacityTokens().ifPresent(tokens -> node.put("capacityTokens", tokens));
        engine.longestPrompt().ifPresent(tokens -> node.put("longestPromptTokens", tokens));
    }

    private static void plan(ObjectNode node, RunHeader header) {
        ArrayNode rounds = node.putArray("rounds");
        header.plan()
                .rounds()
                .forEach(round -> texts(
                        rounds.addArray(), round.stream().map(PairOrder::name).toList()));
        ArrayNode looks = node.putArray("looks");
        header.plan().looks().forEach(looks::add);
        node.put("design", header.plan().design().name())
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

    private static void floods(ObjectNode node, Floods floods) {
        node.put("requests", floods.requests()).put("notSent", floods.notSent());
        JsonText.number(node, "ttftMillis", floods.ttftMillis());
        JsonText.number(node, "ttftFromTurnMillis", floods.ttftFromTurnMillis());
        JsonText.number(node, "lateMillis", floods.lateMillis());
    }

    private static void criteria(ObjectNode node, RunHeader header) {
        node.put("deltaPercent", 100 * Math.expm1(header.criteria().delta()))
                .put("alpha", header.criteria().alpha())
                .put("minimumPairsOfEachOrder", header.criteria().minimumPerOrder());
        texts(
                node.putArray("judgedBy"),
                header.judgedBy().stream().map(Statistic::name).toList());
    }

    private static void arm(ObjectNode node, String name, ArmSummary arm, OwnRequests own) {
        ResultReport.arm(node, name, arm);
        node.put("legs", arm.legs()).put("probes", arm.probes());
        ArrayNode quantiles = node.putArray("quantiles");
        for (QuantileRange range : arm.quantiles()) {
            ObjectNode one = quantiles.addObject();
            one.put("quantile", range.quantile()).put("millis", range.value()).putNull("ci95Millis");
            range.ci95()
                    .ifPresent(ci -> one.putArray("ci95Millis").add(ci.low()).add(ci.high()));
        }
        node.put("ownRequests", own.requests()).putNull("ownPrefilledTokens");
        own.prefilledTokens().ifPresent(tokens -> node.put("ownPrefilledTokens", tokens));
    }

    private static void metric(ObjectNode node, MetricResult metric) {
        Verdict verdict = metric.verdict();
        Estimate estimate = verdict.estimate();
        node.put("metric", metric.statistic().name())
                .put("finding", verdict.finding().name())
                .put("headline", verdict.headline());
        pairs(node.putObject("logRatios"), estimate.data());
        effect(node.putObject("effect"), estimate.effect(), estimate.ci95());
        percent((ObjectNode) node.get("effect"), "ci90Percent", estimate.ci90());
        ObjectNode shown = node.putObject("shown");
        effect(
                shown,
                estimate.shown().map(of -> OptionalDouble.of(of.effect())).orElse(OptionalDouble.empty()),
                estimate.shown().map(Estimate.Shown::ci95));
        shown.put(
                "normalOrder", estimate.shown().map(Estimate.Shown::normalOrder).orElse(false));
        effect(node.putObject("naive"), estimate.naive(), estimate.naiveCi95());
        effect(node.putObject("orderBias"), estimate.orderBias(), estimate.orderBiasCi95());
        effect(node.putObject("carryOver"), estimate.carryOver(), estimate.carryOverCi95());
        effect(node.putObject("normalOrder"), estimate.tauNormal(), estimate.tauNormalCi95());
        effect(node.putObject("reversedOrder"), estimate.tauReversed(), Optional.empty());
        effect(node.putObject("hodgesLehmann"), estimate.hodgesLehmann(), estimate.hodgesLehmannCi95());
        JsonText.number(node, "pairSd", estimate.pairSd());
        JsonText.number(node, "tPValue", estimate.tPValue());
        node.putNull("permutation");
        estimate.permutation().ifPresent(test -> permutation(node.putObject("permutation"), test));
    }

    private static void permutation(ObjectNode node, Permutation test) {
        node.put("p", test.p()).put("extreme", test.extreme()).put("relabelings", test.relabelings());
    }

    private static void pairs(ObjectNode node, CrossoverData data) {
        for (PairOrder order : PairOrder.values()) {
            ArrayNode values = node.putArray(order.name());
            for (double value : data.of(order)) {
                values.add(value);
            }
        }
    }

    private static void proof(ObjectNode node, CacheProof proof) {
        node.put("exposed", proof.exposed().name())
                .put("kept", proof.kept().name())
                .put("threshold", proof.threshold());
        shares(node, "exposureCi95", proof.exposure());
        shares(node, "mechanismCi95", proof.mechanism());
    }

    private static void drift(ObjectNode node, Drift drift, Criteria criteria) {
        node.put("changePercent", 100 * Math.expm1(drift.change()))
                .put("p", drift.p())
                .put("matters", drift.matters(criteria));
    }

    private static void waves(ObjectNode node, Waves waves) {
        effect(node.putObject("first"), waves.first().effect(), waves.first().ci95());
        effect(node.putObject("steady"), waves.steady().effect(), waves.steady().ci95());
    }

    private static void leg(ObjectNode node, LegRecord leg, List<Statistic> numbers) {
        node.put("life", leg.life())
                .put("order", leg.order().name())
                .put("position", leg.position())
                .put("arm", leg.arm().name())
                .put("measured", leg.isMeasured())
                .putNull("problem");
        leg.problem().ifPresent(problem -> node.put("problem", problem));
        node.putNull("serverLog");
        leg.serverLog().ifPresent(log -> serverLog(node.putObject("serverLog"), log));
        engines(node, leg.shares());
        ObjectNode values = node.putObject("millis");
        numbers.forEach(number -> JsonText.number(values, number.name(), number.of(leg.requests())));
        ArrayNode probes = node.putArray("probes");
        leg.probes().forEach(probe -> probe(probes.addObject(), probe));
    }

    private static void engines(ObjectNode node, List<EngineShare> shares) {
        ArrayNode engines = node.putArray("engines");
        for (EngineShare share : shares) {
            ObjectNode one = engines.addObject()
                    .put("engine", share.engine())
                    .put("promptTokens", share.promptTokens())
                    .putNull("cachedTokens");
            share.cachedTokens().ifPresent(tokens -> one.put("cachedTokens", tokens));
        }
    }

    private static void serverLog(ObjectNode node, ServerLog log) {
        node.put("errorLines", log.errorLines());
        texts(node.putArray("errors"), log.errors());
        node.put("shortageLines", log.shortageLines());
        texts(node.putArray("shortages"), log.shortages());
    }

    private static void probe(ObjectNode node, RequestRecord probe) {
        node.put("cycle", probe.cycle()).put("status", probe.status().name());
        JsonText.number(node, "ttftMillis", probe.ttftMillis());
        node.putNull("promptTokens").putNull("cachedTokens");
        probe.promptTokens().ifPresent(tokens -> node.put("promptTokens", tokens));
        probe.cachedTokens().ifPresent(tokens -> node.put("cachedTokens", tokens));
    }

    /** A log ratio, as a percentage of change with its 95 % interval. */
    static void effect(ObjectNode node, OptionalDouble log, Optional<Interval> ci95) {
        node.putNull("percent");
        log.ifPresent(value -> node.put("percent", 100 * Math.expm1(value)));
        percent(node, "ci95Percent", ci95);
    }

    private static void percent(ObjectNode node, String key, Optional<Interval> logs) {
        node.putNull(key);
        logs.ifPresent(ci -> node.putArray(key).add(100 * Math.expm1(ci.low())).add(100 * Math.expm1(ci.high())));
    }

    private static void findings(ArrayNode node, RunFindings findings) {
        for (RunFindings.Item item : findings.all()) {
            ObjectNode one =
                    node.addObject().put("severity", item.severity().name()).put("what", item.what());
            texts(one.putArray("evidence"), item.evidence());
        }
    }

    private static void shares(ObjectNode node, String key, Optional<Interval> shares) {
        node.putNull(key);
        shares.ifPresent(ci -> node.putArray(key).add(ci.low()).add(ci.high()));
    }

    private static void texts(ArrayNode node, List<String> texts) {
        texts.forEach(node::add);
    }
}
