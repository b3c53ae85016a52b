package io.holdfast.workbench.preset;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.workbench.preset.RadixStory.Told;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/** {@link RadixStory} as text: a box of the configuration, a tree of each request, a box of the summary. */
record RadixText(RadixStory story, String model, EngineFacts facts, Optional<String> policy) {
    private static final String RULE = "─";
    private static final int WIDTH = 76;

    String text() {
        List<String> lines = new ArrayList<>(box(
                "Configuration",
                List.of(
                        "Model        " + model,
                        "Server       " + facts.text(),
                        "Cache        "
                                + (story.capacity().isPresent()
                                        ? String.format(
                                                Locale.ROOT,
                                                "%,d tokens",
                                                story.capacity().getAsLong())
                                        : "unknown size")
                                + ", page of "
                                + facts.pageTokensOrUsual()
                                + " tokens, emptied before the first request",
                        "State        computed from the cached tokens that the server counts, in whole pages")));
        for (Told request : story.requests()) {
            lines.add("");
            lines.addAll(tree(request));
        }
        lines.add("");
        lines.addAll(summary());
        return String.join("\n", lines) + "\n";
    }

    private List<String> tree(Told request) {
        List<String> branches = new ArrayList<>();
        String head;
        if (request.flood() > 0) {
            head = String.format(
                    Locale.ROOT,
                    "Flood %s: %,d requests, %,d new tokens",
                    request.part(),
                    request.flood(),
                    request.prompt());
        } else {
            head = String.format(
                    Locale.ROOT, "Request %d (%s): %,d tokens", request.number(), request.part(), request.prompt());
            branches.add(
                    request.hit() == HitClass.MISS
                            ? "MISS, all computed"
                            : String.format(
                                    Locale.ROOT,
                                    "%s, %,d cached, %,d computed",
                                    request.hit(),
                                    request.cached(),
                                    request.prompt() - request.cached()));
            time(request).ifPresent(branches::add);
        }
        branches.add("cache " + state(request.before()) + " -> " + state(request.after()));
        if (request.evicted() > 0) {
            branches.add(String.format(Locale.ROOT, "at least %,d tokens evicted", request.evicted()));
        }
        List<String> lines = new ArrayList<>(List.of(head));
        for (int i = 0; i < branches.size(); i++) {
            lines.add((i == branches.size() - 1 ? "└── " : "├── ") + branches.get(i));
        }
        return lines;
    }

    private Optional<String> time(Told request) {
        if (request.ttftMillis().isEmpty()) {
            return Optional.empty();
        }
        double millis = request.ttftMillis().getAsDouble();
        String took = String.format(Locale.ROOT, "TTFT %.1f ms", millis);
        return Optional.of(
                request.hit() == HitClass.MISS || story.line().isEmpty()
                        ? took
                        : took + ", " + faster(story.line().get().cold(request.prompt()), millis));
    }

    /** Compares with the time of a cold prompt of the same length. */
    static String faster(double coldMillis, double millis) {
        return String.format(Locale.ROOT, "cold by the fitted line %.1f ms: %.1fx", coldMillis, coldMillis / millis);
    }

    private String state(long used) {
        return story.capacity().isEmpty()
                ? String.format(Locale.ROOT, "%d", used)
                : state(used, story.capacity().getAsLong());
    }

    static String state(long used, long capacity) {
        return String.format(Locale.ROOT, "%d/%d (%.1f %%)", used, capacity, 100.0 * used / capacity);
    }

    List<String> summary() {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "Requests          %d, floods not counted", story.count()));
        lines.add("Full hits         " + share(HitClass.FULL));
        lines.add("Partial hits      " + share(HitClass.PARTIAL));
        lines.add("Misses            " + share(HitClass.MISS));
        lines.add(String.format(Locale.ROOT, "Mean match        %.0f tokens", story.meanMatch()));
        lines.add(String.format(Locale.ROOT, "Compute saved     %,d tokens", story.saved()));
        story.savedMillis().stream()
                .mapToObj(millis -> String.format(
                        Locale.ROOT,
                        "Time saved        %.0f ms = %,d tokens x %.4f ms",
                        millis,
                        story.saved(),
                        story.line().orElseThrow().millisPerToken()))
                .forEach(lines::add);
        story.line().ifPresent(line -> lines.add("                  " + line.text()));
        lines.add("Eviction policy   " + policy.orElse("unknown: the server does not say"));
        story.checks()
                .forEach(check -> lines.add("Check " + check.scenario() + "           "
                        + (check.holds() ? "holds: " : "FAILS: ") + check.text()));
        return box("Summary", lines);
    }

    private String share(HitClass of) {
        return share(story.counts().getOrDefault(of, 0), story.count());
    }

    static String share(int count, int of) {
        return String.format(Locale.ROOT, "%d of %d (%.1f %%)", count, of, of == 0 ? 0 : 100.0 * count / of);
    }

    /** A line that fits into the box, or several whose text is below that of the first. */
    private static Stream<String> broken(String line) {
        int indent = line.indexOf("  ") < 0
                ? 0
                : line.indexOf(line.substring(line.indexOf("  ")).strip());
        List<String> lines = new ArrayList<>();
        String rest = line;
        while (rest.length() > WIDTH) {
            int space = rest.lastIndexOf(' ', WIDTH);
            int at = space > indent ? space : WIDTH;
            lines.add(rest.substring(0, at));
            rest = " ".repeat(indent) + rest.substring(at).strip();
        }
        lines.add(rest);
        return lines.stream();
    }

    /** A title in a line, and what belongs to it indented below. */
    private static List<String> box(String title, List<String> texts) {
        List<String> lines = texts.stream().flatMap(RadixText::broken).toList();
        int width = lines.stream().mapToInt(String::length).max().orElse(0) + 2;
        List<String> boxed = new ArrayList<>();
        boxed.add("┌" + RULE + " " + title + " " + RULE.repeat(Math.max(0, width - title.length() - 3)) + "┐");
        lines.forEach(line -> boxed.add("│ " + line + " ".repeat(width - 1 - line.length()) + "│"));
        boxed.add("└" + RULE.repeat(width) + "┘");
        return boxed;
    }
}
