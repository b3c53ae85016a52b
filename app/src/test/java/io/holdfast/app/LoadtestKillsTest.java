package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.demo.Demo;
import io.holdfast.app.demo.DemoServers;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/*
 * Ended anywhere
 * ==============
 *
 * A run in a process of its own, with a sidecar that holds, is ended at a point drawn by chance; what is left is resumed, and is
 * ended again at another point, until a process comes through. A point is so many legs after the beginning, and then a time of
 * up to a leg or, before the first, of up to what a process takes to come to it: by the clock alone a slow machine would have
 * nothing but beginnings. So it lies anywhere: before there is a journal, in the rehearsal, in a leg that holds, between two
 * lines, in a resumed run that rehearses again, while it prints.
 *
 * What has to be there in the end is read twice: by the journal's own reader, and line by line by what follows here, which
 * knows three kinds of lines and nothing of the reader.
 */

/** Runs that are ended at random points by a signal and resumed until they are through. */
class LoadtestKillsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int ENDS = DEEP ? 100 : 2;
    private static final int PREFIX = 256;
    private static final int CAPACITY = 1_584;
    /** Of one process that begins a run: the rehearsal's and those of three pairs. */
    private static final int LEGS = 12;

    private static final int MOST_PROCESSES = 40 * ENDS;
    private static final Pattern LEASE =
            Pattern.compile("leaves\\s+behind\\s+ends\\s+automatically\\s+within\\s+(\\d+)\\s+s");
    private static final Set<String> ENDED = Set.of("released", "expiring");
    private static final long PAUSE_NANOS = Duration.ofMillis(5).toNanos();

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        vertx.close().await();
    }

    /**
     * By turns with {@code kill -9}, after which nobody can say or release anything, so that what was held ends by itself no
     * later than was said before the load; and with Ctrl-C, which is an end in order: nothing is held once the process is gone,
     * and what it printed says how to go on.
     */
    @Test
    @Timeout(value = 2, unit = TimeUnit.HOURS)
    void runEndedAtRandomPoints_isResumedToItsPlan() throws Exception {
        try (DemoServers servers = DemoServers.start(vertx, Demo.emulated(CAPACITY), false);
                Http sidecar = new Http(servers.sidecar())) {
            Unbroken unbroken = unbroken(servers);
            SplittableRandom random = new SplittableRandom(DEEP ? 1_914 : 14);
            Set<String> left = new HashSet<>();
            int ends = 0;
            int runs = 0;
            long longest = 0;
            Path journal = folder.resolve("run0.jsonl");
            for (int processes = 0; ends < ENDS || Files.exists(journal); processes++) {
                assertThat(processes)
                        .as("processes that it took, for %d ends", ends)
                        .isLessThan(MOST_PROCESSES);
                if (!hasBegun(journal)) {
                    // Of a run that was killed while it wrote its first line there is nothing to go on with.
                    Files.deleteIfExists(journal);
                }
                String[] command = Files.exists(journal)
                        ? new String[] {"loadtest", "resume", journal.toString()}
                        : run(servers, journal);
                long before = Files.exists(journal) ? Files.size(journal) : 0;
                try (Child child = Child.start(command)) {
                    int legs = random.nextInt(LEGS);
                    Duration then = Duration.ofNanos(
                            random.nextLong((legs == 0 ? unbroken.beginning() : unbroken.leg()).toNanos()));
                    if (ends == ENDS || !child.says("probe", legs) || child.endsWithin(then)) {
                        CommandRun told = child.end();
                        assertThat(told.code()).as("%s", told).isEqualTo(ExitCode.INCONCLUSIVE);
                    } else if (ends++ % 2 == 0) {
                        assertThat(child.strike("KILL").out()).doesNotContain("PARTIAL");
                        left.addAll(leftByAKill(sidecar, unbroken));
                    } else {
                        long struck = System.nanoTime();
                        CommandRun told = child.strike("INT");
                        longest = Math.max(longest, System.nanoTime() - struck);
                        assertStopped(told, legs == 0, journal, before, left, sidecar);
                    }
                }
                if (DEEP) {
                    System.out.println(ends + " ends by process " + processes + ", " + left.size() + " holds left");
                }
                if (hasBegun(journal) && isFinished(journal)) {
                    assertPlanned(journal, unbroken);
                    runs++;
                    journal = folder.resolve("run" + runs + ".jsonl");
                }
            }
            if (DEEP) {
                System.out.println(ends + " ends; " + runs
                        + " runs came through; " + left.size() + " holds were left by a kill; the longest time from"
                        + " Ctrl-C to the end, with nothing held, was " + longest / 1_000_000 + " ms");
                // In a slice nobody has the time to wait for a lease.
                awaitNoHold(sidecar, unbroken);
            }
        }
    }

    private static Set<String> leftByAKill(Http sidecar, Unbroken unbroken) {
        assertThat(holds(sidecar))
                .allSatisfy(hold -> assertThat(hold.path("leaseSeconds").asDouble())
                        .as("what is left of %s", hold)
                        .isLessThanOrEqualTo(unbroken.leaseSeconds()));
        return holds(sidecar).stream().map(hold -> hold.path("id").asText()).collect(Collectors.toSet());
    }

    private static void assertStopped(
            CommandRun told, boolean early, Path journal, long before, Set<String> left, Http sidecar)
            throws IOException {
        assertThat(holds(sidecar))
                .as("held after %s", told)
                .extracting(hold -> hold.path("id").asText())
                .isSubsetOf(left);
        assertThat(told.err()).as("after %s", told.out()).isEmpty();
        if (early && told.out().isEmpty()) {
            // A process that has not yet come to its own code is ended by the system, and has touched nothing.
            assertThat(Files.exists(journal) ? Files.size(journal) : 0).isEqualTo(before);
        } else if (hasBegun(journal) && !isFinished(journal)) {
            assertThat(told.code()).isEqualTo(ExitCode.STOPPED);
            assertThat(told.out()).contains("PARTIAL, STOPPED", "Go on with: holdfast loadtest resume");
        }
    }

    /** What a run leaves that nobody ends: by it the others are measured. */
    private Unbroken unbroken(DemoServers servers) throws Exception {
        Path journal = folder.resolve("unbroken.jsonl");
        StringBuilder head = new StringBuilder();
        long began = System.nanoTime();
        long first;
        CommandRun told;
        try (Child child = Child.start(run(servers, journal))) {
            for (String line = child.line(); !line.contains("probe"); line = child.line()) {
                head.append(line).append("\n");
            }
            first = System.nanoTime();
            told = child.end();
        }
        Duration rest = Duration.ofNanos(System.nanoTime() - first);
        assertThat(told.code()).as("%s", told).isEqualTo(ExitCode.INCONCLUSIVE);
        Matcher lease = LEASE.matcher(head);
        assertThat(lease.find()).as("how long a hold lasts is said in %s", head).isTrue();
        List<LegRecord> legs = Journal.read(journal).legs();
        Map<Integer, String> bodies = legs.stream()
                .collect(Collectors.toMap(LegRecord::position, LegRecord::bodies, (one, other) -> {
                    assertThat(other).isEqualTo(one);
                    return one;
                }));
        return new Unbroken(
                bodies, Duration.ofNanos(first - began), rest.dividedBy(LEGS), Integer.parseInt(lease.group(1)));
    }

    /**
     * What a run is that nobody ends.
     *
     * @param bodies what the legs at each place ask for
     * @param beginning from its start to the end of its first leg
     */
    private record Unbroken(Map<Integer, String> bodies, Duration beginning, Duration leg, int leaseSeconds) {}

    private static boolean hasBegun(Path journal) {
        try {
            return Files.exists(journal) && Files.readString(journal).contains("\n");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isFinished(Path journal) {
        return CommandRun.by("loadtest", "status", journal.toString()).out().startsWith("FINISHED");
    }

    private static void assertPlanned(Path journal, Unbroken unbroken) throws IOException {
        Journal.Contents run = Journal.read(journal);
        List<String> inOrder = run.lifeOrder().lives().stream()
                .flatMap(life -> run.header().legsOf(life).stream())
                .map(PlannedLeg::label)
                .toList();
        assertThat(run.legs()).extracting(LegRecord::label).containsExactlyElementsOf(inOrder);
        if (run.repeats() == 0) {
            assertThat(inOrder)
                    .containsExactlyElementsOf(
                            run.header().legs().stream().map(PlannedLeg::label).toList());
        }
        assertThat(run.legs())
                .allSatisfy(leg -> assertThat(leg.bodies())
                        .as("what %s asked for", leg.label())
                        .isEqualTo(unbroken.bodies().get(leg.position())));
        Map<String, Integer> standing = new TreeMap<>();
        for (String text : Files.readAllLines(journal)) {
            JsonNode line = JSON.readTree(text);
            JsonNode leg = line.path("leg");
            if (leg.isObject()) {
                standing.merge(
                        leg.path("life").asInt() + "/" + leg.path("position").asInt(), 1, Integer::sum);
            }
            if (line.path("voided").isObject()) {
                String life = line.path("voided").path("life").asInt() + "/";
                standing.keySet().removeIf(name -> name.startsWith(life));
            }
        }
        assertThat(standing)
                .hasSize(run.header().legs().size())
                .allSatisfy((leg, times) -> assertThat(times).isEqualTo(1));
    }

    /** Those that hold something, or would. */
    private static List<JsonNode> holds(Http sidecar) {
        List<JsonNode> holds = new ArrayList<>();
        sidecar.get("/api/v1/engines/" + DemoServers.ENGINE + "/holds")
                .json()
                .path("holds")
                .forEach(hold -> {
                    if (!ENDED.contains(hold.path("state").asText())) {
                        holds.add(hold);
                    }
                });
        return holds;
    }

    private static void awaitNoHold(Http sidecar, Unbroken unbroken) {
        long began = System.nanoTime();
        while (!holds(sidecar).isEmpty()) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        System.out.println("nothing was held " + (System.nanoTime() - began) / 1_000_000
                + " ms after the last run; what was said was " + unbroken.leaseSeconds() + " s");
    }

    private static String[] run(DemoServers servers, Path journal) {
        List<String> args = new ArrayList<>(List.of("loadtest", "run"));
        args.addAll(List.of("--engine", servers.uri().toString(), "--journal", journal.toString()));
        args.addAll(List.of("--sidecar", servers.sidecar().toString(), "--engine-id", DemoServers.ENGINE));
        args.addAll(List.of("--prefix-tokens", Integer.toString(PREFIX), "--suffix-tokens", "32"));
        args.addAll(List.of("--flood-requests", "4", "--flood-tokens", "512", "--concurrency", "1"));
        args.addAll(List.of("--cycles", "1", "--rounds", "1", "--anyway"));
        args.addAll(List.of("--repeat-pairs", "50"));
        return args.toArray(String[]::new);
    }
}
