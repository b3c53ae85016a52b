package io.holdfast.benchmarks;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Cost of deciding by rank beside a cache of some size: processor time of a choice and of a request, and memory.
 * Prompts of 500 blocks, of which one in five goes on with a conversation; the cache is full all the time.
 */
public final class RankLoad {
    private static final int PROMPT = 500;
    private static final int TURN = 100;
    private static final long STEP_NANOS = 20_000_000;
    private static final int CHOICES = 400;
    private static final int COPIES = 200;

    private final ThreadMXBean processor = ManagementFactory.getThreadMXBean();
    private final SplittableRandom random = new SplittableRandom(1);
    private final int capacity;
    private final EngineBlocks blocks = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void parted(long above, long first) {
            // Not measured here.
        }

        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {
            // Not measured here.
        }

        @Override
        public void pinnedBlockRemoved(long block) {
            // Nothing is pinned.
        }
    });
    private final RankedPrefixes ranked = new RankedPrefixes(RankSettings.defaults(), Duration.ofMinutes(5), blocks);
    private final VisibleRequests requests = new VisibleRequests(RequestRules.sglang(), blocks, new RequestListener() {
        @Override
        public void prompt(VisibleRequest request, int before) {
            long start = processor.getCurrentThreadCpuTime();
            ranked.prompt(request, before);
            learning += processor.getCurrentThreadCpuTime() - start;
            learned++;
        }

        @Override
        public void completed(VisibleRequest request) {
            ranked.completed(request);
        }
    });
    private final LinkedHashSet<long[]> leastRecent = new LinkedHashSet<>();
    private final List<List<long[]>> conversations = new ArrayList<>();
    private final StoredBlocks stores = new StoredBlocks();
    private int resident;
    private long nextBlock = 1;
    private long batch;
    private long nanos = STEP_NANOS;
    private long learning;
    private long learned;
    private long evicting;

    private RankLoad(int capacity) {
        this.capacity = capacity;
    }

    /** Numbers of blocks, 100,000 and 1,000,000 where none are given. */
    public static void main(String[] arguments) {
        int[] sizes = arguments.length == 0
                ? new int[] {100_000, 1_000_000}
                : Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
        for (int size : sizes) {
            new RankLoad(size).run();
        }
    }

    private void run() {
        long before = used();
        // Four times over, so that there are ghosts.
        fill(4L * capacity);
        learning = 0;
        learned = 0;
        evicting = 0;
        long[] choices = new long[CHOICES];
        int count = 0;
        while (count < CHOICES) {
            request();
            long start = processor.getCurrentThreadCpuTime();
            if (tick()) {
                choices[count++] = processor.getCurrentThreadCpuTime() - start;
            }
        }
        Arrays.sort(choices);
        long[] copies = new long[COPIES];
        for (int i = 0; i < COPIES; i++) {
            request();
            long start = processor.getCurrentThreadCpuTime();
            if (ranked.learned().isEmpty()) {
                throw new IllegalStateException("Nothing was learned.");
            }
            copies[i] = processor.getCurrentThreadCpuTime() - start;
        }
        Arrays.sort(copies);
        System.out.printf(
                Locale.ROOT,
                "%,d blocks: a choice %.2f ms (median), %.2f ms (99 %%), %.2f ms (the longest, with a fit); a request"
                        + " of %d blocks %.0f us, its removals %.0f us; %d chosen, %s; a copy for a snapshot %.2f ms"
                        + " (median), %.2f ms (the longest); %.0f MB with the index%n",
                capacity,
                choices[CHOICES / 2] / 1e6,
                choices[CHOICES * 99 / 100] / 1e6,
                choices[CHOICES - 1] / 1e6,
                PROMPT,
                learning / 1e3 / learned,
                evicting / 1e3 / learned,
                ranked.chosen().size(),
                ranked.evidence().said(),
                copies[COPIES / 2] / 1e6,
                copies[COPIES - 1] / 1e6,
                (used() - before) / 1e6);
    }

    private void fill(long stored) {
        for (long done = 0; done < stored; done += PROMPT) {
            request();
            tick();
        }
    }

    private boolean tick() {
        ranked.capacity(capacity);
        return ranked.tick(capacity / 2, capacity, new long[0]);
    }

    private void request() {
        nanos += STEP_NANOS;
        blocks.now(nanos);
        ranked.now(nanos);
        List<long[]> conversation;
        int fresh = PROMPT;
        if (random.nextInt(5) == 0 && conversations.size() > 50) {
            conversation = conversations.get(random.nextInt(conversations.size()));
            if (conversation.size() < 12 && leastRecent.containsAll(conversation)) {
                fresh = TURN;
            } else {
                conversation.clear();
            }
        } else {
            conversation = new ArrayList<>();
            if (conversations.size() <= 50) {
                conversations.add(conversation);
            }
        }
        long[] chunk = new long[fresh];
        Arrays.setAll(chunk, i -> nextBlock++);
        long above = conversation.isEmpty() ? 0 : conversation.getLast()[conversation.getLast().length - 1];
        blocks.batchStarted(++batch, nanos / 1000);
        requests.batchStarted(batch, nanos / 1000);
        conversation.reversed().forEach(part -> {
            leastRecent.remove(part);
            leastRecent.add(part);
        });
        while (resident + fresh > capacity) {
            evict();
        }
        stores.reset().blockTokens(16);
        for (long block : chunk) {
            stores.add(block);
        }
        if (above != 0) {
            stores.under(above);
        }
        blocks.stored(stores);
        requests.stored(stores);
        blocks.batchEnded();
        requests.batchEnded();
        conversation.add(chunk);
        // What lies above goes later.
        conversation.reversed().forEach(part -> {
            leastRecent.remove(part);
            leastRecent.add(part);
        });
        resident += fresh;
    }

    private void evict() {
        long[] oldest = leastRecent.removeFirst();
        long[] reversed = new long[oldest.length];
        Arrays.setAll(reversed, i -> oldest[oldest.length - 1 - i]);
        blocks.removed(reversed, 0, reversed.length, Tier.GPU, 0);
        requests.removed(reversed, 0, reversed.length, Tier.GPU, 0);
        long start = processor.getCurrentThreadCpuTime();
        ranked.removed(reversed, 0, reversed.length);
        evicting += processor.getCurrentThreadCpuTime() - start;
        resident -= oldest.length;
    }

    private static long used() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
