package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.holdfast.loadtest.trace.Trace;
import io.holdfast.loadtest.trace.TraceFile;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Hints;
import io.holdfast.workbench.replay.ReplaySettings.Part;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Mooncake's public traces, where they lie beside the project: {@code conversation} and {@code synthetic} of its FAST'25
 * release, packed.
 */
@TestInstance(Lifecycle.PER_CLASS)
final class PublicTraceTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final Path FOLDER = Path.of("../../shared/traces");

    private final Map<Path, Trace> traces = new HashMap<>();

    @ParameterizedTest
    @CsvSource({
        "1000, 10252, 32803",
        "2000, 17839, 45608",
        "5000, 34043, 64063",
        "10000, 51669, 75241",
        "20000, 69686, 77953",
        "50000, 77953, 77953"
    })
    void countsOfSynthetic_areThePublishedOnes(int capacity, long lru, long optimum) {
        Trace trace = trace("synthetic");
        assertThat(found(trace, Policy.LRU, capacity)).isEqualTo(lru);
        assertThat(found(trace, Policy.OPTIMUM, capacity)).isEqualTo(optimum);
    }

    /** Many of its requests have one time stamp; which of equal blocks goes first moves LRU by a few hits. */
    @ParameterizedTest
    @CsvSource({
        "1000, 12896, 51705",
        "2000, 15712, 71949",
        "5000, 32312, 97995",
        "10000, 60928, 105710",
        "20000, 83004, 105710",
        "50000, 102290, 105710"
    })
    void countsOfConversation_areThePublishedOnes(int capacity, long lru, long optimum) {
        Trace trace = trace("conversation");
        assertThat(found(trace, Policy.LRU, capacity)).isCloseTo(lru, within(3L));
        assertThat(found(trace, Policy.OPTIMUM, capacity)).isEqualTo(optimum);
    }

    @ParameterizedTest
    @CsvSource({
        "1000, 13871, 22320",
        "2000, 17210, 29182",
        "5000, 26642, 40735",
        "10000, 38324, 54034",
        "20000, 64975, 71886",
        "50000, 99205, 98968"
    })
    void otherEvictions_findOnConversationWhatTheyAreKnownTo(int capacity, long segmented, long leastFrequent) {
        Trace trace = trace("conversation");
        assertThat(found(trace, Policy.SLRU, capacity)).isEqualTo(segmented);
        assertThat(found(trace, Policy.LFU, capacity)).isEqualTo(leastFrequent);
    }

    /** Trace, whether running requests hold their blocks, size of the cache, least gain over LRU in points. */
    static Stream<Arguments> gains() {
        Stream<Arguments> slice = Stream.of(
                arguments("conversation", false, 0.02, 4.3),
                arguments("conversation", false, 0.05, 1.2),
                arguments("conversation", true, 0.02, 2.5),
                arguments("synthetic", false, 0.02, -0.3),
                arguments("synthetic", false, 0.2, 1.3));
        Stream<Arguments> rest = Stream.of(
                arguments("conversation", false, 0.01, 3.0),
                arguments("conversation", false, 0.1, 0.4),
                arguments("conversation", false, 0.2, -0.1),
                arguments("conversation", false, 0.5, -0.1),
                arguments("conversation", true, 0.05, 1.2),
                arguments("conversation", true, 0.1, 0.4),
                arguments("conversation", true, 0.2, -0.1),
                arguments("synthetic", false, 0.01, -0.2),
                arguments("synthetic", false, 0.05, -0.3),
                arguments("synthetic", false, 0.1, 0.1),
                arguments("synthetic", false, 0.5, 0.1),
                arguments("synthetic", true, 0.05, -0.4),
                arguments("synthetic", true, 0.1, 0.0),
                arguments("synthetic", true, 0.2, 1.3),
                arguments("synthetic", true, 0.5, 0.1));
        return DEEP ? Stream.concat(slice, rest) : slice;
    }

    @ParameterizedTest
    @MethodSource("gains")
    void oneConfiguration_gainsOnBoth(String name, boolean held, double share, double points) {
        assertThat(gain(trace(name), held, share, Optional.empty())).isGreaterThanOrEqualTo(points);
    }

    /** How often hints are right, size of the cache, least gain over LRU in points. */
    static Stream<Arguments> hints() {
        Stream<Arguments> slice = Stream.of(arguments(0.8, 0.02, 6.8));
        Stream<Arguments> rest = Stream.of(
                arguments(0.8, 0.05, 4.5),
                arguments(0.8, 0.1, 2.3),
                arguments(0.8, 0.2, 0.0),
                arguments(0.95, 0.02, 9.0),
                arguments(0.95, 0.05, 7.5),
                arguments(0.95, 0.1, 4.5),
                arguments(0.95, 0.2, 0.5));
        return DEEP ? Stream.concat(slice, rest) : slice;
    }

    @ParameterizedTest
    @MethodSource("hints")
    void hints_areWorthWhatTheyAreRight(double right, double share, double points) {
        assertThat(gain(trace("conversation"), false, share, Optional.of(new Hints(right, 1))))
                .isGreaterThanOrEqualTo(points);
    }

    /** What an engine announces, share of different blocks that fit the cache, most points that may be lost by events. */
    static Stream<Arguments> announced() {
        Stream<Arguments> both = Stream.of(Form.values())
                .flatMap(form -> Stream.of(arguments(form, 0.02, 0.6), arguments(form, 0.05, 0.5)));
        return DEEP ? both : Stream.of();
    }

    /** In blocks of 16 tokens, with chunks and answers. */
    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("announced")
    void byEventsOfAnEngine_littleIsLost_andByStoresMuch(Form form, double share, double points) {
        Trace trace = trace("conversation").asKeptByEngines();
        int capacity = (int) Math.round(share * trace.uniqueBlocks());
        double full = found(trace, form, capacity, true, Set.of());
        double events = found(trace, form, capacity, false, Set.of());
        assertThat(events).isGreaterThan(full - points);
        assertThat(found(trace, form, capacity, false, Set.of(Part.REQUESTS))).isLessThan(full - points);
    }

    private static double found(Trace trace, Form form, int capacity, boolean full, Set<Part> without) {
        ReplaySettings settings = new ReplaySettings(
                Policy.HOLDFAST, without, false, full, Optional.empty(), Optional.of(new Announced(form, false)));
        return 100 * Replay.run(trace, settings, capacity).hitRatio();
    }

    @Test
    void frequencyBehindTheGate_doesNoHarm() {
        Trace trace = trace("conversation");
        int capacity = (int) Math.round(0.1 * trace.uniqueBlocks());
        double lru = Replay.run(trace, ReplaySettings.of(Policy.LRU), capacity).hitRatio();
        assertThat(100
                        * (Replay.run(trace, ReplaySettings.of(Policy.FREQ), capacity)
                                        .hitRatio()
                                - lru))
                .isGreaterThan(-0.1);
    }

    private static double gain(Trace trace, boolean held, double share, Optional<Hints> hints) {
        int capacity = (int) Math.round(share * trace.uniqueBlocks());
        ReplaySettings pins = new ReplaySettings(Policy.HOLDFAST, Set.of(), held, false, hints, Optional.empty());
        return 100
                * (Replay.run(trace, pins, capacity).hitRatio()
                        - Replay.run(trace, pins.with(Policy.LRU), capacity).hitRatio());
    }

    private static long found(Trace trace, Policy policy, int capacity) {
        return Replay.run(trace, ReplaySettings.of(policy), capacity).hits();
    }

    private Trace trace(String name) {
        Path file = FOLDER.resolve("mooncake_" + name + ".jsonl.gz");
        assumeTrue(
                Files.exists(file), () -> "Needs Mooncake's trace at " + file + ", which is not part of the project.");
        return traces.computeIfAbsent(file, path -> TraceFile.at(path).read());
    }
}
