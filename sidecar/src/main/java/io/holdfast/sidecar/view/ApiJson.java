package io.holdfast.sidecar.view;

import io.holdfast.core.EngineView;
import io.holdfast.core.PrefixExplanation;
import io.holdfast.core.PrefixReport;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.example.ExampleView;
import io.holdfast.core.hold.ClaimView;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.pin.PinsView;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.rank.PrefixRank;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.Subscription;
import io.holdfast.evidence.Interval;
import io.holdfast.http.GuardState;
import io.holdfast.kvcached.LimitView;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.EngineLink;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/** The JSON of the HTTP API. */
public final class ApiJson {
    static final String WITHHELD = "; callers who may act see why";

    private ApiJson() {}

    /** A refusal as RFC 9457 has it. */
    public static JsonObject problem(int status, String sentence) {
        return new JsonObject()
                .put("type", "about:blank")
                .put("title", title(status))
                .put("status", status)
                .put("detail", sentence);
    }

    private static String title(int status) {
        return switch (status) {
            case 400 -> "Bad Request";
            case 401 -> "Unauthorized";
            case 403 -> "Forbidden";
            case 404 -> "Not Found";
            case 405 -> "Method Not Allowed";
            case 408 -> "Request Timeout";
            case 409 -> "Conflict";
            case 413 -> "Content Too Large";
            case 414 -> "URI Too Long";
            case 415 -> "Unsupported Media Type";
            case 422 -> "Unprocessable Content";
            case 429 -> "Too Many Requests";
            case 431 -> "Request Header Fields Too Large";
            case 500 -> "Internal Server Error";
            case 503 -> "Service Unavailable";
            default -> status < 500 ? "Refused" : "Failed";
        };
    }

    /** One page of a list, and where the next begins. */
    public static JsonObject page(String name, int count, int from, List<JsonObject> some) {
        JsonObject answer =
                new JsonObject().put("count", count).put("from", from).put(name, array(some));
        return from + some.size() < count ? answer.put("next", from + some.size()) : answer;
    }

    /**
     * Returns a hold without its name and source.
     *
     * @param why whether the reader may see reasons, which can tell what others' prompts begin with
     */
    public static JsonObject hold(String engineId, HoldView hold, boolean why) {
        JsonObject json = new JsonObject()
                .put("id", Long.toString(hold.id()))
                .put("engine", engineId)
                .put("origin", lower(hold.origin()))
                .put("state", lower(hold.state()))
                .put("wantedBlocks", hold.wantedBlocks())
                .put("heldBlocks", hold.heldBlocks())
                .put("heldTokens", hold.heldTokens())
                .put("beyondTokens", hold.beyondTokens())
                .put("timesLost", hold.timesLost())
                .put("weight", hold.weight())
                .put("leaseSeconds", seconds(hold.leaseLeft()));
        hold.provenAgo().ifPresent(ago -> json.put("provenSecondsAgo", seconds(ago)));
        if (hold.origin() == HoldOrigin.REQUESTED && !hold.claims().isEmpty()) {
            putClaims(json, hold);
        }
        return json.put("reason", why ? hold.reason() : withheld(hold));
    }

    private static void putClaims(JsonObject json, HoldView hold) {
        ClaimView first = hold.claims().getFirst();
        if (first.requester().isEmpty()) {
            putLease(json, first);
            return;
        }
        json.put("timesAsked", hold.timesAsked())
                .put(
                        "requesters",
                        array(hold.claims().stream()
                                .map(claim -> putLease(
                                        new JsonObject()
                                                .put("requester", claim.requester())
                                                .put("weight", claim.weight())
                                                .put("leaseSeconds", seconds(claim.left())),
                                        claim))
                                .toList()));
    }

    private static JsonObject putLease(JsonObject json, ClaimView claim) {
        if (claim.measured()) {
            json.put("measure", true);
        }
        return claim.lease().refreshOnHit()
                ? json.put("refreshOnHit", true).put("atMostSeconds", seconds(claim.leftAtMost()))
                : json;
    }

    private static double seconds(Duration duration) {
        return duration.toMillis() / 1000.0;
    }

    /** Returns what a release gave back, without the holds that it was about. */
    public static JsonObject givenBack(GivenBack given) {
        return new JsonObject()
                .put("holds", given.ended().size())
                .put("evictableTokens", given.evictableTokens())
                .put("runsOutTokens", given.runsOutTokens())
                .put("runsOutSeconds", seconds(given.runsOutWithin()))
                .put("stayingTokens", given.stayingTokens())
                .put("pendingTokens", given.pendingTokens())
                .put("sharedTokens", given.sharedTokens());
    }

    private static JsonObject released(EngineView.GivenBack released) {
        JsonObject json = new JsonObject()
                .put("holds", released.holds())
                .put("tokens", released.tokens())
                .putNull("foundByOthersTokens")
                .putNull("computedAgainTokens");
        released.foundTokens().number().ifPresent(tokens -> json.put("foundByOthersTokens", Math.round(tokens)));
        released.lostTokens().number().ifPresent(tokens -> json.put("computedAgainTokens", Math.round(tokens)));
        return released.why().isEmpty()
                ? json
                : json.put("unmeasuredHolds", released.unmeasured()).put("why", released.why());
    }

    static JsonObject hints(Map<Hint, Long> hints) {
        JsonObject json = new JsonObject();
        for (Hint hint : Hint.values()) {
            json.put(lower(hint), hints.getOrDefault(hint, 0L));
        }
        return json;
    }

    static JsonObject pins(PinsView pins) {
        JsonObject json = new JsonObject()
                .put("held", pins.pinned())
                .put("leftovers", pins.leftovers())
                .put("unsure", pins.unsure())
                .put("kept", pins.kept())
                .put("refused", pins.refused())
                .put("abandoned", pins.abandoned())
                .put("unreleasableBlocks", pins.unreleasableBlocks())
                .put("runningOut", pins.runningOut());
        pins.trouble().ifPresent(sentence -> json.put("trouble", sentence));
        return json;
    }

    private static JsonObject guards(List<GuardState> all) {
        JsonObject json = new JsonObject();
        for (GuardState guards : all) {
            json.put(
                    lower(guards.calls()),
                    new JsonObject()
                            .put("breaker", lower(guards.breaker()))
                            .put("underWay", guards.underWay())
                            .put("mostUnderWay", guards.mostUnderWay())
                            .put(
                                    "turnedAway",
                                    new JsonObject()
                                            .put("breaker", guards.turnedAwayByBreaker())
                                            .put("bulkhead", guards.turnedAwayByBulkhead())
                                            .put("rate", guards.turnedAwayByRate()))
                            .put("timedOut", guards.timedOut()));
        }
        return json;
    }

    static String withheld(HoldView hold) {
        return switch (hold.state()) {
                    case REQUESTED -> "requested and not held yet";
                    case HELD -> "held";
                    case EXPIRING -> "being released";
                    case RELEASED -> "released";
                    case LOST -> "lost, and wanted still";
                }
                + WITHHELD;
    }

    public static JsonObject example(ExampleView example) {
        List<JsonObject> prefixes = example.prefixes().stream()
                .map(seen -> new JsonObject()
                        .put("prefix", seen.number())
                        .put("blocks", seen.blocks())
                        .put("tokens", seen.tokens())
                        .put("prompts", seen.prompts())
                        .put("requests", seen.requests())
                        .put("wholePrompt", seen.whole()))
                .toList();
        return new JsonObject()
                .put("example", Long.toString(example.id()))
                .put("running", example.running())
                .put("secondsLeft", example.left().toMillis() / 1000.0)
                .put("requests", example.requests())
                .put("unplaced", example.unplaced())
                .put("notNoted", example.notNoted())
                .put("prefixes", array(prefixes))
                .put(
                        "note",
                        "Only requests that stored something are seen. A request whose whole prompt was in the"
                                + " cache stores nothing.");
    }

    /** Adds the source of a hold, for readers who may see texts of prompts. */
    private static void putAsked(JsonObject hold, PrefixSource asked) {
        switch (asked) {
            case PrefixSource.Text text -> hold.put("text", text.text());
            case PrefixSource.Messages conversation -> {
                hold.put("messages", new JsonArray(conversation.messages().toString()));
                conversation.tools().ifPresent(tools -> hold.put("tools", new JsonArray(tools.toString())));
            }
            case PrefixSource.Tokens tokens ->
                hold.put(
                        "tokens",
                        new JsonArray(Arrays.stream(tokens.ids())
                                .mapToObj(Integer::toUnsignedLong)
                                .toList()));
            case PrefixSource.Hashes hashes -> {}
            case PrefixSource.Example example -> {}
        }
    }

    /**
     * Returns an engine as it is now.
     *
     * @param why whether the reader may see the reasons of holds and plans
     */
    public static JsonObject engine(EngineLink link, boolean why) {
        return engine(link, link.view(), why);
    }

    /**
     * Returns an engine as it was in one view.
     *
     * @param view a picture of the engine that was taken before
     */
    public static JsonObject engine(EngineLink link, EngineView view, boolean why) {
        JsonObject engine = engine(link.config(), link.backendName(), view, heard(link), why)
                .put(
                        "holds",
                        array(link.holds(view).stream()
                                .map(hold -> hold(link, hold, why))
                                .toList()))
                .put("pins", pins(link.pins()))
                .put("calls", guards(link.guards()))
                .put("automaticHolds", view.automatic().on())
                .put("automaticHoldsWhy", view.automatic().why())
                .put("paused", view.paused().isPresent())
                .put("keepsHeld", view.keepsHeld())
                .put("dryRun", view.dryRun() || link.config().dryRun())
                .put("learned", link.learned())
                .put("view", link.views().json());
        String fault = link.fault();
        if (!fault.isEmpty()) {
            engine.put("fault", fault).put("certain", false).put("certainty", fault);
        }
        view.paused().ifPresent(sentence -> engine.put("pausedWhy", sentence));
        link.limit()
                .ifPresent(its -> engine.put("certainty", EngineLimit.NO_EVENTS).put("kvcached", limit(its)));
        return engine;
    }

    /** State of the event stream. */
    private static JsonObject heard(EngineLink link) {
        List<Subscription> now = link.subscriptions();
        Optional<String> deaf = link.deafness();
        if (deaf.isPresent() || now.isEmpty()) {
            return new JsonObject()
                    .put("connected", false)
                    .put("why", deaf.orElse("its events are being subscribed to"));
        }
        JsonObject events = heard(now.getFirst());
        if (now.size() > 1) {
            events.put("connected", now.stream().allMatch(Subscription::connected))
                    .put(
                            "ranks",
                            array(now.stream()
                                    .map(each -> heard(each).put("rank", each.rank()))
                                    .toList()));
        }
        return events;
    }

    private static JsonObject heard(Subscription wire) {
        JsonObject events = new JsonObject()
                .put("endpoint", wire.endpoint())
                .put("connected", wire.connected())
                .put("received", wire.received())
                .put("refused", wire.refused())
                .put("unknownEvents", wire.unknownEvents())
                .put("duplicates", wire.duplicates())
                .put("fullRounds", wire.fullRounds());
        wire.replayEndpoint()
                .ifPresent(endpoint -> events.put("replayEndpoint", endpoint)
                        .put("replays", wire.replays())
                        .put("failedReplays", wire.failedReplays())
                        .put("replayedBatches", wire.replayedBatches()));
        wire.lastReplayFailure().ifPresent(sentence -> events.put("lastReplayFailure", sentence));
        wire.lastRefusal().ifPresent(sentence -> events.put("lastRefusal", sentence));
        return events;
    }

    /**
     * A hold with its name, and by what it was requested.
     *
     * @param why whether the reader may see reasons, which can tell what others' prompts begin with
     */
    public static JsonObject hold(EngineLink link, HoldView hold, boolean why) {
        JsonObject json = hold(link.id(), hold, why);
        link.holdName(hold.id()).ifPresent(name -> json.put("name", name));
        if (why) {
            link.shownSource(hold.id()).ifPresent(asked -> putAsked(json, asked));
        }
        return json;
    }

    /** @param backend the name of the one that holds, where one of several is chosen */
    private static JsonObject engine(
            EngineConfig config, String backend, EngineView view, JsonObject events, boolean why) {
        return new JsonObject()
                .put("id", view.engineId())
                .put("url", config.url().toString())
                .put("incarnation", view.incarnation())
                .put("caches", view.caches())
                .put("certain", view.certain())
                .put("certainty", view.certainty())
                .put("blocks", view.blocks())
                .put("ghosts", view.ghosts())
                .put("memory", memory(view.memory()))
                .put("events", counters(view.counters()).mergeIn(events))
                .put("invisibleShare", reading(view.invisibleShare()))
                .put("backend", backend(config, backend, view.capabilities()))
                .put("readings", readings(view.readings()))
                .put("budget", budget(view.budget()))
                .put("alarms", alarms(view))
                .put("ownRequests", ownRequests(view.own()))
                .put("stalls", view.stalls())
                .put("hints", hints(view.hints()))
                .put("released", released(view.released()))
                .put("touches", touches(view.touches()))
                .put("byRank", byRank(view.byRank()))
                .put("plan", plan(view.lastPlan(), why))
                .put("ttft", ttft(view.ttft()));
    }

    private static JsonObject memory(MemoryBudget.Used memory) {
        return new JsonObject()
                .put("bytes", memory.bytes())
                .put("mostBytes", memory.most())
                .put("shortages", memory.shortages());
    }

    private static JsonObject counters(EngineView.Counters counters) {
        return new JsonObject()
                .put("batches", counters.batches())
                .put("storedBlocks", counters.storedBlocks())
                .put("removedBlocks", counters.removedBlocks())
                .put("removedUnknown", counters.removedUnknown())
                .put("clears", counters.clears())
                .put("gaps", counters.gaps())
                .put("lostBatches", counters.lostBatches())
                .put("restarts", counters.restarts())
                .put("visibleRequests", counters.visibleRequests());
    }

    private static JsonObject byRank(EngineView.ByRank byRank) {
        Evidence shadows = byRank.shadows();
        JsonObject json = new JsonObject().put("licensed", byRank.licensed()).put("why", byRank.why());
        return shadows.of() < 1
                ? json
                : json.put("hitRatioWith", shadows.with() / shadows.of())
                        .put("hitRatioWithout", shadows.without() / shadows.of());
    }

    private static JsonObject ownRequests(EngineView.OwnRequests own) {
        return new JsonObject()
                .put("sent", own.sent())
                .put("answered", own.answered())
                .put("failed", own.failed())
                .put("lateTouches", own.lateTouches())
                .put("secondsWithinAnHour", own.withinAnHour().toMillis() / 1e3);
    }

    private static JsonObject touches(EngineView.Touches touches) {
        return new JsonObject()
                .put("told", touches.told())
                .put("shown", touches.shown())
                .put("taught", touches.taught())
                .put("notTaken", touches.notTaken());
    }

    private static JsonObject backend(EngineConfig config, String name, Capabilities capabilities) {
        return new JsonObject()
                .put("name", name)
                .put("configured", config.backend())
                .put("canPin", capabilities.canPin())
                .put("why", capabilities.why());
    }

    public static JsonObject readings(EngineReadings readings) {
        return new JsonObject()
                .put("capacityTokens", reading(readings.capacityTokens()))
                .put("blockTokens", reading(readings.blockTokens()))
                .put("contextTokens", reading(readings.contextTokens()))
                .put("largestAcceptedTokens", reading(readings.largestAcceptedTokens()))
                .put("runningRequests", reading(readings.runningRequests()))
                .put("waitingRequests", reading(readings.waitingRequests()))
                .put("usedTokens", reading(readings.usedTokens()))
                .put("ttftSumSeconds", reading(readings.ttftSumSeconds()))
                .put("ttftCount", reading(readings.ttftCount()))
                .put("itlSumSeconds", reading(readings.itlSumSeconds()))
                .put("itlCount", reading(readings.itlCount()))
                .put("promptTokens", reading(readings.promptTokens()))
                .put("cachedTokens", reading(readings.cachedTokens()));
    }

    static JsonObject reading(Reading reading) {
        return switch (reading) {
            case Reading.Known known ->
                new JsonObject().put("value", number(known.value())).put("source", known.source());
            case Reading.Unknown unknown -> new JsonObject().put("unknown", unknown.why());
        };
    }

    private static JsonObject budget(Budget budget) {
        return new JsonObject()
                .put("hardTokens", budget.hardTokens())
                .put("newTokens", budget.newTokens())
                .put("automaticTokens", budget.automaticTokens())
                .put("pinnedTokens", budget.pinnedTokens())
                .put("foreignTokens", budget.foreignTokens())
                .put("terms", terms(budget));
    }

    static JsonArray terms(Budget budget) {
        return array(budget.terms().stream()
                .map(term -> {
                    JsonObject json = new JsonObject().put("name", term.name());
                    term.tokens().ifPresentOrElse(tokens -> json.put("tokens", tokens), () -> json.putNull("tokens"));
                    return json.put("why", term.why());
                })
                .toList());
    }

    /**
     * Returns one decision.
     *
     * @param why whether the reader may see reasons, which can tell what others' prompts begin with
     */
    public static JsonObject decision(DecisionLog.Decision made, boolean why) {
        JsonObject json = new JsonObject()
                .put("id", Long.toString(made.id()))
                .put("at", made.at().toString())
                .put("engine", made.engine())
                .put("about", lower(made.about()))
                .put("what", made.what());
        made.hold().ifPresent(hold -> json.put("hold", Long.toString(hold)));
        if (!made.code().isEmpty()) {
            json.put("code", made.code());
        }
        return json.put("blocks", made.blocks()).put("reason", made.reason(why));
    }

    /**
     * Returns one page of the shared prefixes.
     *
     * @param why whether the reader may see reasons
     */
    public static JsonObject prefixes(List<PrefixReport> all, int from, int limit, boolean why) {
        return page(
                "prefixes",
                all.size(),
                from,
                all.stream()
                        .skip(from)
                        .limit(limit)
                        .map(report -> prefix(report, why))
                        .toList());
    }

    static JsonObject prefix(PrefixReport report, boolean why) {
        SharedPrefix prefix = report.prefix();
        JsonObject json = new JsonObject()
                .put("id", Long.toHexString(prefix.lastBlock()))
                .put("lastBlock", Long.toString(prefix.lastBlock()))
                .put("blocks", prefix.blocks())
                .put("tokens", report.tokens())
                .put("continuations", prefix.ways())
                .put("requests", prefix.requests())
                .put("hits", prefix.hits())
                .put("timesLost", prefix.losses())
                .put("recomputedTokens", report.tokens() / prefix.blocks() * prefix.lostBlocks())
                .put("heat", rounded(prefix.heat()))
                .put("cached", report.cached())
                .put("held", report.held());
        return why ? json.put("why", report.why()) : json;
    }

    public static JsonObject explanation(PrefixExplanation about) {
        JsonObject json = new JsonObject()
                .put("blocks", about.blocks())
                .put("tokens", about.tokens())
                .put("cachedBlocks", about.cachedBlocks())
                .put("heldBlocks", about.heldBlocks())
                .put("why", about.why());
        about.line().ifPresent(line -> json.put("plan", line(line, true)));
        about.rank().ifPresent(rank -> json.put("rank", rank(rank)));
        return json.put("byRank", byRank(about.byRank()));
    }

    private static JsonObject rank(PrefixRank rank) {
        PrefixRank.Kind kind = rank.kind();
        JsonObject json = new JsonObject()
                .put("blocks", rank.blocks())
                .put("cached", rank.cached())
                .put("chosen", rank.order().chosen())
                .put("placesBefore", rank.order().before())
                .put("places", rank.order().of())
                .put("usesPerHour", rounded(rank.order().usesASecond() * 3_600))
                .put("idleSeconds", rounded(rank.idleSeconds()))
                .put(
                        "kind",
                        new JsonObject()
                                .put("turn", kind.turn())
                                .put("uses", kind.uses())
                                .put("leastPromptTokens", kind.leastPromptTokens())
                                .put("hint", lower(kind.said())))
                .put(
                        "lru",
                        new JsonObject()
                                .put("keeps", rank.lru().keeps())
                                .put("residenceSeconds", rounded(rank.lru().residenceSeconds())));
        return json.put(
                "usedAgain",
                array(rank.chances().stream()
                        .map(chance -> new JsonObject()
                                .put("withinSeconds", chance.seconds())
                                .put("percent", rounded(100 * chance.chance())))
                        .toList()));
    }

    private static double rounded(double value) {
        return Math.round(value * 100) / 100.0;
    }

    private static JsonArray alarms(EngineView view) {
        return array(view.alarms().stream()
                .map(alarm -> new JsonObject().put("kind", lower(alarm.kind())).put("sentence", alarm.sentence()))
                .toList());
    }

    public static JsonObject plan(Plan plan, boolean why) {
        List<JsonObject> lines =
                plan.lines().stream().map(line -> line(line, why)).toList();
        return new JsonObject().put("tick", plan.tick()).put("lines", array(lines));
    }

    private static JsonObject line(Plan.Line line, boolean why) {
        return new JsonObject()
                .put("action", lower(line.action()))
                .put("hold", Long.toString(line.holdId()))
                .put("blocks", line.blocks())
                .put("code", lower(line.code()))
                .put("reason", why ? line.reason() : "decided" + WITHHELD);
    }

    static JsonObject ttft(TtftEffect ttft) {
        JsonObject json = effect(
                new JsonObject().put("state", lower(ttft.state())).put("windows", ttft.windows()),
                ttft.effectPercent(),
                ttft.interval95Percent());
        json.put("reason", ttft.reason()).put("offSeconds", seconds(ttft.offTime()));
        ttft.offPrefill().ifPresent(cost -> json.put("offPrefillSeconds", seconds(cost)));
        ttft.itlPercent().ifPresent(change -> json.put("interTokenPercent", change));
        ttft.guard().ifPresent(guard -> json.put("guard", guard));
        ttft.nextTry().ifPresent(left -> json.put("nextTrySeconds", seconds(left)));
        ttft.expected().ifPresent(expected -> json.put("expected", expected));
        ttft.computed().ifPresent(computed -> json.put("computed", computed(computed)));
        if (!ttft.classes().isEmpty()) {
            json.put(
                    "classes",
                    array(ttft.classes().stream()
                            .map(each -> effect(
                                    new JsonObject().put("class", each.name()).put("windows", each.windows()),
                                    each.effectPercent(),
                                    each.interval95Percent()))
                            .toList()));
        }
        return json;
    }

    private static JsonObject computed(TtftEffect.Computed computed) {
        JsonObject json = effect(
                new JsonObject().put("of", computed.ofUsers() ? "users" : "all").put("windows", computed.windows()),
                computed.effectPercent(),
                computed.interval95Percent());
        computed.sharePercent().ifPresent(share -> json.put("sharePercent", share));
        return json;
    }

    private static JsonObject effect(JsonObject json, OptionalDouble percent, Optional<Interval> interval95) {
        percent.ifPresentOrElse(effect -> json.put("effectPercent", effect), () -> json.putNull("effectPercent"));
        interval95.ifPresentOrElse(
                interval -> json.put("interval95Percent", JsonArray.of(interval.low(), interval.high())),
                () -> json.putNull("interval95Percent"));
        return json;
    }

    static JsonObject segment(Path file, Segment segment) {
        return new JsonObject()
                .put("segment", file.toString())
                .put("limitBytes", segment.limitBytes())
                .put("usedBytes", segment.usedBytes())
                .put("preallocatedBytes", segment.preallocatedBytes())
                .put("percent", percent(segment));
    }

    /** Returns the percentage as kvtop prints it, with one decimal. */
    private static double percent(Segment segment) {
        return Math.rint(1_000.0 * (segment.usedBytes() + segment.preallocatedBytes()) / segment.limitBytes()) / 10;
    }

    /** A kvcached limit; numbers that are not known are left out. */
    public static JsonObject limit(EngineLimit limit) {
        LimitView view = limit.view();
        JsonObject json = view.segment()
                .map(segment -> segment(limit.file(), segment))
                .orElseGet(() -> new JsonObject().put("segment", limit.file().toString()));
        view.startupBytes().ifPresent(bytes -> json.put("startupBytes", bytes));
        view.bundleBytes().ifPresent(bytes -> json.put("bundleBytes", bytes));
        view.lowestBytes().ifPresent(bytes -> json.put("lowestBytes", bytes));
        view.targetBytes().ifPresent(bytes -> json.put("targetBytes", bytes));
        return json.put("state", lower(view.state()))
                .put("why", view.sentence())
                .put("moves", view.moves())
                .put("rollbacks", view.rollbacks());
    }

    public static JsonArray array(List<JsonObject> objects) {
        return new JsonArray(objects);
    }

    /** Counts are written as counts. */
    private static Number number(double value) {
        if (value == Math.rint(value) && Math.abs(value) < 1L << 53) {
            return (long) value;
        }
        return value;
    }

    static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
