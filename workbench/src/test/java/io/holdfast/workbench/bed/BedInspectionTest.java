package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.look.Finding;
import io.holdfast.loadtest.client.Calibration;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is found is told, and by its gravity; the machine's own part is the machine's that this runs on. */
class BedInspectionTest {
    private static final int PROMPT = 96;

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, PROMPT);

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        engine.close();
        vertx.close().await();
    }

    /** One of the subject, when requests are answered like this. */
    private Finding answering(StubEngine.Script script, String subject) {
        engine.answers = body -> script;
        RunClock clock = RunClock.system();
        try (HttpEngine asked =
                new HttpEngine(vertx, new ExistingServer(engine.uri()), HttpSettings.defaults(), clock)) {
            return only(
                    inspection(4)
                            .inspect(
                                    Optional.of(asked),
                                    Map.of(),
                                    streams -> level(streams, 10, 100),
                                    clock::nanos,
                                    new SplittableRandom(1)),
                    subject);
        }
    }

    private BedInspection inspection(int streams) {
        return new BedInspection(
                new BedInspection.Wanted(engine.uri(), streams, folder, false), new MachineTools(folder.toString()));
    }

    /** A client that takes so much of its loop for a token, at 1,000 tokens a second, and stamps the first so late. */
    private static Calibration.Level level(int streams, double loopMicros, double lateMicros) {
        return new Calibration.Level(
                streams,
                List.of(),
                1_000,
                1,
                loopMicros,
                loopMicros,
                0,
                Optional.of(new Calibration.Misreading(lateMicros / 2, lateMicros)),
                Optional.empty());
    }

    private static Finding only(BedInspection.Found found, String subject) {
        return found.findings().stream()
                .filter(finding -> finding.subject().equals(subject))
                .findFirst()
                .orElseThrow(() -> new AssertionError(subject + " is not among " + found.findings()));
    }

    @Test
    void cachedTokens_areProvenByAPromptThatComesAgain() {
        Finding told = answering(StubEngine.stream(PROMPT, 2, OptionalInt.of(64)), "cached tokens");
        assertThat(told.status()).isEqualTo(Finding.Status.OK);
        assertThat(told.text()).startsWith("reported: 64 of 96");
        Finding nothing = answering(StubEngine.stream(PROMPT, 2, OptionalInt.of(0)), "cached tokens");
        assertThat(nothing.status()).isEqualTo(Finding.Status.WARNING);
        assertThat(nothing.text()).contains("sent twice found nothing cached");
        Finding silent = answering(StubEngine.stream(PROMPT, 2, OptionalInt.empty()), "cached tokens");
        assertThat(silent.status()).isEqualTo(Finding.Status.WARNING);
        assertThat(silent.text()).contains("do not say how many tokens were cached");
    }

    @Test
    void requestThatIsNotAnswered_isMissing() {
        Finding failed = answering(StubEngine.status(503, "busy"), "request");
        assertThat(failed.status()).isEqualTo(Finding.Status.MISSING);
        assertThat(failed.text()).contains("503");
    }

    @Test
    void clientThatIsTooSlow_isWarnedOf() {
        assertThat(client(10, 100).status()).isEqualTo(Finding.Status.OK);
        assertThat(client(700, 100).status()).as("70 % of its core").isEqualTo(Finding.Status.WARNING);
        Finding late = client(10, 6_000);
        assertThat(late.status()).isEqualTo(Finding.Status.WARNING);
        assertThat(late.text()).contains("stamps of first tokens are 6.0 ms late (p99)");
    }

    private Finding client(double loopMicros, double lateMicros) {
        return only(alone(4, loopMicros, lateMicros), "client");
    }

    private BedInspection.Found alone(int streams, double loopMicros, double lateMicros) {
        return inspection(streams)
                .inspect(
                        Optional.empty(),
                        Map.of(),
                        any -> level(any, loopMicros, lateMicros),
                        System::nanoTime,
                        new SplittableRandom(1));
    }

    @Test
    void moreStreamsThanFilesMayBeOpen_areMissing() {
        Finding few = only(alone(Integer.MAX_VALUE / 4, 10, 100), "open files");
        assertThat(few.status()).isEqualTo(Finding.Status.MISSING);
        assertThat(few.mend().orElse("")).startsWith("ulimit -n ");
    }

    @Test
    void serverThatWaitsForEachKernel_isWarnedOf() {
        assertThat(BedInspection.variables(Map.of("CUDA_LAUNCH_BLOCKING", "1")).orElseThrow())
                .satisfies(finding -> {
                    assertThat(finding.status()).isEqualTo(Finding.Status.WARNING);
                    assertThat(finding.text()).contains("wait for each kernel");
                });
        assertThat(BedInspection.variables(Map.of("CUDA_LAUNCH_BLOCKING", "0"))).isEmpty();
        assertThat(BedInspection.variables(Map.of())).isEmpty();
    }
}
