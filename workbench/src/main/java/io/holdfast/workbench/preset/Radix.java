package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Tests what a prefix cache finds: of cold prompts (A), of prompts that begin alike (B), of exact repeats (C), and of
 * old prompts once so much else was requested that it has to evict something (D).
 *
 * <p>D floods in rounds of a quarter of the cache, and after each asks again for a prompt of A that nobody asked for
 * since: the first that is not found proves an eviction, whatever the server says of itself.
 */
public final class Radix implements Preset {
    /** Names the setting of SGLang that says what is given up first. */
    private static final String POLICY = "flags.radix_eviction_policy";

    private static final String LOADS = "radix.yaml";
    private static final String OLDEST = "A-oldest";
    private static final int ALL = 100;
    private static final int ROUNDS_A_CACHE = 4;
    private static final int LONGEST_FLOOD = 2_048;
    private static final int FLOOD_ANSWER = 1;
    private static final int MARGIN = 64;
    private static final String LANES = "closed:4";
    private static final double ROOM = 0.9;

    private final Settings settings;
    private final Recipe base;

    /**
     * Choices of a user.
     *
     * @param requests of scenarios A to C together
     * @param answer tokens of each answer, where another length is wanted
     * @param order of the scenarios by their letters, such as {@code A,B,C,D}
     * @param capacity tokens that the cache holds, where the server does not say
     */
    public record Settings(long seed, int requests, OptionalInt answer, List<String> order, OptionalLong capacity) {
        public static final List<String> ORDER = List.of("A", "B", "C", "D");

        public Settings {
            order = List.copyOf(order);
            if (order.size() != ORDER.size() || !Set.copyOf(order).equals(Set.copyOf(ORDER))) {
                throw new LoadTestException(
                        "The order is " + String.join(",", order) + "; write each of A,B,C,D once.");
            }
        }
    }

    public Radix(Settings settings) {
        this.settings = settings;
        this.base = Recipes.seeded(
                settings.seed(), RecipeFile.ofResource(Radix.class, LOADS).getFirst());
    }

    @Override
    public String name() {
        return "radix";
    }

    @Override
    public Map<String, String> settings() {
        return Map.of("seed", Long.toString(settings.seed()), "order", String.join(",", settings.order()));
    }

    @Override
    public boolean countsTokens() {
        return true;
    }

    @Override
    public List<Suite.Leg> legs(EngineFacts facts) {
        OptionalLong capacity = facts.capacityTokens().isPresent() ? facts.capacityTokens() : settings.capacity();
        if (capacity.isEmpty()) {
            throw new LoadTestException(
                    "The server does not say how many tokens its cache holds, so nobody knows how much fills it; say"
                            + " it by --capacity-tokens.");
        }
        List<Part> parts = new ArrayList<>();
        for (String scenario : settings.order()) {
            parts.addAll(scenario.equals("D") ? pressure(capacity.getAsLong(), facts) : scenario(scenario));
        }
        // The cache is emptied before the first request, whichever scenario that is of.
        List<Part> flushed = new ArrayList<>();
        parts.forEach(
                part -> flushed.add(changed(part, part.name(), part.requests(), part.answer(), flushed.isEmpty())));
        DrawnLoad load = DrawnLoad.of(base.withParts(flushed));
        refuseTooMuch(load, capacity.getAsLong());
        return List.of(new Suite.Leg(name(), load, settings()));
    }

    private List<Part> scenario(String letter) {
        List<Part> parts = new ArrayList<>();
        for (Part part : base.parts()) {
            if (part.name().equals(OLDEST)) {
                for (int round = 1; round <= rounds() && letter.equals("A"); round++) {
                    parts.add(changed(part, OLDEST + "-" + round, 1, answer(part), false));
                }
            } else if (part.name().startsWith(letter)) {
                parts.add(changed(part, part.name(), scaled(part), answer(part), false));
            }
        }
        return parts;
    }

    private int scaled(Part part) {
        return part.requests() == 1
                ? 1
                : Math.max(1, Math.toIntExact(Math.round((double) part.requests() * settings.requests() / ALL)));
    }

    private Range answer(Part part) {
        return settings.answer().isPresent() ? Range.of(settings.answer().getAsInt()) : part.answer();
    }

    private int rounds() {
        return base.parts().stream()
                .filter(part -> part.name().equals(OLDEST))
                .mapToInt(Part::requests)
                .sum();
    }

    private List<Part> pressure(long capacity, EngineFacts facts) {
        int longest = Math.toIntExact(
                Math.min(Math.min(LONGEST_FLOOD, facts.longestPrompt().orElse(LONGEST_FLOOD) - MARGIN), capacity / 8));
        int flood = Math.toIntExact(Math.ceilDiv(capacity / ROUNDS_A_CACHE, longest));
        List<Part> parts = new ArrayList<>();
        for (int round = 1; round <= rounds(); round++) {
            parts.add(part("D-flood-" + round, flood, Optional.empty(), Range.of(longest), LANES));
            parts.add(part("D-probe-" + round, 1, Optional.of(OLDEST + "-" + round), Range.of(0), "sequential"));
        }
        return parts;
    }

    private static Part part(String name, int requests, Optional<String> repeats, Range own, String arrivals) {
        return new Part(
                name,
                true,
                requests,
                Optional.empty(),
                List.of(new Recipe.Share(1, own)),
                Range.of(FLOOD_ANSWER),
                arrivals,
                repeats,
                List.of(),
                false,
                Duration.ZERO);
    }

    private static Part changed(Part part, String name, int requests, Range answer, boolean flush) {
        return new Part(
                name,
                part.measured(),
                requests,
                part.prefix(),
                part.own(),
                answer,
                part.arrivals(),
                part.repeats(),
                part.messages(),
                flush,
                part.pause());
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
        LoadLeg leg = ended.legs().getFirst();
        RadixStory story = RadixStory.of(
                leg,
                ended.facts(),
                ended.facts().capacityTokens().isPresent() ? ended.facts().capacityTokens() : settings.capacity(),
                base.prefixes().values().stream().mapToInt(Integer::intValue).sum());
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
