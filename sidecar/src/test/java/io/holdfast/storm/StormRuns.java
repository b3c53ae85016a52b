package io.holdfast.storm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs storms and says what became of them: seeds, whether clients hold, whether each seed is to be told. */
final class StormRuns {
    private StormRuns() {}

    public static void main(String... args) {
        long from = Long.parseLong(args[0]);
        long to = Long.parseLong(args[1]);
        boolean holding = !List.of(args).contains("--no-holds");
        boolean each = List.of(args).contains("--each");
        Map<String, Integer> kinds = new TreeMap<>();
        Map<String, String> first = new TreeMap<>();
        List<Long> toothless = new ArrayList<>();
        int failed = 0;
        int kept = 0;
        int unforeseen = 0;
        long began = System.nanoTime();
        for (long seed = from; seed < to; seed++) {
            Storm.Result result = new Storm(
                            seed,
                            holding,
                            List.of(args).contains("--trace"),
                            List.of(args).contains("--ranks") ? 2 : 1)
                    .run();
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
                System.out.printf("seed %d bite %.2f %s%n", seed, result.bite(), result.failures());
            }
        }
        double millis = (System.nanoTime() - began) / 1e6 / Math.max(1, to - from);
        System.out.printf(
                "%d storms, %d failed, %d did not bite, %d pins kept openly at the end,"
                        + " %d engines ended by a block that nobody could know to be doubled, %.0f ms each%n",
                to - from, failed, toothless.size(), kept, unforeseen, millis);
        kinds.forEach((kind, count) -> System.out.printf("%5d  %s%n       first: %s%n", count, kind, first.get(kind)));
    }
}
