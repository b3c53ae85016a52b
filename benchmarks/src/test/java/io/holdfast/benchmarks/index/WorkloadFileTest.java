package io.holdfast.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every byte of a workload file is read as its format says, and a damaged one is refused with a sentence. */
class WorkloadFileTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void events_ofSeveralEngines_comeInOrderWithHashesOfTheirOwn() throws IOException {
        Path file = file(2, 3, bytes -> {
            event(bytes, WorkloadFile.STORE, 0, 2, 0);
            bytes.putLong(11).putLong(21).putLong(12).putLong(22);
            event(bytes, WorkloadFile.STORE, 1, 1, 22);
            bytes.putLong(13).putLong(22);
            event(bytes, WorkloadFile.REMOVE, 0, 1, 0);
            bytes.putLong(22);
        });

        try (WorkloadFile opened = WorkloadFile.open(file)) {
            Events events = Events.of(opened);
            assertThat(events.count()).isEqualTo(3);
            assertThat(events.kind(0)).isEqualTo(Events.ROOT_STORE);
            assertThat(events.kind(1)).isEqualTo(WorkloadFile.STORE);
            assertThat(events.kind(2)).isEqualTo(WorkloadFile.REMOVE);
            assertThat(events.engine(1)).isOne();
            assertThat(Arrays.copyOf(events.names(), 4)).containsExactly(21, 22, 22, 22);
            assertThat(events.from(1)).isEqualTo(2);
            assertThat(events.to(1)).isEqualTo(3);
            assertThat(events.hashes()[1])
                    .as("one engine's hash of a block")
                    .isEqualTo(events.hashes()[3])
                    .isNotEqualTo(events.hashes()[2])
                    .isNotEqualTo(22);
            assertThat(events.parent(1)).isEqualTo(events.hashes()[2]);
        }
    }

    @Test
    void events_ofOneEngine_haveTheNamesForHashes() throws IOException {
        Path file = file(1, 2, bytes -> {
            event(bytes, WorkloadFile.STORE, 0, 1, 7);
            bytes.putLong(11).putLong(21);
            event(bytes, WorkloadFile.CLEAR, 0, 0, 0);
        });

        try (WorkloadFile opened = WorkloadFile.open(file)) {
            Events events = Events.of(opened);
            assertThat(events.hashes()).isSameAs(events.names()).startsWith(21);
            assertThat(events.parent(0)).isEqualTo(7);
            assertThat(events.kind(1)).isEqualTo(WorkloadFile.CLEAR);
        }
    }

    @Test
    void fileCutAnywhere_isRefused() throws IOException {
        byte[] whole = Workloads.THREE_ENGINES_WITH_HOLES.bytes();
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < 300; i++) {
            byte[] cut = Arrays.copyOf(whole, random.nextInt(whole.length));
            assertThatExceptionOfType(BenchException.class)
                    .isThrownBy(() -> read(Files.write(folder.resolve("cut"), cut)));
        }
    }

    @Test
    void fileWithABitFlipped_isReadOrRefusedAndNothingElse() throws IOException {
        byte[] whole = Workloads.THREE_ENGINES_WITH_HOLES.bytes();
        SplittableRandom random = new SplittableRandom(4);
        int refused = 0;
        for (int i = 0; i < 300; i++) {
            byte[] flipped = whole.clone();
            int at = random.nextInt(i % 2 == 0 ? 96 : whole.length);
            flipped[at] = (byte) (flipped[at] ^ (1 << random.nextInt(8)));
            try {
                read(Files.write(folder.resolve("flipped"), flipped));
            } catch (BenchException e) {
                assertThat(e.getMessage()).contains("flipped").endsWith(".");
                refused++;
            }
        }
        assertThat(refused).isBetween(1, 299);
    }

    private static void read(Path file) {
        try (WorkloadFile opened = WorkloadFile.open(file)) {
            Events.of(opened);
            Queries.of(opened, Integer.MAX_VALUE);
        }
    }

    private Path file(int engines, int events, Consumer<ByteBuffer> content) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put("KVWL0001".getBytes(StandardCharsets.US_ASCII));
        bytes.putInt(engines)
                .putInt(0)
                .putLong(events)
                .putLong(3)
                .putLong(1)
                .putLong(0)
                .putLong(0)
                .putLong(0);
        content.accept(bytes);
        return Files.write(folder.resolve("made"), Arrays.copyOf(bytes.array(), bytes.position()));
    }

    private static void event(ByteBuffer bytes, int kind, int engine, int count, long parent) {
        bytes.put((byte) kind)
                .put((byte) 0)
                .putShort((short) engine)
                .putInt(count)
                .putLong(parent);
    }
}
