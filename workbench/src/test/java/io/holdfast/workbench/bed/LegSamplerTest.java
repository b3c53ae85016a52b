package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.workbench.bed.SampleFile.Summary;
import io.holdfast.workbench.load.BesideLeg;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Samplers really run; how long anything takes is asserted nowhere. */
class LegSamplerTest {
    private static final PlannedLeg LEG = new PlannedLeg(1, PairOrder.BP, 2);
    private static final Duration OFTEN = Duration.ofMillis(3);

    /** As nvidia-smi writes it: a header with units once, then a line for each GPU again and again. */
    private static final String SMI = """
        echo $$ >> "$(dirname "$0")/pids"
        echo "$*" >> "$(dirname "$0")/arguments"
        echo 'index, memory.used [MiB], memory.free [MiB], utilization.gpu [%]'
        while :; do
            echo '0, 1024 MiB, 79000 MiB, 87 %'
            echo '1, 5 MiB, 80019 MiB, [N/A]'
            sleep 0.01
        done\
        """;

    private final RunClock clock = RunClock.system();

    @TempDir
    private Path folder = Path.of("");

    /** Runs a leg that ends when so many samples were taken. */
    private SampleFile leg(SampleSource source, int samples) throws InterruptedException {
        CountDownLatch enough = new CountDownLatch(samples);
        SampleSource counted = (taken, threads, its) -> source.begin(
                sample -> {
                    taken.accept(sample);
                    enough.countDown();
                },
                threads,
                its);
        Path file = folder.resolve("samples");
        LegSampler sampler = new LegSampler(
                file,
                () -> List.of(counted),
                clock,
                Thread.ofPlatform().daemon().factory());
        sampler.begins(LEG);
        boolean all = enough.await(60, TimeUnit.SECONDS);
        sampler.ended(LEG);
        assertThat(all).as("samples came").isTrue();
        return SampleFile.read(file);
    }

    private static LegRecord leg() {
        return Legs.leg(1, PairOrder.BP, 2, 10, OptionalInt.of(64));
    }

    @Test
    void gpus_areReadFromTheStreamAndNothingIsLeft() throws Exception {
        Stub stub = new Stub(folder).with("nvidia-smi", SMI);
        Path tool = stub.tools().find("nvidia-smi").orElseThrow();
        SampleFile file = leg(SampleSource.gpus(tool, Duration.ofSeconds(1)), 6);
        List<Summary> summaries = file.byLeg(List.of(leg()));
        assertThat(summaries)
                .extracting(Summary::of, Summary::value, Summary::mean)
                .containsExactlyInAnyOrder(
                        tuple("0", "memory.used [MiB]", 1024.0),
                        tuple("0", "memory.free [MiB]", 79_000.0),
                        tuple("0", "utilization.gpu [%]", 87.0),
                        tuple("1", "memory.used [MiB]", 5.0),
                        tuple("1", "memory.free [MiB]", 80_019.0));
        assertThat(summaries).allSatisfy(of -> assertThat(of.samples()).isGreaterThanOrEqualTo(2));
        assertThat(Files.readString(folder.resolve("arguments")).strip())
                .isEqualTo("--query-gpu=index,memory.used,memory.free,utilization.gpu --format=csv -l 1");
        assertThat(Files.readAllLines(folder.resolve("pids")).stream()
                        .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid)).stream())
                        .filter(ProcessHandle::isAlive))
                .isEmpty();
    }

    @Test
    void process_tellsCpuAndMemory() throws Exception {
        ServerProcess own = new ServerProcess(ProcessHandle.current().pid());
        List<Summary> summaries =
                leg(SampleSource.process(own, clock, OFTEN), 4).byLeg(List.of(leg()));
        assertThat(summaries).extracting(Summary::value).contains("cpu [cores]", "memory.resident [MiB]");
        assertThat(summaries).allSatisfy(of -> assertThat(of.max()).isGreaterThanOrEqualTo(of.mean()));
    }

    @Test
    void segment_tellsItsShare() throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(1_000L << 20).putLong(300L << 20).putLong(100L << 20);
        Files.write(Files.createDirectory(folder.resolve("shm")).resolve("mine"), bytes.array());
        List<Summary> summaries =
                leg(SampleSource.segments(folder.resolve("shm"), OFTEN), 3).byLeg(List.of(leg()));
        assertThat(summaries)
                .filteredOn(of -> of.value().equals("memory.share [%]"))
                .singleElement()
                .satisfies(of -> {
                    assertThat(of.mean()).isEqualTo(40.0);
                    assertThat(of.of()).isEqualTo("mine");
                });
    }

    /** Between two peaks an engine gives memory back, which the end of a leg has to show. */
    @Test
    void segmentsOfALeg_areSummedUpByTheirPeakAndWhatWasGivenBack() throws Exception {
        Deque<Integer> used = new ArrayDeque<>(List.of(300, 500, 200));
        CountDownLatch read = new CountDownLatch(used.size());
        SampleSource pool = SampleSource.polled(
                () -> {
                    int mebibytes = used.size() > 1 ? used.removeFirst() : used.getFirst();
                    read.countDown();
                    return List.of(new Sample(
                            "kvcached",
                            "pool",
                            0,
                            Map.of("memory.used [MiB]", (double) mebibytes, "memory.limit [MiB]", 1_000.0)));
                },
                OFTEN);
        BesideLeg looking = SegmentUse.begin(pool, Thread.ofPlatform().daemon().factory(), clock);
        read.await();
        assertThat(looking.ended())
                .containsEntry("kvcached_most_used_mib", "500.0")
                .containsEntry("kvcached_most_used_percent", "50.0")
                .containsEntry("kvcached_given_back_mib", "300.0");
        BesideLeg none = SegmentUse.begin(
                SampleSource.segments(folder.resolve("nowhere"), OFTEN),
                Thread.ofPlatform().daemon().factory(),
                clock);
        assertThat(none.ended()).isEmpty();
    }

    /** An engine that is gone, or a tool that is none, leaves no zeroes behind. */
    @Test
    void whatIsNotThere_isNoSample() throws IOException {
        LegSampler sampler = new LegSampler(
                folder.resolve("none"),
                () -> List.of(SampleSource.process(new ServerProcess(Integer.MAX_VALUE), clock, OFTEN)),
                clock,
                Thread.ofPlatform().daemon().factory());
        sampler.begins(LEG);
        sampler.ended(LEG);
        assertThat(Files.readString(folder.resolve("none"))).isEmpty();
        assertThat(SampleFile.read(folder.resolve("none")).byLeg(List.of(leg())))
                .isEmpty();
    }

    @Test
    void samples_fallIntoStepsByTime() throws IOException {
        LegRecord leg = leg();
        Step hold = leg.steps().stream()
                .filter(step -> step.kind() == Step.Kind.HOLD)
                .findFirst()
                .orElseThrow();
        double within = (hold.began() + 0.5 * (hold.ended() - hold.began())) / 1e6;
        Path file = Files.writeString(folder.resolve("samples"), """
            {"format":1,"life":1,"position":2,"atMillis":%s,"source":"process","of":"7","values":{"cpu [cores]":1.5}}
            {"format":1,"life":1,"position":2,"atMillis":1e9,"source":"process","of":"7","values":{"cpu [cores]":9}}
            {"format":1,"life":2,"position":2,"atMillis":%s,"source":"process","of":"7","values":{"cpu [cores]":7}}
            {"format":1,"life":1,"position":1,"atMillis":%s,"source":"process","of":"7","values":{"cpu [cores]":20}}
            """.formatted(within, within, within));
        List<Summary> steps = SampleFile.read(file).byStep(List.of(leg));
        assertThat(steps).singleElement().satisfies(of -> {
            assertThat(of.step()).contains(hold);
            assertThat(of.mean()).isEqualTo(1.5);
        });
        assertThat(SampleFile.read(file).byLeg(List.of(leg)))
                .singleElement()
                .satisfies(of -> assertThat(of.max()).isEqualTo(9.0));
    }

    @Test
    void badSamples_areOneSentence() throws IOException {
        Path none = folder.resolve("nosuch");
        assertThatThrownBy(() -> SampleFile.read(none))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("There are no samples at");
        Path torn = Files.writeString(folder.resolve("torn"), "{\"format\":1,\"li");
        assertThatThrownBy(() -> SampleFile.read(torn))
                .hasMessageContaining("Line 1 of")
                .hasMessageContaining("no JSON");
        Path other = Files.writeString(folder.resolve("other"), "{\"format\":9}\n");
        assertThatThrownBy(() -> SampleFile.read(other)).hasMessageContaining("is no sample of format 1");
    }

    @Test
    void legCommands_runAroundTheLegWithItsName() throws IOException {
        Path seen = folder.resolve("seen");
        Path log = folder.resolve("log");
        LegCommands commands = new LegCommands(
                Optional.of("echo before $HOLDFAST_LIFE $HOLDFAST_POSITION $HOLDFAST_ARM >> " + seen),
                Optional.of("echo \"after $HOLDFAST_LEG\" >> " + seen + "; echo said"),
                log,
                Duration.ofMinutes(1));
        String inside = commands.leg(LEG, () -> {
            try {
                return Files.readString(seen);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        assertThat(inside).isEqualTo("before 1 2 pinned\n");
        assertThat(Files.readAllLines(seen)).containsExactly("before 1 2 pinned", "after " + LEG.label());
        assertThat(Files.readString(log)).isEqualTo("said\n");
    }

    @Test
    void legCommandThatFails_endsTheRunWithASentence() {
        LegCommands commands =
                new LegCommands(Optional.of("exit 7"), Optional.empty(), folder.resolve("log"), Duration.ofMinutes(1));
        assertThatThrownBy(() -> commands.begins(LEG))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("The command of --before-leg ended with exit code 7 at life 1 BP");
    }
}
