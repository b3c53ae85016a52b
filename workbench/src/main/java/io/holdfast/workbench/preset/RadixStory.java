package io.holdfast.workbench.preset;

import io.holdfast.loadtest.journal.CacheEvents;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.preset.PrefillLine.Point;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.stream.Stream;

/*
 * What the cache is known to hold
 * ===============================
 *
 * An engine tells of each request how much of it was cached, and nothing of what it threw away. Until its memory is
 * full all that was computed is there, so what is used is the sum of that in whole pages; from then on it is full, and
 * at least what is above must have gone. That is what "before" and "after" are: computed, not read from the server.
 */

/**
 * Findings of {@link Radix}, request by request.
 *
 * @param requests all but those of floods, and each flood as a whole
 * @param counts of requests that are not of a flood
 * @param line of the cold requests of scenario A, where one could be fitted
 */
record RadixStory(
        List<Told> requests,
        Map<HitClass, Integer> counts,
        Optional<PrefillLine> line,
        OptionalLong capacity,
        List<Check> checks) {
    /**
     * One request, or one flood.
     *
     * @param flood how many requests it was, 0 where it is one that is told by itself
     * @param before tokens that the cache held
     */
    record Told(
            int number,
            String part,
            int flood,
            int prompt,
            int cached,
            HitClass hit,
            OptionalDouble ttftMillis,
            long before,
            long after,
            long evicted) {
        String scenario() {
            return part.substring(0, 1);
        }
    }

    /** A property that a scenario has to show. */
    record Check(String scenario, boolean holds, String text) {}

    static RadixStory of(LoadLeg leg, EngineFacts facts, OptionalLong capacity, int prefix) {
        int page = facts.pageTokensOrUsual();
        List<Told> told = new ArrayList<>();
        long used = 0;
        int number = 0;
        for (LoadLeg.Part part : leg.parts()) {
            boolean flood = part.name().startsWith("D-flood");
            long before = used;
            long computed = 0;
            int prompts = 0;
            for (RequestRecord record : part.requests()) {
                int prompt = record.promptTokens().orElse(0);
                int cached = record.cachedTokens().orElse(0);
                int answer = record.completionTokens().orElse(1);
                long kept = (long) (prompt + Math.max(0, answer - 1)) / page * page;
                long fresh = Math.max(0, kept - cached);
                long after = Math.min(capacity.orElse(Long.MAX_VALUE), used + fresh);
                prompts += prompt;
                computed += fresh;
                number++;
                if (!flood) {
                    HitClass hit = HitClass.of(prompt, cached, page);
                    OptionalDouble ttft = record.ttftMillis();
                    told.add(new Told(
                            number, part.name(), 0, prompt, cached, hit, ttft, used, after, used + fresh - after));
                }
                used = after;
            }
            if (flood) {
                int size = part.requests().size();
                long gone = before + computed - used;
                OptionalDouble none = OptionalDouble.empty();
                told.add(new Told(number, part.name(), size, prompts, 0, HitClass.MISS, none, before, used, gone));
            }
        }
        Map<HitClass, Integer> counts = new EnumMap<>(HitClass.class);
        for (HitClass each : HitClass.values()) {
            counts.put(each, (int)
                    single(told).filter(request -> request.hit() == each).count());
        }
        Optional<PrefillLine> line = PrefillLine.of(single(told)
                .filter(request -> request.scenario().equals("A") && request.hit() == HitClass.MISS)
                .flatMap(request ->
                        request.ttftMillis().stream().mapToObj(millis -> new Point(request.prompt(), millis)))
                .toList());
        return new RadixStory(told, counts, line, capacity, checks(leg, told, prefix / page * page, page));
    }

    private static Stream<Told> single(List<Told> told) {
        return told.stream().filter(each -> each.flood() == 0);
    }

    private static List<Check> checks(LoadLeg leg, List<Told> told, int wholePrefix, int page) {
        List<Check> checks = new ArrayList<>();
        boolean tells = leg.measured().stream()
                .allMatch(request -> !request.isOk() || request.cachedTokens().isPresent());
        if (!tells || leg.problem().isPresent()) {
            checks.add(new Check(
                    "A",
                    false,
                    leg.problem()
                                    .map(problem -> "the leg ended early: " + problem)
                                    .orElse("the server does not say how many tokens were cached; start SGLang with"
                                            + " --enable-cache-report, vLLM with --enable-prompt-tokens-details")
                            + "."));
            return checks;
        }
        checks.add(all(told, "A", HitClass.MISS, "nothing of it cached"));
        stores(leg, told, page).ifPresent(checks::add);
        List<Told> shared = of(told, "B");
        long right = shared.stream()
                .filter(request -> request.hit() == HitClass.PARTIAL && request.cached() >= wholePrefix)
                .count();
        checks.add(new Check(
                "B",
                right == shared.size(),
                String.format(
                        Locale.ROOT,
                        "%d of %d requests had the shared prefix cached, %d tokens in whole pages.",
                        right,
                        shared.size(),
                        wholePrefix)));
        checks.add(all(told, "C", HitClass.FULL, "all but the last page cached"));
        List<Told> probes = of(told, "D");
        Optional<Told> lost = probes.stream()
                .filter(request -> request.hit() != HitClass.FULL)
                .findFirst();
        checks.add(new Check(
                "D",
                lost.isPresent(),
                lost.map(request -> String.format(
                                Locale.ROOT,
                                "the server evicted: %s, a prompt of scenario A, had %d of %d tokens cached; %d probes"
                                        + " before it had all.",
                                request.part(),
                                request.cached(),
                                request.prompt(),
                                probes.indexOf(request)))
                        .orElse("NO_EXPOSURE: each of " + probes.size()
                                + " old prompts was found, so nothing that was looked for was evicted; the cache is"
                                + " larger than the server says.")));
        return checks;
    }

    /** Checks that the engine told of storing what the cold prompts brought; absent where nobody listened. */
    private static Optional<Check> stores(LoadLeg leg, List<Told> told, int page) {
        List<CacheEvents> events = leg.parts().stream()
                .filter(part -> part.name().startsWith("A"))
                .flatMap(part -> CacheEvents.of(leg.notes(), "." + part.name()).stream())
                .toList();
        if (events.isEmpty()) {
            return Optional.empty();
        }
        long stored = page * events.stream().mapToLong(CacheEvents::stored).sum();
        long brought = of(told, "A").stream()
                .mapToLong(request -> (long) request.prompt() / page * page)
                .sum();
        return Optional.of(new Check(
                "A",
                stored >= brought,
                String.format(
                        Locale.ROOT,
                        "by its events the engine stored %,d tokens in whole pages, and the prompts brought %,d.",
                        stored,
                        brought)));
    }

    private static List<Told> of(List<Told> told, String scenario) {
        return single(told)
                .filter(request -> request.scenario().equals(scenario))
                .toList();
    }

    private static Check all(List<Told> told, String scenario, HitClass expected, String meaning) {
        List<Told> all = of(told, scenario);
        long right = all.stream().filter(request -> request.hit() == expected).count();
        return new Check(
                scenario,
                right == all.size(),
                String.format(Locale.ROOT, "%d of %d requests were %s: %s.", right, all.size(), expected, meaning));
    }

    int count() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Tokens that were not computed. */
    long saved() {
        return single(requests).mapToLong(Told::cached).sum();
    }

    double meanMatch() {
        return count() == 0 ? 0 : (double) saved() / count();
    }

    /** Returns the time that the saved tokens would have taken by the line. */
    OptionalDouble savedMillis() {
        return line.isPresent() ? OptionalDouble.of(line.get().millisPerToken() * saved()) : OptionalDouble.empty();
    }
}
