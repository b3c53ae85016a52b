package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.run.Progress.LegFinished;
import io.holdfast.loadtest.run.Progress.LifeStarted;
import io.holdfast.loadtest.run.Progress.RunFinished;
import io.holdfast.loadtest.run.Progress.RunStarted;
import io.holdfast.loadtest.run.Progress.StepStarted;
import io.holdfast.loadtest.testing.Legs;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class TerminalProgressTest {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final AtomicLong nanos = new AtomicLong();

    @Test
    void elsewhereThanOnATerminal_eachLegIsALine() {
        tell(progress(false), 3);
        assertThat(text().lines())
                .containsExactly(
                        "12 pairs, 36 legs, about 1:05",
                        "life 1/12, leg 1, baseline: probe 10.0 ms, cached unknown, 1:02:03 left",
                        "INCONCLUSIVE(design)");
        assertThat(text()).doesNotContain("\r");
    }

    @Test
    void onATerminal_stepsAreWrittenOver() {
        tell(progress(true), 3);
        assertThat(text()).contains("\rlife 1/12, leg 1, baseline: flood 1");
        assertThat(text().lines().filter(line -> line.endsWith(" left"))).hasSize(1);
    }

    @Test
    void onATerminal_thereAreAtMostTenUpdatesASecond() {
        TerminalProgress progress = progress(true);
        for (int i = 0; i < 1_000; i++) {
            nanos.addAndGet(1_000_000);
            progress.on(new StepStarted(1, 1, Arm.BASELINE, Step.Kind.FLOOD, i));
        }
        assertThat(text().chars().filter(c -> c == '\r').count()).isBetween(1L, 10L);
    }

    @Test
    void shorterText_coversTheLongerOneBeforeIt() {
        TerminalProgress progress = progress(true);
        progress.on(new StepStarted(1, 1, Arm.BASELINE, Step.Kind.FLOOD, 1000));
        nanos.addAndGet(1_000_000_000);
        progress.on(new StepStarted(1, 1, Arm.PINNED, Step.Kind.HOLD, 0));
        List<String> writes = List.of(text().substring(1).split("\r"));
        assertThat(writes).hasSize(2);
        assertThat(writes.get(1).length()).isGreaterThanOrEqualTo(writes.get(0).length());
    }

    @Test
    void noLine_isLongerThanEightyColumns() {
        for (boolean terminal : new boolean[] {true, false}) {
            TerminalProgress progress = progress(terminal);
            progress.on(new LifeStarted(1_000_000_000, 1_000_000_000, PairOrder.AA, false));
            for (int i = 0; i < 5; i++) {
                nanos.addAndGet(1_000_000_000);
                progress.on(new StepStarted(1_000_000_000, 2, Arm.BASELINE, Step.Kind.CONNECT, Integer.MAX_VALUE));
            }
            progress.on(new LegFinished(
                    Legs.leg(1_000_000_000, PairOrder.AA, 1, 10, OptionalInt.empty()),
                    OptionalDouble.of(1e12),
                    OptionalDouble.of(1e12),
                    Duration.ofDays(100_000)));
        }
        assertThat(text().split("[\r\n]")).allMatch(line -> line.length() <= 80);
    }

    @Test
    void rehearsalAndBurnIn_areNamed() {
        TerminalProgress progress = progress(false);
        progress.on(new LifeStarted(0, 12, PairOrder.BP, false));
        progress.on(new LegFinished(
                Legs.leg(0, PairOrder.BP, 0, 10, OptionalInt.of(0)),
                OptionalDouble.empty(),
                OptionalDouble.of(0),
                Duration.ZERO));
        assertThat(text()).isEqualToIgnoringNewLines("rehearsal, burn-in, baseline: no probe, 0 cached, 0:00 left");
    }

    private void tell(TerminalProgress progress, int cycles) {
        progress.on(new RunStarted(Legs.header().plan(), 36, Optional.of(Duration.ofSeconds(65))));
        progress.on(new LifeStarted(1, 12, PairOrder.AA, false));
        for (int cycle = 1; cycle <= cycles; cycle++) {
            nanos.addAndGet(1_000_000_000);
            progress.on(new StepStarted(1, 1, Arm.BASELINE, Step.Kind.FLOOD, cycle));
        }
        progress.on(new LegFinished(
                Legs.leg(1, PairOrder.AA, 1, 10, OptionalInt.empty()),
                OptionalDouble.of(10),
                OptionalDouble.empty(),
                Duration.ofSeconds(3723)));
        progress.on(new RunFinished(Analysis.of(new Journal.Contents(Legs.header(), List.of(), List.of()))));
    }

    private TerminalProgress progress(boolean terminal) {
        return new TerminalProgress(new PrintStream(bytes, true, StandardCharsets.UTF_8), terminal, nanos::get);
    }

    private String text() {
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
