package io.holdfast.sidecar.view;

import io.holdfast.embed.cell.CellCounters;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.CellPrefix;
import io.holdfast.embed.cell.CellView;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetHoldView;
import io.holdfast.embed.cell.HeldCopy;
import io.holdfast.embed.cell.WarmingView;
import io.holdfast.sidecar.cell.Cells;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** What is known of the fleet, as JSON: cells, engines, copies of what is hot, holds, and what the store costs. */
public final class FleetJson {
    private static final int MOST_PREFIXES = 100;
    /** Most engines, and most copies of a prefix or hold, that are told of; a store can be made to have a thousand. */
    private static final int MOST_ENGINES = 100;

    private FleetJson() {}

    /**
     * All of it; where nothing is shared, that and how to begin.
     *
     * @param why whether names and reasons are told: a name answers any guess of a prompt
     */
    public static JsonObject fleet(Optional<Cells> cells, boolean why) {
        if (cells.isEmpty()) {
            return new JsonObject()
                    .put("store", "none")
                    .put("says", "Nothing is shared: write fleet.store, such as memory or valkey://10.0.0.5:6379.")
                    .put("cells", new JsonArray());
        }
        Map<String, List<Cells.Part>> byCell = new LinkedHashMap<>();
        cells.get()
                .parts()
                .forEach(part -> byCell.merge(
                        part.cell().id(),
                        List.of(part),
                        (some, one) ->
                                Stream.concat(some.stream(), one.stream()).toList()));
        return new JsonObject()
                .put("store", cells.get().store())
                .put(
                        "cells",
                        ApiJson.array(byCell.values().stream()
                                .map(parts -> cell(parts, why))
                                .toList()));
    }

    private static JsonObject cell(List<Cells.Part> parts, boolean why) {
        Cells.Part first = parts.getFirst();
        CellView view = first.member().view();
        return new JsonObject()
                .put("id", first.cell().id())
                .put("model", first.cell().model())
                .put("blockTokens", first.cell().blockTokens())
                .put("namespace", first.cell().namespace())
                .put("engineCount", view.engines().size())
                .put(
                        "engines",
                        ApiJson.array(view.engines().stream()
                                .limit(MOST_ENGINES)
                                .map(engine -> new JsonObject()
                                        .put("id", engine.id())
                                        .put("address", engine.address())
                                        .put("ageSeconds", engine.age().toMillis() / 1e3))
                                .toList()))
                .put("touchesFollowTheCache", rounded(view.follows()))
                .put("sumsOnly", view.sums())
                .put("prefixCount", view.prefixes().size())
                .put(
                        "prefixes",
                        ApiJson.array(view.prefixes().stream()
                                .limit(MOST_PREFIXES)
                                .map(prefix -> prefix(prefix, why))
                                .toList()))
                .put("holds", holds(first.member(), why))
                .put("here", ApiJson.array(parts.stream().map(FleetJson::here).toList()));
    }

    private static JsonObject prefix(CellPrefix prefix, boolean why) {
        JsonObject json = new JsonObject();
        if (why) {
            json.put("name", HexFormat.of().toHexDigits(prefix.name()));
        }
        prefix.tokens().ifPresent(tokens -> {
            double served = prefix.copies().stream()
                    .filter(CellPrefix.Copy::resident)
                    .mapToDouble(CellPrefix.Copy::touchesAnHour)
                    .sum();
            json.put("tokens", tokens).put("savedTokensAnHour", Math.round(served * tokens));
        });
        return json.put("touchesAnHour", rounded(prefix.touchesAnHour()))
                .put(
                        "copies",
                        ApiJson.array(prefix.copies().stream()
                                .limit(MOST_ENGINES)
                                .map(copy -> new JsonObject()
                                        .put("engine", copy.engine())
                                        .put("touchesAnHour", rounded(copy.touchesAnHour()))
                                        .put("resident", copy.resident())
                                        .put("held", copy.held()))
                                .toList()));
    }

    /** The holds of a cell. */
    private static JsonArray holds(CellMember member, boolean why) {
        return ApiJson.array(
                member.fleetHolds().stream().map(hold -> hold(hold, why)).toList());
    }

    /**
     * One hold of the fleet with each engine's copy.
     *
     * @param why whether its name and reasons are told
     */
    public static JsonObject hold(FleetHoldView view, boolean why) {
        JsonArray copies = new JsonArray();
        view.chosen().stream().limit(MOST_ENGINES).forEach(engine -> {
            Optional<HeldCopy> copy = Optional.ofNullable(view.copies().get(engine));
            JsonObject json = new JsonObject()
                    .put("engine", engine)
                    .put("state", copy.map(HeldCopy::state).map(ApiJson::lower).orElse("waiting"))
                    .put("tokens", copy.map(HeldCopy::tokens).orElse(0));
            if (why) {
                json.put("reason", copy.map(HeldCopy::reason).orElse("chosen, and not heard of for two rounds yet"));
            }
            copies.add(json);
        });
        long held = view.copies().values().stream()
                .filter(copy -> copy.state() == HeldCopy.State.HELD)
                .count();
        return hold(view.hold(), why)
                .put("takenHere", view.ours())
                .put("held", held)
                .put("on", copies);
    }

    /**
     * One hold of the fleet as it was asked for.
     *
     * @param why whether its name is told
     */
    public static JsonObject hold(FleetHold hold, boolean why) {
        JsonObject json = new JsonObject().put("id", hold.id());
        if (why) {
            json.put("name", HexFormat.of().toHexDigits(hold.name()));
        }
        return json.put("blocks", hold.blocks())
                .put("tokens", hold.tokens())
                .put("copies", hold.copies() == FleetHold.ALL ? "all" : hold.copies())
                .put("requester", hold.requester())
                .put("weight", hold.weight())
                .put("leaseSecondsLeft", hold.leaseMillis() / 1e3);
    }

    private static JsonObject here(Cells.Part part) {
        CellCounters counters = part.member().counters();
        JsonObject refused = new JsonObject();
        counters.refused().forEach((reason, count) -> refused.put(ApiJson.lower(reason), count));
        JsonObject json = new JsonObject()
                .put("engine", part.link().id())
                .put("as", part.name())
                .put("rounds", counters.rounds())
                .put("failedRounds", counters.failed())
                .put("refused", refused)
                .put("bytesRead", counters.bytesIn())
                .put("bytesWritten", counters.bytesOut())
                .put("lastRoundSeconds", rounded(counters.lastRoundSeconds()))
                .put("trouble", counters.trouble())
                .put("nameTakenTwice", counters.twin())
                .put("curvesTakenFrom", part.engine().curvesTakenFrom());
        WarmingView warming = part.engine().warming();
        json.put(
                "warming",
                new JsonObject()
                        .put("over", warming.over())
                        .put("prefixes", warming.prefixes())
                        .put("storedTokens", warming.storedTokens())
                        .put("plannedTokens", warming.plannedTokens())
                        .put("says", warming.why()));
        counters.sinceGoodSeconds().ifPresent(seconds -> json.put("lastGoodRoundSecondsAgo", rounded(seconds)));
        return json;
    }

    private static double rounded(double number) {
        return Math.round(number * 100) / 100.0;
    }
}
