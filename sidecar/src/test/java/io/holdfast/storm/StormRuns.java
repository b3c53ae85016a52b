package io.holdfast.storm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Runs storms and reports what became of them. Arguments: the first seed, the one after the last, and options.
 * {@code --each} prints a line a seed, {@code --digest} a digest of all that happened in each, {@code --trace} every step.
 * {@code --no-holds} has no client hold, {@code --ranks} gives each engine two ranks, {@code --VARIANT} plays one variant
 * in place of the drawn one. {@code --fleet} plays three to five engines that share a store, {@code --fleet=KIND} the
 * same in another way.
 */
final class StormRuns {
    private StormRuns() {}

    /** The one that is named, or the one that the seed draws. */
    private static StormVariant variant(List<String> args, long seed) {
        return Arrays.stream(StormVariant.values())
                .filter(variant -> args.contains("--" + variant))
                .findFirst()
                .orElseGet(() -> StormVariant.of(seed));
    }

    /** With several engines, and what they know of each other: {@code --fleet}, or {@code --fleet=KIND}. */
    private static Optional<StormFleet.Kind> fleet(List<String> args) {
        return Arrays.stream(StormFleet.Kind.values())
                .filter(kind -> args.contains("--fleet=" + kind)
                        || (kind == StormFleet.Kind.STORMY && args.contains("--fleet")))
                .findFirst();
    }

    public static void main(String... args) {
        long from = Long.parseLong(args[0]);
        long to = Long.parseLong(args[1]);
        boolean holding = !List.of(args).contains("--no-holds");
        boolean digesting = List.of(args).contains("--digest");
        boolean each = List.of(args).contains("--each");
        Optional<StormFleet.Kind> fleet = fleet(List.of(args));
        int[] fleets = new int[4];
        Map<String, Integer> kinds = new TreeMap<>();
        Map<String, String> first = new TreeMap<>();
        List<Long> toothless = new ArrayList<>();
        Map<StormVariant, int[]> of = new EnumMap<>(StormVariant.class);
        int failed = 0;
        int kept = 0;
        int unforeseen = 0;
        int switched = 0;
        long began = System.nanoTime();
        for (long seed = from; seed < to; seed++) {
            Storm storm = new Storm(
                    variant(List.of(args), seed),
                    seed,
                    holding,
                    List.of(args).contains("--trace"),
                    List.of(args).contains("--ranks") ? 2 : 1,
                    fleet);
            StormDigest digest = new StormDigest();
            Storm.Result result = digesting ? storm.run(digest) : storm.run();
            if (digesting) {
                System.out.printf("%d %s %s %s%n", seed, digest, digest.decided(), result);
            }
            storm.fleet().ifPresent(told -> {
                fleets[0] += told.held() ? 1 : 0;
                fleets[1] += told.heldByTwo() ? 1 : 0;
                fleets[2] += told.weighed() ? 1 : 0;
                fleets[3] += told.rounds() > 0 ? 1 : 0;
            });
            int[] sum = of.computeIfAbsent(result.variant(), _ -> new int[4]);
            sum[0]++;
            sum[1] += result.bites() ? 1 : 0;
            sum[2] += result.failures().isEmpty() ? 0 : 1;
            sum[3] += result.exact() ? 1 : 0;
            switched += result.switched() ? 1 : 0;
            if (!result.bites()) {
                toothless.add(seed);
            }
            kept += result.kept();
            unforeseen += result.unforeseenDeaths();
            failed += result.failures().isEmpty() ? 0 : 1;
            for (Map.Entry<String, String> failure : result.failures().entrySet()) {
                kinds.merge(failure.getKey(), 1, Integer::sum);
                first.putIfAbsent(failure.getKey(), "seed " + seed + " " + failure.getValue());
            }
            if (each) {
                System.out.printf(
                        "seed %d %s bite %.2f, %d engines ended by what nobody could know, %s%n",
                        seed, result.variant(), result.bite(), result.unforeseenDeaths(), result.failures());
            }
        }
        double millis = (System.nanoTime() - began) / 1e6 / Math.max(1, to - from);
        System.out.printf(
                "%d storms, %d failed, %d did not bite, %d pins kept openly at the end,"
                        + " %d engines ended by what nobody could know, in %d holds were let go"
                        + " of to be measured, %.0f ms each%n",
                to - from, failed, toothless.size(), kept, unforeseen, switched, millis);
        fleet.ifPresent(kind -> System.out.printf(
                "%s fleets: in %d something was known of others, in %d something was held for them, in %d by two at"
                        + " once, in %d something was left to another's copy%n",
                kind, fleets[3], fleets[0], fleets[1], fleets[2]));
        of.forEach((variant, sum) -> System.out.printf(
                "%5d  %s: in %d something was held, %d failed, %d counted exactly%n",
                sum[0], variant, sum[1], sum[2], sum[3]));
        kinds.forEach((kind, count) -> System.out.printf("%5d  %s%n       first: %s%n", count, kind, first.get(kind)));
    }
}
