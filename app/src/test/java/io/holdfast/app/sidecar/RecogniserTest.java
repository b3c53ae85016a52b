package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** An engine that takes its time to say what it is keeps nobody waiting. */
class RecogniserTest {
    private static final Duration MOMENT = Duration.ofMillis(1);
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final ThreadFactory THREADS = Thread.ofVirtual().factory();

    @Test
    void questionWithoutAnEnd_keepsNobodyWaiting_andItsAnswerCountsLater() throws InterruptedException {
        CountDownLatch answers = new CountDownLatch(1);
        Recogniser recogniser = Recogniser.asking(
                () -> {
                    await(answers);
                    return Optional.of("vllm");
                },
                MOMENT,
                THREADS);

        assertThat(recogniser.within(MOMENT)).isEmpty();
        assertThat(recogniser.family()).isEmpty();

        answers.countDown();
        assertThat(recogniser.within(LONG)).contains("vllm");
        assertThat(recogniser.family()).contains("vllm");
    }

    @Test
    void engineThatDoesNotAnswer_isAskedAgainUntilItDoes() throws InterruptedException {
        AtomicInteger asked = new AtomicInteger();
        Recogniser recogniser = Recogniser.asking(
                () -> asked.incrementAndGet() < 3 ? Optional.empty() : Optional.of("sglang"), MOMENT, THREADS);

        assertThat(recogniser.within(LONG)).contains("sglang");
        assertThat(asked).hasValue(3);
    }

    @Test
    void familyThatIsNamed_isNotAskedFor() {
        assertThat(Recogniser.of("vllm").family()).contains("vllm");
        assertThat(Recogniser.none().family()).isEmpty();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
