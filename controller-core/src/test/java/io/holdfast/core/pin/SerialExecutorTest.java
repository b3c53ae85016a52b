package io.holdfast.core.pin;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

final class SerialExecutorTest {
    private final Deque<Runnable> threads = new ArrayDeque<>();
    private final List<String> done = new ArrayList<>();
    private boolean closed;
    private final SerialExecutor serial = new SerialExecutor(task -> {
        if (closed) {
            throw new RejectedExecutionException("closed");
        }
        threads.add(task);
    });

    @Test
    void task_thatThrows_stopsNobody() {
        execute("first");
        serial.execute(
                () -> {
                    throw new IllegalStateException("bug");
                },
                () -> {});
        execute("third");
        runThreads();
        execute("fourth");
        runThreads();
        assertThat(done).containsExactly("first", "third", "fourth");
    }

    @Test
    void executor_closed_tellsEveryTask() {
        execute("first");
        runThreads();
        closed = true;
        execute("second");
        execute("third");
        assertThat(done).containsExactly("first", "second refused", "third refused");
    }

    private void execute(String name) {
        serial.execute(() -> done.add(name), () -> done.add(name + " refused"));
    }

    private void runThreads() {
        while (!threads.isEmpty()) {
            threads.remove().run();
        }
    }
}
