package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random requests over a pool and over a naive one: they must never differ. */
class BlockPoolModelTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int RUNS = DEEP ? 2_000 : 60;
    private static final int STEPS = 400;

    @ParameterizedTest
    @EnumSource
    void everyBlockTakenFoundAndForgottenIsTheNaivePools(Release release) {
        int taken = 0;
        int copies = 0;
        int forgotten = 0;
        for (int run = 0; run < RUNS; run++) {
            Random random = new Random(run);
            int blocks = 2 + random.nextInt(40);
            List<Long> removed = new ArrayList<>();
            BlockPool pool = new BlockPool(blocks, release != Release.V0_22, name -> removed.add(name.hash()));
            NaivePool naive = new NaivePool(blocks, release != Release.V0_22);
            List<List<Integer>> requests = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                String at = "run " + run + " step " + step;
                switch (random.nextInt(16)) {
                    case 0 -> assertThat(pool.clear()).as(at).isEqualTo(naive.clear());
                    case 1 -> {
                        int limit = random.nextInt(4) == 0 ? random.nextInt(blocks) : blocks - 1;
                        pool.limit(limit);
                        naive.limit(limit);
                    }
                    case 2, 3, 4, 5, 6, 7 -> {
                        if (!requests.isEmpty()) {
                            List<Integer> table = requests.remove(random.nextInt(requests.size()));
                            pool.release(table.stream().mapToInt(i -> i).toArray(), table.size());
                            naive.release(table);
                        }
                    }
                    default -> {
                        List<Integer> table = new ArrayList<>();
                        long chain = random.nextInt(6);
                        int block = pool.find(name(chain, 0));
                        while (block != BlockPool.NONE && random.nextInt(8) > 0) {
                            assertThat(naive.find(chain << 32 | table.size()))
                                    .as(at)
                                    .hasValue(block);
                            pool.touch(block);
                            naive.touch(block);
                            table.add(block);
                            block = pool.find(name(chain, table.size()));
                        }
                        if (block == BlockPool.NONE) {
                            assertThat(naive.find(chain << 32 | table.size()))
                                    .as(at)
                                    .isEmpty();
                        }
                        int more = Math.min(random.nextInt(6), pool.free());
                        for (int i = 0; i < more; i++) {
                            int next = pool.take();
                            assertThat(naive.take()).as(at).isEqualTo(next);
                            taken++;
                            if (i < more - random.nextInt(2)) {
                                copies += pool.find(name(chain, table.size())) == BlockPool.NONE ? 0 : 1;
                                pool.name(next, name(chain, table.size()));
                                naive.name(next, chain << 32 | table.size());
                            }
                            table.add(next);
                        }
                        requests.add(table);
                    }
                }
                assertThat(Arrays.stream(pool.queued()).boxed().toList()).as(at).isEqualTo(naive.queue);
                assertThat(removed).as(at).isEqualTo(naive.removed);
                assertThat(pool.inUse()).as(at).isEqualTo(naive.inUse());
                forgotten += removed.size();
                removed.clear();
                naive.removed.clear();
            }
        }
        assertThat(taken).isGreaterThan(RUNS * 50);
        assertThat(copies).isGreaterThan(RUNS * 5);
        assertThat(forgotten).isGreaterThan(RUNS * 20);
    }

    private static BlockName name(long chain, int position) {
        return new BlockName.Numbered(chain << 32 | position);
    }
}
