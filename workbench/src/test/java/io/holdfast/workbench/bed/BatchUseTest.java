package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.BesideLeg;
import io.holdfast.workbench.load.LoadLeg;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What a server says that it runs together, asked each second of a clock that jumps. */
class BatchUseTest {
    private static final String SGLANG = """
        # TYPE sglang:num_running_reqs gauge
        sglang:num_running_reqs{dp_rank="0",model_name="m"} %d.0
        sglang:num_running_reqs{dp_rank="1",model_name="m"} 2.0
        sglang:num_running_reqs_offline_batch{dp_rank="0"} 90.0
        """;

    @Test
    void batches_areTheSumOverRanksByTheSecond() throws InterruptedException {
        assertThat(said(List.of(SGLANG.formatted(1), SGLANG.formatted(6), SGLANG.formatted(0))))
                .isEqualTo(Map.of(LoadLeg.BATCHES, "0:3 1:8 2:2"));
        assertThat(said(List.of("vllm:num_requests_running{engine=\"0\"} 4\n")))
                .isEqualTo(Map.of(LoadLeg.BATCHES, "0:4"));
    }

    @Test
    void serverThatTellsNone_isNotNoted() throws InterruptedException {
        assertThat(said(List.of("", "up 1\n"))).isEmpty();
    }

    private static Map<String, String> said(List<String> pages) throws InterruptedException {
        Deque<String> left = new ArrayDeque<>(pages);
        CountDownLatch read = new CountDownLatch(1);
        AtomicLong now = new AtomicLong();
        RunClock clock = new RunClock() {
            @Override
            public long nanos() {
                return now.get();
            }

            @Override
            public void sleepUntil(long deadlineNanos) {
                if (left.isEmpty()) {
                    read.countDown();
                    throw new LoadTestException("The leg is over.");
                }
                now.set(deadlineNanos);
            }

            @Override
            public Instant now() {
                return Instant.EPOCH;
            }
        };
        BesideLeg beside =
                BatchUse.begin(left::remove, Thread.ofPlatform().daemon().factory(), clock);
        read.await();
        return beside.ended();
    }
}
