package io.holdfast.core.example;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.requests.VisibleRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Notes the prompts of one engine's requests while somebody shows what is to be held; confined to one thread. */
public final class Examples {
    /*
     * A request is noted by the path that its prompt has in the tree, when its stores are heard: a later chunk of the
     * same prompt replaces what the earlier ones were noted as. A request that finds its whole prompt in the cache
     * stores nothing and is not seen; who shows an example has to send something new behind the prefix.
     *
     * Everything is bounded: examples that run and that are remembered, their length, prompts of each, and the names
     * and tokens of blocks in all of them together. What does not fit is counted.
     *
     * Where prompts part is a prefix that several share, so the prefixes of an example are all that two prompts have in
     * common and the prompts themselves. Each is known by its last block, whose name stands for all before it.
     */

    /** Time after which an example ends automatically. */
    public static final Duration LONGEST = Duration.ofMinutes(10);

    private static final int MOST_RUNNING = 4;
    private static final int REMEMBERED = 16;
    private static final int MOST_PROMPTS = 64;
    private static final int MOST_BLOCKS = 1 << 20;
    private static final int MOST_TOKENS = 1 << 21;
    /** Bytes that a block takes beside its tokens. */
    private static final long BYTES_BESIDE = 96;

    private final EngineBlocks tree;
    private final Map<Long, Example> examples = new LinkedHashMap<>();
    /** Tokens of blocks that were stored while an example ran. */
    private final Map<Long, int[]> tokens = new HashMap<>();

    private long nextId = 1;
    private long nowNanos;
    private long blockTokens;
    private int running;
    private int blocks;
    private int keptTokens;

    private static final class Prompt {
        final long[] path;
        int requests = 1;

        Prompt(long[] path) {
            this.path = path;
        }

        boolean begins(long lastBlock, int length) {
            return path.length >= length && path[length - 1] == lastBlock;
        }
    }

    private static final class Example {
        final long id;
        final long endNanos;
        final List<Prompt> prompts = new ArrayList<>();
        boolean running = true;
        int unplaced;
        int notNoted;

        Example(long id, long endNanos) {
            this.id = id;
            this.endNanos = endNanos;
        }
    }

    /** A part of a prompt. */
    private record Part(Prompt prompt, int length, int prompts, int requests) {
        boolean whole() {
            return length == prompt.path.length;
        }
    }

    public Examples(EngineBlocks tree) {
        this.tree = tree;
    }

    /** Ends what has run for long enough. */
    public void now(long nanos, long tokensPerBlock) {
        nowNanos = nanos;
        blockTokens = tokensPerBlock;
        if (running > 0) {
            examples.values().stream()
                    .filter(example -> example.running && example.endNanos <= nowNanos)
                    .forEach(this::end);
        }
    }

    /** Begins an example; absent when too many run. */
    public Optional<ExampleView> start(Duration length) {
        if (running == MOST_RUNNING) {
            return Optional.empty();
        }
        if (examples.size() == REMEMBERED) {
            examples.values().stream()
                    .filter(example -> !example.running)
                    .findFirst()
                    .ifPresent(oldest -> {
                        examples.remove(oldest.id);
                        oldest.prompts.forEach(prompt -> blocks -= prompt.path.length);
                    });
        }
        Duration bounded = length.compareTo(LONGEST) > 0 ? LONGEST : length;
        Example example = new Example(nextId++, nowNanos + bounded.toNanos());
        examples.put(example.id, example);
        running++;
        return Optional.of(view(example));
    }

    /** Ends an example and says what it saw; absent where there is none of this number. */
    public Optional<ExampleView> stop(long id) {
        Optional<Example> found = Optional.ofNullable(examples.get(id));
        found.filter(example -> example.running).ifPresent(this::end);
        return found.map(this::view);
    }

    /** Returns what the example has seen so far; absent where there is none of this number. */
    public Optional<ExampleView> view(long id) {
        return Optional.ofNullable(examples.get(id)).map(this::view);
    }

    /** One of the prefixes that an example saw, to be held; absent where it saw none of this number. */
    public Optional<HoldRequest> prefix(long id, int number, Lease lease) {
        return Optional.ofNullable(examples.get(id))
                .map(Examples::parts)
                .filter(parts -> number >= 1 && number <= parts.size())
                .map(parts -> parts.get(number - 1))
                .map(part -> request(Arrays.copyOf(part.prompt().path, part.length()), lease));
    }

    private HoldRequest request(long[] path, Lease lease) {
        int perBlock = tokens.getOrDefault(path[0], new int[0]).length;
        int[] all = new int[path.length * perBlock];
        for (int i = 0; i < path.length; i++) {
            int[] known = tokens.get(path[i]);
            if (known == null || known.length != perBlock) {
                return new HoldRequest(path, lease);
            }
            System.arraycopy(known, 0, all, i * perBlock, perBlock);
        }
        return new HoldRequest(path, all, lease);
    }

    private void end(Example example) {
        example.running = false;
        running--;
    }

    /** Hears of blocks, whose tokens are kept while somebody notes. */
    public void stored(StoredBlocks stores) {
        int perBlock = stores.blockTokens();
        if (running == 0 || perBlock == 0 || stores.tokenCount() != stores.count() * perBlock) {
            return;
        }
        if (examples.size() == running && examples.values().stream().allMatch(each -> each.prompts.isEmpty())) {
            // Nobody can ask for what was kept before.
            tree.memory().give(BYTES_BESIDE * tokens.size() + 4L * keptTokens);
            tokens.clear();
            keptTokens = 0;
        }
        for (int i = 0; i < stores.count() && keptTokens + perBlock <= MOST_TOKENS; i++) {
            boolean known = tokens.containsKey(stores.hash(i));
            if (!known && !tree.memory().take(BYTES_BESIDE + 4L * perBlock)) {
                return;
            }
            int[] block = new int[perBlock];
            for (int t = 0; t < perBlock; t++) {
                block[t] = stores.token(i * perBlock + t);
            }
            tokens.put(stores.hash(i), block);
            keptTokens += known ? 0 : perBlock;
        }
    }

    /** Hears of a prompt, or of a further chunk of one. */
    public void prompt(VisibleRequest request, int before) {
        if (running == 0) {
            return;
        }
        long[] path = request.blocks() > 0 ? tree.path(request.lastBlock()) : new long[0];
        for (Example example : examples.values()) {
            if (example.running) {
                note(example, path, before);
            }
        }
    }

    private void note(Example example, long[] path, int before) {
        if (path.length == 0) {
            example.unplaced++;
            return;
        }
        if (before > 0 && before <= path.length) {
            find(example, path, before).ifPresent(earlier -> takeBack(example, earlier));
        }
        Optional<Prompt> same = find(example, path, path.length);
        if (same.isPresent()) {
            same.get().requests++;
        } else if (example.prompts.size() == MOST_PROMPTS || blocks + path.length > MOST_BLOCKS) {
            example.notNoted++;
        } else {
            example.prompts.add(new Prompt(path));
            blocks += path.length;
        }
    }

    private static Optional<Prompt> find(Example example, long[] path, int length) {
        return example.prompts.stream()
                .filter(prompt -> prompt.path.length == length && prompt.begins(path[length - 1], length))
                .findFirst();
    }

    private void takeBack(Example example, Prompt earlier) {
        if (--earlier.requests == 0) {
            example.prompts.remove(earlier);
            blocks -= earlier.path.length;
        }
    }

    private ExampleView view(Example example) {
        List<ExampleView.Seen> seen = new ArrayList<>();
        for (Part part : parts(example)) {
            seen.add(new ExampleView.Seen(
                    seen.size() + 1,
                    part.length(),
                    part.length() * blockTokens,
                    part.prompts(),
                    part.requests(),
                    part.whole()));
        }
        return new ExampleView(
                example.id,
                example.running,
                example.running ? Duration.ofNanos(Math.max(0, example.endNanos - nowNanos)) : Duration.ZERO,
                example.prompts.stream().mapToInt(prompt -> prompt.requests).sum(),
                example.unplaced,
                example.notNoted,
                seen);
    }

    private static List<Part> parts(Example example) {
        Map<Long, Part> byLastBlock = new LinkedHashMap<>();
        List<Prompt> all = example.prompts;
        for (int i = 0; i < all.size(); i++) {
            part(all, all.get(i), all.get(i).path.length, byLastBlock);
            for (int j = 0; j < i; j++) {
                int parting = Arrays.mismatch(all.get(i).path, all.get(j).path);
                if (parting > 0) {
                    part(all, all.get(i), parting, byLastBlock);
                }
            }
        }
        return byLastBlock.values().stream()
                .sorted(Comparator.comparingInt(Part::requests)
                        .thenComparingInt(Part::length)
                        .reversed())
                .toList();
    }

    private static void part(List<Prompt> all, Prompt prompt, int length, Map<Long, Part> byLastBlock) {
        long last = prompt.path[length - 1];
        if (byLastBlock.containsKey(last)) {
            return;
        }
        int prompts = 0;
        int requests = 0;
        for (Prompt each : all) {
            if (each.begins(last, length)) {
                prompts++;
                requests += each.requests;
            }
        }
        byLastBlock.put(last, new Part(prompt, length, prompts, requests));
    }
}
