package io.holdfast.core.pin;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class LedgerWriterTest {
    private static final long BUG = 66;

    private final Deque<Runnable> threads = new ArrayDeque<>();
    private final List<String> done = new ArrayList<>();
    private boolean closed;
    private Ledger.Writer writer;

    @BeforeEach
    void open() throws IOException {
        Ledger ledger = new Ledger(new LedgerStore() {
            @Override
            public List<LedgerLine> read() {
                return List.of();
            }

            @Override
            public void append(LedgerLine line) {
                if (line instanceof Entry entry && entry.lastBlock() == BUG) {
                    throw new AssertionError("bug");
                }
            }

            @Override
            public void replaceWith(List<LedgerLine> kept) {}
        });
        writer = ledger.writer(
                task -> {
                    if (closed) {
                        throw new RejectedExecutionException("closed");
                    }
                    threads.add(task);
                },
                Runnable::run);
    }

    @Test
    void task_thatThrows_stopsNobody() {
        write(1);
        write(BUG);
        write(3);
        runThreads();
        write(4);
        runThreads();
        assertThat(done).containsExactly("1", "3", "4");
    }

    @Test
    void executor_closed_tellsEveryTask() {
        write(1);
        runThreads();
        closed = true;
        write(2);
        write(3);
        assertThat(done).containsExactly("1", "2 refused", "3 refused");
    }

    private void write(long block) {
        writer.write(
                Optional.empty(),
                new Entry(Step.PINNING, block, HoldOrigin.REQUESTED, "test", Long.toString(block), block, 1, ""),
                unwritten -> done.add(unwritten.orElse(Long.toString(block))),
                why -> done.add(block + " refused"));
    }

    private void runThreads() {
        while (!threads.isEmpty()) {
            threads.remove().run();
        }
    }
}
