package io.holdfast.sidecar.view;

import io.holdfast.core.PrefixReport;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.reading.Reading;
import io.holdfast.kvcached.LimitView;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EngineWatch;
import io.holdfast.sidecar.engine.EngineWatch.EffectAt;
import io.holdfast.sidecar.engine.EngineWatch.Sample;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the page, {@code top} and {@code summary} show: all engines as they were at one moment, and one of them in detail.
 *
 * <p>Its texts are made once for each right and each engine in detail, whoever asks for them how often.
 *
 * @param engines those that somebody should look at first
 * @param otherSegments kvcached segments that none of them has
 */
public record Overview(
        Instant at,
        List<EngineOverview> engines,
        List<JsonObject> otherSegments,
        Map<String, EngineWatch> watches,
        DecisionLog log,
        Texts texts) {
    private static final int MOST_HOLDS = 100;
    private static final int MOST_PREFIXES = 20;
    private static final int MOST_DECISIONS = 20;

    /** Documents written so far. */
    static final class Texts {
        private final Map<String, String> made = new ConcurrentHashMap<>();
    }

    public static Overview of(
            Instant at,
            List<EngineOverview> engines,
            List<JsonObject> otherSegments,
            Map<String, EngineWatch> watches,
            DecisionLog log) {
        return new Overview(
                at,
                engines.stream()
                        .sorted(Comparator.comparingInt(EngineOverview::urgency))
                        .toList(),
                List.copyOf(otherSegments),
                Map.copyOf(watches),
                log,
                new Texts());
    }

    /** The engine to show in detail: the one asked for, or the first. */
    public String detailed(Optional<String> asked) {
        return asked.filter(watches::containsKey)
                .orElseGet(() -> engines.isEmpty() ? "" : engines.getFirst().id());
    }

    /**
     * All engines in short, and this one in detail; without the time, so that two of these differ where something changed.
     *
     * @param why whether the reader may act, and may see the reasons of holds and plans
     */
    public String text(String detailed, boolean why) {
        String all = texts.made.computeIfAbsent(
                why + " all",
                key -> ApiJson.array(engines.stream()
                                        .map(engine -> json(engine, why))
                                        .toList())
                                .encode()
                        + ",\"otherSegments\":"
                        + ApiJson.array(otherSegments).encode());
        String one = texts.made.computeIfAbsent(why + " " + detailed, key -> detail(detailed, why));
        return "\"mayAct\":" + why + ",\"engines\":" + all + ",\"detail\":" + one + "}";
    }

    /** Returns the document with its time. */
    public String document(String text) {
        return "{\"at\":\"" + at + "\"," + text;
    }

    private String detail(String engine, boolean why) {
        return Optional.ofNullable(watches.get(engine))
                .map(watch -> detail(watch, why).encode())
                .orElse("null");
    }

    private static JsonObject json(EngineOverview engine, boolean why) {
        JsonObject json = new JsonObject()
                .put("id", engine.id())
                .put("url", engine.url())
                .put("verdict", ApiJson.lower(engine.verdict().word()))
                .put("says", engine.verdict().word().said())
                .put("sentence", engine.verdict().sentence())
                .put("effect", ApiJson.ttft(engine.effect()))
                .put("ready", engine.unready().isEmpty())
                .put("alarms", engine.alarms())
                .put("automaticHolds", engine.automatic().on())
                .put("automaticHoldsWhy", engine.automatic().why())
                .put("dryRun", engine.dryRun())
                .put("paused", engine.paused().isPresent())
                .put(
                        "holds",
                        new JsonObject()
                                .put("held", engine.holds().held())
                                .put("waiting", engine.holds().waiting())
                                .put("lost", engine.holds().lost())
                                .put("tokens", engine.holds().tokens()))
                .put("pressure", pressure(engine.pressure()))
                .put("hits", hits(engine.hits()))
                .put(
                        "saved",
                        new JsonObject()
                                .put(
                                        "promptShare",
                                        ApiJson.reading(engine.saved().share()))
                                .put("tokens", ApiJson.reading(engine.saved().tokens())))
                .put("summary", engine.summary(why));
        engine.conditions().ifPresent(found -> json.put("conditions", conditions(found)));
        engine.waiting().ifPresent(which -> json.put("waits", which.said(why)));
        engine.paused().ifPresent(sentence -> json.put("pausedWhy", sentence));
        engine.needs().ifPresent(sentence -> json.put("needs", sentence));
        engine.limit().ifPresent(limit -> json.put("kvcached", kvcached(limit)));
        return json;
    }

    private static JsonObject conditions(Conditions found) {
        return new JsonObject()
                .put("pressure", condition(found.pressure()))
                .put("models", condition(found.models()))
                .put("lengths", condition(found.lengths()))
                .put("advice", found.advice());
    }

    private static JsonObject condition(Conditions.Condition one) {
        return new JsonObject().put("answer", ApiJson.lower(one.answer())).put("why", one.why());
    }

    private static JsonObject pressure(EngineOverview.Pressure pressure) {
        return new JsonObject()
                .put("capacityTokens", ApiJson.reading(pressure.capacityTokens()))
                .put("usedTokens", ApiJson.reading(pressure.usedTokens()))
                .put("demandTokens", ApiJson.reading(pressure.demandTokens()))
                .put("demandEachInFullTokens", ApiJson.reading(pressure.demandEachInFullTokens()))
                .put("hardTokens", ApiJson.reading(pressure.hardTokens()))
                .put("automaticTokens", ApiJson.reading(pressure.automaticTokens()))
                .put("residenceSeconds", ApiJson.reading(pressure.residenceSeconds()))
                .put("reuseSeconds", ApiJson.reading(pressure.reuseSeconds()))
                .put("rho", ApiJson.reading(pressure.rho()))
                .put("runningRequests", ApiJson.reading(pressure.running()))
                .put("waitingRequests", ApiJson.reading(pressure.waiting()));
    }

    private static JsonObject hits(EngineOverview.Hits hits) {
        return new JsonObject()
                .put("overSeconds", hits.span().toSeconds())
                .put("promptTokens", ApiJson.reading(hits.promptTokens()))
                .put("cachedTokens", ApiJson.reading(hits.cachedTokens()))
                .put("cachedShare", ApiJson.reading(hits.cachedShare()))
                .put("savedSeconds", ApiJson.reading(hits.savedSeconds()))
                .put(
                        "requests",
                        new JsonObject()
                                .put("all", ApiJson.reading(hits.all()))
                                .put("foundShared", ApiJson.reading(hits.foundShared()))
                                .put("foundInPart", ApiJson.reading(hits.foundInPart()))
                                .put("foundNothing", ApiJson.reading(hits.foundNothing()))
                                .put("lostShared", ApiJson.reading(hits.lostShared()))
                                .put("others", ApiJson.reading(hits.others()))
                                .put("invisible", ApiJson.reading(hits.invisible())));
    }

    private static JsonObject kvcached(LimitView limit) {
        JsonObject json =
                new JsonObject().put("state", ApiJson.lower(limit.state())).put("why", limit.sentence());
        limit.segment()
                .ifPresent(segment -> json.put("limitBytes", segment.limitBytes())
                        .put("usedBytes", segment.usedBytes())
                        .put("mappedBytes", segment.mappedBytes()));
        limit.targetBytes().ifPresent(bytes -> json.put("targetBytes", bytes));
        return json;
    }

    private JsonObject detail(EngineWatch watch, boolean why) {
        EngineLink link = watch.link();
        List<HoldView> holds = link.holds().stream()
                .filter(hold -> hold.state() != HoldState.RELEASED)
                .sorted(Comparator.comparing((HoldView hold) -> hold.state() != HoldState.HELD)
                        .thenComparing(
                                Comparator.comparingLong(HoldView::heldTokens).reversed())
                        .thenComparingLong(HoldView::id))
                .toList();
        return new JsonObject()
                .put("id", link.id())
                .put("reasons", new JsonArray(link.report().unreadiness()))
                .put("notes", new JsonArray(link.report().notes()))
                .put("certain", link.certain())
                .put("certainty", link.fault().isEmpty() ? link.view().certainty() : link.fault())
                .put("backend", link.backendName())
                .put(
                        "history",
                        ApiJson.array(
                                watch.effects().stream().map(Overview::json).toList()))
                .put("cachedShares", shares(watch.samples()))
                .put("budgetTerms", ApiJson.terms(link.view().budget()))
                .put("holdCount", holds.size())
                .put(
                        "holds",
                        ApiJson.array(holds.stream()
                                .limit(MOST_HOLDS)
                                .map(hold -> hold(link, hold, why))
                                .toList()))
                .put("prefixes", prefixes(watch.prefixes(), why))
                .put(
                        "decisions",
                        ApiJson.array(log.before(Long.MAX_VALUE, MOST_DECISIONS, Optional.of(link.id())).stream()
                                .map(made -> ApiJson.decision(made, why))
                                .toList()));
    }

    private static JsonObject json(EffectAt seen) {
        JsonObject json = new JsonObject()
                .put("at", seen.at().toString())
                .put("state", ApiJson.lower(seen.effect().state()))
                .put("windows", seen.effect().windows());
        seen.effect().effectPercent().ifPresent(percent -> json.put("effectPercent", percent));
        seen.effect()
                .interval95Percent()
                .ifPresent(interval -> json.put("interval95Percent", JsonArray.of(interval.low(), interval.high())));
        return json;
    }

    /** Returns the cached share of prompts between each two samples; left out where no prompt came. */
    private static JsonArray shares(List<Sample> samples) {
        JsonArray shares = new JsonArray();
        for (int i = 1; i < samples.size(); i++) {
            List<Sample> two = List.of(samples.get(i - 1), samples.get(i));
            Reading none = Reading.unknown("");
            Reading share = EngineOverview.share(
                    EngineWatch.grown(two, Sample::promptTokens, none, ""),
                    EngineWatch.grown(two, Sample::cachedTokens, none, ""));
            if (share instanceof Reading.Known known) {
                shares.add(new JsonObject()
                        .put("at", samples.get(i).at().toString())
                        .put("share", Math.rint(1_000 * known.value()) / 1_000));
            }
        }
        return shares;
    }

    /** Returns a hold without times that pass on their own, which would make every second a change. */
    private static JsonObject hold(EngineLink link, HoldView hold, boolean why) {
        JsonObject json = ApiJson.hold(link, hold, why);
        json.remove("provenSecondsAgo");
        json.remove("requesters");
        long left = hold.leaseLeft().toSeconds();
        return json.put("leaseSeconds", left < 120 ? left - left % 10 : left - left % 60);
    }

    private static JsonObject prefixes(Optional<List<PrefixReport>> reports, boolean why) {
        if (reports.isEmpty()) {
            return new JsonObject().put("unknown", "the controller has not answered yet");
        }
        List<PrefixReport> worth = reports.get().stream()
                .filter(report -> report.prefix().worthHolding() || report.held())
                .toList();
        return new JsonObject()
                .put("shared", reports.get().size())
                .put("worthHolding", worth.size())
                .put(
                        "prefixes",
                        ApiJson.array(worth.stream()
                                .limit(MOST_PREFIXES)
                                .map(report -> ApiJson.prefix(report, why))
                                .toList()));
    }
}
