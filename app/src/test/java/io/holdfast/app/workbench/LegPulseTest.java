package io.holdfast.app.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.BesideLeg;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What is said while a leg lasts, by a clock that jumps. */
class LegPulseTest {
    @Test
    void legThatLasts_saysEachTenSecondsHowManyWereAnswered() throws InterruptedException {
        List<String> said = new CopyOnWriteArrayList<>();
        AtomicLong now = new AtomicLong();
        CountDownLatch over = new CountDownLatch(1);
        RunClock clock = new RunClock() {
            @Override
            public long nanos() {
                return now.get();
            }

            @Override
            public void sleepUntil(long deadlineNanos) {
                if (deadlineNanos > 30_000_000_000L) {
                    over.countDown();
                    throw new LoadTestException("The leg is over.");
                }
                now.set(deadlineNanos);
            }

            @Override
            public Instant now() {
                return Instant.EPOCH;
            }
        };
        BesideLeg pulse = LegPulse.begin(
                () -> 5 + now.get() / 1_000_000_000L,
                said::add,
                Thread.ofPlatform().daemon().factory(),
                clock);
        over.await();

        assertThat(pulse.ended()).isEmpty();
        assertThat(said)
                .containsExactly(
                        "  after 10 s: 10 answered.", "  after 20 s: 20 answered.", "  after 30 s: 30 answered.");
    }
}
