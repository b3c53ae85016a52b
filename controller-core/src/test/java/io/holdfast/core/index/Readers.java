package io.holdfast.core.index;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that match paths of a tree while a script is played to it, and remember what they were told.
 *
 * <p>Each answer must be the one that the tree gives between two steps: after one of those that were done when the thread
 * asked, or that had begun when it knew.
 */
final class Readers {
    /** What a thread was told, by {@link Twins#answer}, and between which steps. */
    private record Answer(int path, int stepsDone, int stepsBegun, String text) {
        boolean overlapsAStep() {
            return stepsBegun > stepsDone;
        }
    }

    private static final int STEPS_SHOWN = 5;
    private static final int MOST_ANSWERS = 20_000;

    private final Script script;
    private final List<long[]> paths;
    private final BlockTree tree;
    private final AtomicInteger stepsBegun = new AtomicInteger();
    private final AtomicInteger stepsDone = new AtomicInteger();
    private final Queue<Throwable> thrown = new ConcurrentLinkedQueue<>();
    private final List<List<Answer>> answers = new ArrayList<>();
    private volatile boolean over;

    Readers(Script script, List<long[]> paths) {
        this.script = script;
        this.paths = paths;
        tree = new BlockTree(script.naming());
    }

    /** Plays the script while this many threads read. */
    void play(int threads) throws InterruptedException {
        List<Thread> readers = new ArrayList<>();
        CountDownLatch reading = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            List<Answer> told = new ArrayList<>();
            answers.add(told);
            SplittableRandom random = new SplittableRandom(i);
            Thread reader = new Thread(() -> read(told, random, reading), "reader " + i);
            reader.start();
            readers.add(reader);
        }
        reading.await();
        try {
            TreePlayer player = new TreePlayer(tree);
            for (Script.Step step : script.steps()) {
                stepsBegun.incrementAndGet();
                player.play(step);
                stepsDone.incrementAndGet();
            }
        } finally {
            over = true;
            for (Thread reader : readers) {
                reader.join();
            }
        }
    }

    /** How many answers were given while a step was under way. */
    long overlapping() {
        return answers.stream()
                .flatMap(List::stream)
                .filter(Answer::overlapsAStep)
                .count();
    }

    /** Plays the script once more, by itself, and tells of the first answer that was never true. */
    Optional<String> untrue() {
        for (Throwable failure : thrown) {
            return Optional.of("A reader failed: " + failure + " at " + Arrays.toString(failure.getStackTrace()));
        }
        Deque<Answer> toCome = new ArrayDeque<>(answers.stream()
                .flatMap(List::stream)
                .sorted(Comparator.comparingInt(Answer::stepsDone))
                .toList());
        List<Answer> doubted = new ArrayList<>();
        Twins twins = new Twins(script.naming());
        for (int done = 0; done <= script.steps().size(); done++) {
            if (done > 0) {
                Script.Step step = script.steps().get(done - 1);
                if (!twins.play(step).equals(step)) {
                    throw new IllegalArgumentException("What comes of " + step + " is left open.");
                }
            }
            while (!toCome.isEmpty() && toCome.getFirst().stepsDone <= done) {
                doubted.add(toCome.removeFirst());
            }
            Map<Integer, String> truth = new HashMap<>();
            for (Iterator<Answer> each = doubted.iterator(); each.hasNext(); ) {
                Answer answer = each.next();
                if (truth.computeIfAbsent(answer.path, path -> truth(twins, path))
                        .equals(answer.text)) {
                    each.remove();
                } else if (answer.stepsBegun <= done) {
                    return Optional.of(described(answer));
                }
            }
        }
        return Optional.empty();
    }

    private void read(List<Answer> told, SplittableRandom random, CountDownLatch reading) {
        Matches matches = new Matches();
        reading.countDown();
        try {
            while (!over) {
                int path = random.nextInt(paths.size());
                int before = stepsDone.get();
                tree.match(paths.get(path), 0, paths.get(path).length, matches);
                int after = stepsBegun.get();
                // Answers between steps are easy: a few will do.
                if (told.size() < MOST_ANSWERS && (after > before || random.nextInt(16) == 0)) {
                    told.add(new Answer(path, before, after, Twins.text(Twins.answer(matches))));
                }
            }
        } catch (RuntimeException | AssertionError failure) {
            thrown.add(failure);
        }
    }

    private String truth(Twins twins, int path) {
        long[] names = paths.get(path);
        return Twins.text(twins.expected(names, 0, names.length));
    }

    private String described(Answer answer) {
        StringBuilder text = new StringBuilder("A match of path ")
                .append(answer.path)
                .append(" told ")
                .append(answer.text)
                .append(" before step ")
                .append(answer.stepsBegun + 1)
                .append(" but");
        Twins twins = new Twins(script.naming());
        for (int done = 0; done <= Math.min(answer.stepsBegun, answer.stepsDone + STEPS_SHOWN); done++) {
            if (done > 0) {
                twins.play(script.steps().get(done - 1));
            }
            if (done >= answer.stepsDone - STEPS_SHOWN) {
                text.append("\n  ")
                        .append(done <= answer.stepsDone ? "before, after " : "after ")
                        .append(done == 0 ? "nothing" : shortened(script.steps().get(done - 1)))
                        .append(", it is ")
                        .append(truth(twins, answer.path));
            }
        }
        return text.toString();
    }

    private static String shortened(Script.Step step) {
        return step.toString().replaceAll("(-?\\d+(=-?\\d+)?, ){8,}", "... ");
    }
}
