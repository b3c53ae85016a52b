package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * One screen of {@code top}: a row for each engine, the most urgent first, and below them the chosen one in detail. What is not
 * known is a question mark in a row, and has its reason below.
 *
 * @param overview the document of {@code GET /api/v1/overview}
 * @param chosen which row is in detail
 * @param stale why it is not how things are now; absent where it is
 */
record TopFrame(
        JsonNode overview, String sidecar, int chosen, int columns, int rows, boolean colour, Optional<String> stale) {
    private static final DateTimeFormatter CLOCK =
            DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT).withZone(ZoneId.systemDefault());
    private static final int DETAIL_LINES = 13;
    private static final int FEWEST_ENGINES = 3;
    private static final int FIXED_COLUMNS = 69;
    private static final int BAR = 20;
    private static final String KEYS = "up and down choose an engine, q ends";
    private static final Map<String, String> SHORT =
            Map.of("harms", "harms", "cannot_tell", "cannot tell", "does_nothing", "does nothing", "helps", "helps");
    private static final Map<String, String> COLOURS =
            Map.of("harms", "31;1", "cannot_tell", "33", "does_nothing", "0", "helps", "32;1");

    /** As many lines as there are rows at most, none longer than there are columns. */
    List<String> lines(boolean keys) {
        List<String> lines = new ArrayList<>();
        JsonNode engines = overview.path("engines");
        lines.add(cut(title(engines)));
        int room = Math.max(FEWEST_ENGINES, rows - DETAIL_LINES - 4);
        int shown = Math.min(engines.size(), room);
        int first = Math.max(0, Math.min(chosen - shown / 2, engines.size() - shown));
        int name = nameColumns(engines);
        lines.add(cut(String.format(
                Locale.ROOT,
                " %-" + name + "s %-12s %7s %-14s %5s %5s %5s %5s %6s",
                "ENGINE",
                "HOLDING",
                "EFFECT",
                "95 % INTERVAL",
                "HELD",
                "CACHE",
                "RHO",
                "FOUND",
                "SIMUL.")));
        for (int i = first; i < first + shown; i++) {
            lines.add(row(engines.path(i), i == chosen, name));
        }
        if (shown < engines.size()) {
            lines.add(cut(" " + (first + 1) + " to " + (first + shown) + " of " + engines.size() + " engines"));
        }
        lines.add("");
        int left = rows - lines.size() - (keys ? 1 : 0);
        detail(engines.path(chosen)).stream().limit(Math.max(0, left)).forEach(lines::add);
        if (keys) {
            while (lines.size() < rows - 1) {
                lines.add("");
            }
            lines.add(cut(KEYS));
        }
        return lines;
    }

    private String title(JsonNode engines) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        engines.forEach(
                engine -> counts.merge(SHORT.getOrDefault(engine.path("verdict").asText(), "?"), 1, Integer::sum));
        String words = counts.entrySet().stream()
                .map(each -> each.getValue() + " " + each.getKey())
                .collect(Collectors.joining(", "));
        String time = CLOCK.format(Instant.parse(overview.path("at").asText("1970-01-01T00:00:00Z")));
        return stale.map(why -> "NOT LIVE since " + time + ": " + why)
                .orElse("holdfast top  " + sidecar + "  " + time + "  "
                        + (engines.size() == 1 ? "1 engine" : engines.size() + " engines: " + words));
    }

    private int nameColumns(JsonNode engines) {
        int longest = 10;
        for (JsonNode engine : engines) {
            longest = Math.max(longest, engine.path("id").asText().length());
        }
        return Math.min(longest, Math.max(10, columns - FIXED_COLUMNS));
    }

    private String row(JsonNode engine, boolean marked, int name) {
        String id = engine.path("id").asText();
        String verdict = engine.path("verdict").asText();
        JsonNode effect = engine.path("effect");
        JsonNode interval = effect.path("interval95Percent");
        String row = cut(String.format(
                Locale.ROOT,
                "%s%-" + name + "s %-12s %7s %-14s %5s %5s %5s %5s %6s",
                marked ? ">" : " ",
                id.length() > name ? id.substring(0, name - 1) + "…" : id,
                engine.path("ready").asBoolean() ? SHORT.getOrDefault(verdict, "?") : "not ready",
                verdict.equals("does_nothing")
                        ? "none"
                        : effect.path("effectPercent").isNumber() && !verdict.equals("cannot_tell")
                                ? String.format(
                                        Locale.ROOT,
                                        "%+.1f %%",
                                        effect.path("effectPercent").asDouble())
                                : "?",
                interval.isArray()
                        ? String.format(
                                Locale.ROOT,
                                "%+.1f to %+.1f",
                                interval.path(0).asDouble(),
                                interval.path(1).asDouble())
                        : "?",
                engine.path("paused").asBoolean()
                        ? "pause"
                        : engine.path("holds").path("held").asText(),
                cacheShare(engine),
                number(engine.path("pressure").path("rho"), "%.1f"),
                share(engine.path("hits").path("cachedShare")),
                tokens(engine.path("saved").path("tokens"))));
        if (!colour) {
            return row;
        }
        String code = COLOURS.getOrDefault(engine.path("ready").asBoolean() ? verdict : "harms", "0");
        return "\u001b[" + (marked ? "7;" : "") + code + "m" + row + "\u001b[0m";
    }

    private static String cacheShare(JsonNode engine) {
        JsonNode capacity = engine.path("pressure").path("capacityTokens").path("value");
        return capacity.asDouble() > 0
                ? String.format(
                        Locale.ROOT,
                        "%.0f %%",
                        100 * engine.path("holds").path("tokens").asDouble() / capacity.asDouble())
                : "?";
    }

    private static String number(JsonNode reading, String format) {
        return reading.has("value")
                ? String.format(Locale.ROOT, format, reading.path("value").asDouble())
                : "?";
    }

    private static String share(JsonNode reading) {
        return reading.has("value")
                ? String.format(
                        Locale.ROOT, "%.0f %%", 100 * reading.path("value").asDouble())
                : "?";
    }

    /** In as few letters as a column has. */
    private static String tokens(JsonNode reading) {
        if (!reading.has("value")) {
            return "?";
        }
        double value = reading.path("value").asDouble();
        return Math.abs(value) < 1e4
                ? String.format(Locale.ROOT, "%.0f", value)
                : Math.abs(value) < 1e6
                        ? String.format(Locale.ROOT, "%.0fk", value / 1e3)
                        : String.format(Locale.ROOT, "%.1fM", value / 1e6);
    }

    private List<String> detail(JsonNode engine) {
        List<String> lines = new ArrayList<>();
        if (engine.isMissingNode()) {
            return lines;
        }
        wrapped(
                lines,
                engine.path("id").asText() + ": ",
                engine.path("sentence").asText());
        JsonNode pressure = engine.path("pressure");
        JsonNode hits = engine.path("hits");
        String needs = engine.path("needs").asText();
        // Where it is undecided for want of windows, the sentence above says so already.
        if (!needs.isEmpty()
                && !needs.equals(engine.path("effect").path("reason").asText())) {
            wrapped(lines, "  needs  ", needs + ".");
        }
        lines.add(cut("  cache  " + cache(engine)));
        lines.add(cut("  time   a block survives " + seconds(pressure.path("residenceSeconds"))
                + ", a prefix is used again after " + seconds(pressure.path("reuseSeconds"))));
        lines.add(cut("  load   " + number(pressure.path("runningRequests"), "%.0f") + " requests run, "
                + number(pressure.path("waitingRequests"), "%.0f") + " wait; budget of holds "
                + counted(pressure.path("hardTokens")) + ", of automatic ones "
                + counted(pressure.path("automaticTokens"))));
        JsonNode requests = hits.path("requests");
        lines.add(cut("  hits   in " + hits.path("overSeconds").asLong() + " s: " + counted(hits.path("cachedTokens"))
                + " of " + counted(hits.path("promptTokens")) + " prompt tokens found"));
        lines.add(cut("         " + counted(requests.path("foundShared")) + " requests found their shared prefix, "
                + counted(requests.path("lostShared")) + " lost it, " + counted(requests.path("others"))
                + " share none"));
        if (!engine.path("saved").path("tokens").has("value")) {
            wrapped(
                    lines,
                    "  simul. ",
                    "unknown: "
                            + engine.path("saved")
                                    .path("tokens")
                                    .path("unknown")
                                    .asText() + ".");
        }
        JsonNode limit = engine.path("kvcached");
        if (limit.has("limitBytes")) {
            lines.add(cut("  kvcached  used " + gib(limit.path("usedBytes")) + ", mapped "
                    + gib(limit.path("mappedBytes")) + ", limit " + gib(limit.path("limitBytes"))));
        } else if (limit.isObject()) {
            wrapped(lines, "  kvcached  ", limit.path("why").asText());
        }
        for (JsonNode segment : overview.path("otherSegments")) {
            lines.add(cut("  segment  " + segment.path("segment").asText() + " of no engine here: used "
                    + gib(segment.path("usedBytes")) + ", limit " + gib(segment.path("limitBytes"))));
        }
        JsonNode detail = overview.path("detail");
        if (detail.path("id").asText().equals(engine.path("id").asText())) {
            holds(lines, detail);
        }
        return lines;
    }

    private void holds(List<String> lines, JsonNode detail) {
        detail.path("reasons").forEach(reason -> wrapped(lines, "  not ready  ", reason.asText() + "."));
        for (JsonNode hold : detail.path("holds")) {
            lines.add(cut(String.format(
                    Locale.ROOT,
                    "  hold %-6s %-9s %7s tokens  %5s  %s",
                    hold.path("name").asText(hold.path("id").asText()),
                    hold.path("state").asText(),
                    String.format(
                            Locale.ROOT,
                            "%,d",
                            hold.path("heldTokens").asLong()
                                    + hold.path("beyondTokens").asLong()),
                    shortly(hold.path("leaseSeconds").asLong()),
                    hold.path("reason").asText())));
        }
    }

    private static String shortly(long seconds) {
        return seconds < 100 ? seconds + "s" : seconds < 6_000 ? seconds / 60 + "m" : seconds / 3_600 + "h";
    }

    private String cache(JsonNode engine) {
        JsonNode pressure = engine.path("pressure");
        JsonNode capacity = pressure.path("capacityTokens");
        if (!capacity.has("value") || capacity.path("value").asDouble() <= 0) {
            return "its size is unknown: " + capacity.path("unknown").asText();
        }
        double whole = capacity.path("value").asDouble();
        double held = engine.path("holds").path("tokens").asDouble();
        double used = Math.max(held, pressure.path("usedTokens").path("value").asDouble(held));
        int heldCells = (int) Math.round(BAR * Math.min(1, held / whole));
        int usedCells = (int) Math.round(BAR * Math.min(1, used / whole));
        return "[" + "#".repeat(heldCells) + "=".repeat(Math.max(0, usedCells - heldCells))
                + ".".repeat(BAR - Math.max(heldCells, usedCells)) + "] "
                + String.format(Locale.ROOT, "held %,.0f (#), in use %,.0f, of %,.0f", held, used, whole);
    }

    private static String counted(JsonNode reading) {
        return number(reading, "%,.0f");
    }

    private static String seconds(JsonNode reading) {
        if (!reading.has("value")) {
            return "? (" + reading.path("unknown").asText() + ")";
        }
        double value = reading.path("value").asDouble();
        return value < 90
                ? String.format(Locale.ROOT, "%.1f s", value)
                : String.format(Locale.ROOT, "%.0f min", value / 60);
    }

    private static String gib(JsonNode bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", bytes.asDouble() / (1L << 30));
    }

    private void wrapped(List<String> lines, String margin, String text) {
        StringBuilder row = new StringBuilder(margin);
        boolean empty = true;
        for (String word : text.strip().split("\\s+", -1)) {
            if (!empty && row.length() + 1 + word.length() > columns) {
                lines.add(cut(row.toString()));
                row.setLength(0);
                row.append(" ".repeat(margin.length()));
                empty = true;
            }
            row.append(empty ? "" : " ").append(word);
            empty = false;
        }
        lines.add(cut(row.toString()));
    }

    /** Nothing in it moves the cursor, whatever an engine or a hold is called. */
    private String cut(String line) {
        String plain = line.replaceAll("\\p{Cntrl}", "?").stripTrailing();
        return plain.length() <= columns ? plain : plain.substring(0, Math.max(0, columns - 1)) + "…";
    }
}
