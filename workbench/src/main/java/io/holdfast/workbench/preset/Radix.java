package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.Suite;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Tests what a prefix cache finds: of cold prompts (A), of prompts that begin alike (B), of exact repeats (C), and of
 * old prompts once so much else was requested that it has to evict something (D).
 *
 * <p>D floods in rounds of a quarter of the cache, and after each asks again for a prompt of A that nobody asked for
 * since: the first that is not found proves an eviction, whatever the server says of itself.
 */
final class Radix implements Preset {
    private static final List<String> SCENARIOS = List.of("A", "B", "C", "D");

    /** Names the setting of SGLang that says what is given up first. */
    private static final String POLICY = "flags.radix_eviction_policy";

    private static final int ALL = 100;
    private static final int ROUNDS_A_CACHE = 4;
    private static final int LEAST_FLOODS = 8;
    private static final int LONGEST_FLOOD = 2_048;
    private static final int MARGIN = 64;
    private static final double ROOM = 0.9;

    private final Values values;
    private final List<String> order;

    Radix(Values values) {
        this.values = values;
        this.order = values.list("order");
        if (order.size() != SCENARIOS.size() || !order.containsAll(SCENARIOS)) {
            throw new LoadTestException("The order is " + String.join(",", order) + "; write each of A,B,C,D once.");
        }
    }

    @Override
    public Definition definition() {
        return values.definition();
    }

    @Override
    public Map<String, String> settings() {
        return Map.of("seed", values.text("seed"), "order", String.join(",", order));
    }

    @Override
    public List<Suite.Leg> legs(EngineFacts facts) {
        OptionalLong capacity = capacity(facts);
        if (capacity.isEmpty()) {
            throw new LoadTestException(
                    "The server does not say how many tokens its cache holds, so nobody knows how much fills it; say"
                            + " it by --capacity-tokens.");
        }
        DrawnLoad load = DrawnLoad.of(recipe(facts, capacity.getAsLong()));
        refuseTooMuch(load, capacity.getAsLong());
        return List.of(new Suite.Leg(name(), load, settings()));
    }

    private OptionalLong capacity(EngineFacts facts) {
        return facts.capacityTokens().isPresent() ? facts.capacityTokens() : values.number("capacity-tokens");
    }

    /** The cache is emptied before the first request, whichever scenario that is of. */
    private Recipe recipe(EngineFacts facts, long capacity) {
        long longest = Math.min(
                Math.min(LONGEST_FLOOD, facts.longestPrompt().orElse(LONGEST_FLOOD) - MARGIN), capacity / LEAST_FLOODS);
        Recipe all = values.loads(Map.of("longest", longest, "flood", Math.ceilDiv(capacity / ROUNDS_A_CACHE, longest)))
                .getFirst()
                .seededByName(values.seed());
        List<Part> parts = new ArrayList<>();
        for (String scenario : order) {
            for (Part part : all.parts()) {
                if (part.name().startsWith(scenario)) {
                    boolean pressure = scenario.equals("D");
                    parts.add(part.with(
                            part.name(),
                            pressure ? part.requests() : scaled(part),
                            pressure ? part.answer() : answer(part),
                            parts.isEmpty()));
                }
            }
        }
        return all.withParts(parts);
    }

    private int scaled(Part part) {
        return part.requests() == 1
                ? 1
                : Math.max(1, Math.toIntExact(Math.round((double) part.requests() * values.whole("requests") / ALL)));
    }

    private Range answer(Part part) {
        return values.given("output-tokens").map(Range::of).orElse(part.answer());
    }

    /** Refuses more in A to C than fits, since D would otherwise have begun before it begins. */
    private void refuseTooMuch(DrawnLoad load, long capacity) {
        long needed = load.parts().stream()
                .filter(part -> !part.part().name().startsWith("D")
                        && part.part().repeats().isEmpty())
                .flatMap(part -> part.requests().stream())
                .mapToLong(request -> request.length() + request.maxTokens())
                .sum();
        if (needed > ROOM * capacity) {
            throw new LoadTestException(String.format(
                    Locale.ROOT,
                    "The cache holds %,d tokens, of which scenarios A to C may take %.0f %%, and they ask for %,d; ask"
                            + " for less by --requests or --output-tokens, or give the server more memory.",
                    capacity,
                    100 * ROOM,
                    needed));
        }
    }

    @Override
    public Outcome outcome(Ended ended) {
        OptionalLong capacity = capacity(ended.facts());
        RadixStory story = RadixStory.of(
                ended.legs().getFirst(),
                ended.facts(),
                capacity,
                recipe(ended.facts(), capacity.orElseThrow()).prefixes().values().stream()
                        .mapToInt(Integer::intValue)
                        .sum());
        RadixText text = new RadixText(
                story,
                ended.results().model(),
                ended.facts(),
                Optional.ofNullable(ended.results().environment().get(POLICY)));
        Map<String, String> files = new LinkedHashMap<>();
        files.put(ended.stamped() + ".json", RadixJson.text(ended.results(), story));
        files.put(ended.stamped() + ".txt", text.text());
        return new Outcome(
                files,
                text.summary(),
                story.checks().stream()
                        .filter(check -> !check.holds())
                        .map(check -> "Check " + check.scenario() + " failed: " + check.text())
                        .toList());
    }
}
