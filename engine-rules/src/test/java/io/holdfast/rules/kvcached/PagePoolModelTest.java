package io.holdfast.rules.kvcached;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The pool against lists of pages that are searched and counted anew at every step. */
final class PagePoolModelTest {
    private static final int STEPS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 200_000 : 2_000;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void pool_doesWhatTheListsDo(long seed) {
        Random random = new Random(seed);
        int pages = 4 + random.nextInt(30);
        int perPage = 1 + random.nextInt(9);
        int min = random.nextInt(6);
        int max = min + random.nextInt(6);
        PagePool pool = new PagePool(pages, perPage, min, max);
        Lists lists = new Lists(pages, perPage, min, max);
        List<Integer> held = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            switch (random.nextInt(10)) {
                case 0 -> {
                    long limit = 1L + random.nextInt(pages + (random.nextInt(20) == 0 ? 3 : 0));
                    pool.limit(limit);
                    lists.limit(limit);
                }
                case 1, 2, 3, 4 -> {
                    int wanted = 1 + random.nextInt(3 * perPage);
                    Optional<int[]> taken = pool.allocate(wanted);
                    assertThat(taken.isPresent()).isEqualTo(wanted <= lists.available());
                    taken.ifPresent(blocks -> {
                        assertThat(blocks).containsExactly(lists.allocate(wanted));
                        IntStream.of(blocks).forEach(held::add);
                    });
                }
                case 5 -> {
                    if (random.nextInt(200) == 0) {
                        pool.clear();
                        lists.clear();
                        held.clear();
                    }
                }
                default -> {
                    int[] given = IntStream.range(0, Math.min(held.size(), random.nextInt(2 * perPage)))
                            .map(_ -> take(held, random))
                            .toArray();
                    pool.free(given);
                    lists.free(given);
                }
            }
            assertThat(pool.available()).isEqualTo(lists.available());
            assertThat(pool.pagesInUse()).isEqualTo(lists.inUse.size());
            assertThat(pool.pagesReserved()).isEqualTo(lists.reserved.size());
            assertThat(pool.blocks()).isEqualTo(held.size());
        }
    }

    private static int take(List<Integer> held, Random random) {
        int which = random.nextInt(held.size());
        int block = held.get(which);
        held.set(which, held.getLast());
        held.removeLast();
        return block;
    }

    /** Pages by number in lists, blocks as numbers in a list. */
    private static final class Lists {
        private final int perPage;
        private final int min;
        private final int max;
        private final List<Integer> free = new ArrayList<>();
        private final List<Integer> reserved = new ArrayList<>();
        private final List<Integer> reclaimed = new ArrayList<>();
        /** In the order in which they were opened or last freed into. */
        private final List<Integer> inUse = new ArrayList<>();

        private final List<Integer> taken = new ArrayList<>();
        private long shrinkTo = -1;

        Lists(int pages, int perPage, int min, int max) {
            this.perPage = perPage;
            this.min = min;
            this.max = max;
            IntStream.range(0, pages).forEach(free::add);
            reserve();
        }

        int available() {
            int inPages = inUse.size() * perPage - taken.size();
            return shrinkTo >= 0 ? inPages : inPages + perPage * (free.size() + reserved.size());
        }

        int[] allocate(int wanted) {
            int[] blocks = new int[wanted];
            for (int i = 0; i < wanted; i++) {
                int block = inUse.reversed().stream()
                        .flatMap(page -> IntStream.range(page * perPage, (page + 1) * perPage)
                                .filter(candidate -> !taken.contains(candidate))
                                .boxed()
                                .findFirst()
                                .stream())
                        .findFirst()
                        .orElseGet(this::fromNewPage);
                taken.add(block);
                blocks[i] = block;
            }
            return blocks;
        }

        void free(int[] given) {
            List<Integer> touched = new ArrayList<>();
            for (int block : given) {
                taken.removeIf(other -> other == block);
                if (!touched.contains(block / perPage)) {
                    touched.add(block / perPage);
                }
            }
            for (Integer page : touched) {
                inUse.removeIf(page::equals);
                if (taken.stream().anyMatch(block -> block / perPage == page)) {
                    inUse.add(page);
                } else if (reserved.size() < max) {
                    reserved.add(page);
                } else {
                    free.add(page);
                }
            }
            if (shrinkTo >= 0 && taken.size() <= shrinkTo * perPage) {
                long wanted = shrinkTo;
                limit(wanted);
                shrinkTo = -1;
            }
        }

        void limit(long wanted) {
            shrinkTo = wanted < inUse.size() ? wanted : -1;
            if (shrinkTo >= 0) {
                return;
            }
            long surplus = inUse.size() + reserved.size() + free.size() - wanted;
            for (; surplus < 0; surplus++) {
                free.add(reclaimed.isEmpty() ? inUse.size() + reserved.size() + free.size() : reclaimed.removeFirst());
            }
            if (surplus > free.size()) {
                free.addAll(reserved);
                reserved.clear();
            }
            for (; surplus > 0; surplus--) {
                reclaimed.add(free.removeLast());
            }
        }

        void clear() {
            inUse.stream().sorted().forEach(free::add);
            free.addAll(reserved);
            inUse.clear();
            reserved.clear();
            taken.clear();
            shrinkTo = -1;
            reserve();
        }

        private int fromNewPage() {
            int page = reserved.isEmpty() ? free.removeFirst() : reserved.removeFirst();
            inUse.add(page);
            reserve();
            return page * perPage;
        }

        private void reserve() {
            while (reserved.size() < min && !free.isEmpty()) {
                reserved.add(free.removeFirst());
            }
        }
    }
}
