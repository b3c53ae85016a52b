package io.holdfast.storm;

import io.holdfast.storm.DefaultCell.Flood;
import io.holdfast.storm.DefaultCell.Head;
import io.holdfast.storm.StockEngine.Kind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** All combinations of sizes that stock engines accept and that have room for two requests, and a slice of them. */
final class DefaultGrid {
    private static final int LONGEST_ANSWER = 500;
    private static final int[] ANSWERS = {1, 8, 64, LONGEST_ANSWER};
    private static final int[] SGLANG_PAGES = {1, 16, 64};
    private static final int[] VLLM_PAGES = {16, 32, 64};
    private static final int[] CONTEXTS = {8_192, 32_768, 131_072};
    private static final int[] AT_A_TIME = {1, 4, 16, 64};
    private static final int[] CAPACITIES = {8_192, 24_576, 65_536, 200_000, 1_000_000};
    /** Sizes above this are sampled, and not in the slice at all: their floods take seconds each. */
    private static final int LARGEST_OF_ALL = 65_536;

    private static final int SAMPLE_TOKENS = 25_000;
    private static final long SEED = 7;

    private DefaultGrid() {}

    static List<DefaultCell> all() {
        List<DefaultCell> cells = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            for (int page : kind.isVllm() ? VLLM_PAGES : SGLANG_PAGES) {
                for (int context : CONTEXTS) {
                    for (int capacity : CAPACITIES) {
                        add(cells, new StockEngine(kind, page, context, capacity));
                    }
                }
            }
        }
        return cells;
    }

    private static void add(List<DefaultCell> cells, StockEngine engine) {
        for (int atATime : AT_A_TIME) {
            for (int answer : ANSWERS) {
                for (Head head : Head.values()) {
                    for (Flood flood : List.of(Flood.WHOLE, Flood.HALVES)) {
                        DefaultCell cell = new DefaultCell(engine, atATime, answer, head, flood);
                        // What is kept without being used does not care.
                        if (cell.exists()
                                && !(flood == Flood.HALVES && engine.kind().keepsUnused())) {
                            cells.add(cell);
                        }
                    }
                }
            }
        }
    }

    /**
     * All cells of caches that are quickly filled, and of larger ones one in so many as there are 25,000 tokens in the cache,
     * drawn by a fixed seed from each engine, page and capacity, from each at least one.
     */
    static List<DefaultCell> forTheTable() {
        return drawn(1);
    }

    /** One in ten of those. */
    static List<DefaultCell> deep() {
        return drawn(10);
    }

    private static List<DefaultCell> drawn(int ofEach) {
        Map<String, List<DefaultCell>> groups = new LinkedHashMap<>();
        for (DefaultCell cell : all()) {
            StockEngine engine = cell.engine();
            groups.computeIfAbsent(
                            engine.kind() + " " + engine.page() + " " + engine.capacity(), _ -> new ArrayList<>())
                    .add(cell);
        }
        Random random = new Random(SEED);
        List<DefaultCell> cells = new ArrayList<>();
        for (List<DefaultCell> group : groups.values()) {
            Collections.shuffle(group, random);
            int capacity = group.getFirst().engine().capacity();
            int oneIn = ofEach * (capacity <= LARGEST_OF_ALL ? 1 : capacity / SAMPLE_TOKENS);
            cells.addAll(group.subList(0, Math.max(1, group.size() / oneIn)));
        }
        cells.sort(Comparator.comparingInt(cell -> cell.engine().capacity()));
        return cells;
    }

    /** All that are quickly played: the longest answers in blocks of one token take ten times as long as any other. */
    private static List<DefaultCell> ofSlice() {
        return all().stream()
                .filter(cell -> cell.engine().capacity() <= LARGEST_OF_ALL)
                .filter(cell -> cell.engine().page() > 1 || cell.answer() < LONGEST_ANSWER)
                .toList();
    }

    /** So few that every two sizes that go together are played together once; of two that would do, the quicker one. */
    static List<DefaultCell> slice() {
        List<DefaultCell> candidates = ofSlice();
        List<DefaultCell> chosen = new ArrayList<>();
        Set<String> missing = new HashSet<>();
        candidates.forEach(cell -> missing.addAll(pairs(cell)));
        while (!missing.isEmpty()) {
            DefaultCell best = candidates.stream()
                    .max(Comparator.comparingLong((DefaultCell cell) -> pairs(cell).stream()
                                    .filter(missing::contains)
                                    .count())
                            .thenComparingInt(cell -> cell.engine().page())
                            .thenComparingInt(cell -> -cell.answer()))
                    .orElseThrow();
            chosen.add(best);
            missing.removeAll(pairs(best));
        }
        return chosen;
    }

    /** Pairs that no cell of these has. */
    static Set<String> missingPairs(List<DefaultCell> cells) {
        Set<String> missing = new HashSet<>();
        ofSlice().forEach(cell -> missing.addAll(pairs(cell)));
        cells.forEach(cell -> missing.removeAll(pairs(cell)));
        return missing;
    }

    private static List<String> pairs(DefaultCell cell) {
        List<String> sizes = List.of(
                "engine " + cell.engine().kind(),
                "page " + cell.engine().page(),
                "context " + cell.engine().context(),
                "capacity " + cell.engine().capacity(),
                "at a time " + cell.atATime(),
                "answer " + cell.answer(),
                "head " + cell.head(),
                "flood " + cell.flood());
        List<String> pairs = new ArrayList<>();
        for (int i = 0; i < sizes.size(); i++) {
            for (int j = i + 1; j < sizes.size(); j++) {
                pairs.add(sizes.get(i) + ", " + sizes.get(j));
            }
        }
        return pairs;
    }
}
