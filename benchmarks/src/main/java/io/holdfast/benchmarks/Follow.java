package io.holdfast.benchmarks;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.Tier;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A consumer of engines' events as a process of its own: it follows them into one tree and shows on its standard input's
 * command what it believes.
 *
 * <p>{@code dump CACHE FILE} writes a cache's counters and blocks. {@code match FILE} answers for each line of the file,
 * {@code BLOCK_TOKENS SALT TOKEN...}, how many leading blocks each cache holds; the salt {@code -} is none. {@code stop} ends
 * it. Each command is answered by a line.
 */
public final class Follow {
    private static final int PAUSE_MILLIS = 200;

    private record Followed(Cache cache, LastHeard heard, Subscription subscription) {}

    private final BlockTree tree;
    private final KvEventLoop loop = new KvEventLoop(System::nanoTime);
    private final List<Followed> caches = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
    private final Matches matches = new Matches();

    private Follow(Naming naming) {
        tree = new BlockTree(naming);
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 5 || arguments.length % 4 != 1) {
            System.err.println("Usage: Follow ENGINE_HASH|CONTENT_CHAIN (sglang|vllm EVENTS REPLAY TOPIC)...");
            System.exit(2);
        }
        Follow follow = new Follow(Naming.valueOf(arguments[0].toUpperCase(Locale.ROOT)));
        for (int i = 1; i < arguments.length; i += 4) {
            CacheTraits traits = arguments[i].equals("vllm") ? CacheTraits.vllm() : CacheTraits.sglang();
            follow.add(
                    traits, EventSource.of(arguments[i + 1], arguments[i + 3]).withReplay(arguments[i + 2]));
        }
        Thread.ofPlatform().daemon().start(follow::read);
        follow.run();
    }

    private void add(CacheTraits traits, EventSource source) {
        Cache cache = tree.addCache(traits);
        LastHeard heard = new LastHeard(cache);
        caches.add(
                new Followed(cache, heard, loop.subscribe(source, rank -> heard).getFirst()));
    }

    private void read() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                commands.add(line);
                loop.wakeup();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The standard input does not read.", e);
        } finally {
            commands.add("stop");
            loop.wakeup();
        }
    }

    private void run() throws IOException {
        try (loop) {
            while (true) {
                loop.doWork(PAUSE_MILLIS);
                String command = commands.poll();
                if (command == null) {
                    continue;
                }
                String[] words = command.split(" ", 3);
                switch (words[0]) {
                    case "dump" -> {
                        dump(caches.get(Integer.parseInt(words[1])), Path.of(words[2]));
                        System.out.println("dumped");
                    }
                    case "match" -> {
                        for (String line : Files.readAllLines(Path.of(words[1]))) {
                            System.out.println(match(line.split(" ", -1)));
                        }
                    }
                    case "stop" -> {
                        System.out.println("stopped");
                        return;
                    }
                    default -> System.out.println("The commands are dump, match and stop.");
                }
            }
        }
    }

    private static void dump(Followed followed, Path file) throws IOException {
        Cache cache = followed.cache;
        Subscription stream = followed.subscription;
        List<String> lines = new ArrayList<>();
        lines.add("# sequence " + followed.heard.sequence());
        lines.add("# certain " + cache.certain());
        lines.add("# certainty " + cache.certainty());
        lines.add("# blocks " + cache.blocks());
        lines.add("# unplaced " + cache.unplaced());
        lines.add("# unknown_removals " + cache.unknownRemovals());
        lines.add("# refused " + stream.refused());
        lines.add("# gaps " + stream.gaps());
        lines.add("# restarts " + stream.restarts());
        lines.add("# replays " + stream.replays());
        lines.add("# replayed " + stream.replayedBatches());
        cache.forEachHash((hash, tiers) -> lines.add(hash + " " + tiers));
        Files.write(file, lines);
    }

    private String match(String[] prompt) {
        String salt = prompt[1].equals("-") ? "" : prompt[1];
        int[] tokens = Arrays.stream(prompt).skip(2).mapToInt(Integer::parseInt).toArray();
        long[] path = new long[tokens.length];
        int blocks = ContentNames.names(
                tokens, 0, tokens.length, Integer.parseInt(prompt[0]), ContentNames.namespace(salt, ""), path);
        tree.match(path, 0, blocks, matches);
        StringBuilder depths = new StringBuilder();
        for (Followed followed : caches) {
            depths.append(matches.depthOf(followed.cache.id(), Tier.GPU)).append(' ');
        }
        return depths.toString().strip();
    }
}
