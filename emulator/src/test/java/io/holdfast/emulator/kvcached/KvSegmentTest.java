package io.holdfast.emulator.kvcached;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The bytes as kvcached's own code writes them, in real files, with another program at the same file. */
final class KvSegmentTest {
    /** Adds 1 to the limit so often as it is told, each time as kvctl does: lock, map, change, unlock; but slowly. */
    private static final String PEER = """
        import fcntl, mmap, struct, sys, time
        disturbed = 0
        path, times = sys.argv[1], int(sys.argv[2])
        for i in range(times):
            with open(path, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                numbers = mmap.mmap(file.fileno(), 24)
                total, used, prealloc = struct.unpack("<3q", numbers[:])
                time.sleep(0.0002)
                disturbed += struct.unpack("<3q", numbers[:]) != (total, used, prealloc)
                numbers[:] = struct.pack("<3q", total + 1, used, prealloc)
                numbers.close()
                fcntl.flock(file, fcntl.LOCK_UN)
        print(total + 1, disturbed)
        """;

    @TempDir
    private Path directory = Path.of("");

    @Test
    void newSegment_saysTheStartupLimitAndNothingUsed() throws IOException {
        // 40 GiB: 64 layers of keys and values, 320 MiB each.
        KvcachedSettings settings = settings(1280).withGeometry(1 << 18, 1 << 21, 64, 2);
        try (KvSegment segment = KvSegment.create(settings)) {
            assertThat(bytes(segment)).isEqualTo("000000000a00000000000000000000000000000000000000");
        }
    }

    @Test
    void publishing_rewritesWhatIsUsedAndKeepsTheLimit() throws IOException {
        try (KvSegment segment = KvSegment.create(settings(64))) {
            Files.write(segment.file(), HexFormat.of().parseHex("080706050403020100000000000000000000000000000000"));
            segment.publish(0x1112131415161718L, 0x2122232425262728L);
            assertThat(bytes(segment)).isEqualTo("080706050403020118171615141312112827262524232221");
            assertThat(segment.limit()).hasValue(0x0102030405060708L);
        }
    }

    @Test
    void newLife_overwritesWhatAnotherLeft() throws IOException {
        KvSegment killed = KvSegment.create(settings(768));
        killed.publish(1L << 24, 5L << 24);
        Files.write(killed.file(), HexFormat.of().parseHex("0000004000000000000000010000000000000005000000ff"));
        try (KvSegment next = KvSegment.create(settings(768))) {
            assertThat(next.file()).isEqualTo(killed.file());
            assertThat(bytes(next)).isEqualTo("000000600000000000000000000000000000000000000000");
        }
        assertThat(killed.file()).doesNotExist();
    }

    @Test
    void removedSegment_isMadeAgainWithoutALimit() throws IOException {
        try (KvSegment segment = KvSegment.create(settings(64))) {
            Files.delete(segment.file());
            assertThat(segment.limit()).isEmpty();
            segment.publish(1 << 24, 0);
            assertThat(bytes(segment)).isEqualTo("000000000000000000000001000000000000000000000000");
        }
    }

    @Test
    void shortFile_isNoLimit_andIsMadeWhole() throws IOException {
        try (KvSegment segment = KvSegment.create(settings(64))) {
            Files.write(segment.file(), new byte[] {7});
            assertThat(segment.limit()).isEmpty();
            segment.publish(1, 2);
            assertThat(bytes(segment)).isEqualTo("000000000000000001000000000000000200000000000000");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "VLLM, kvcached_vLLM_4711",
        "SGLANG, kvcached_SGLang_4711",
    })
    void nameWithoutOne_isEngineAndProcessGroup(EngineTag engine, String name) {
        assertThat(KvcachedSettings.of(engine, 64, 16).file(4711)).isEqualTo(Path.of("/dev/shm", name));
        assertThat(KvcachedSettings.of(engine, 64, 16).withIpcName("").file(4711))
                .isEqualTo(Path.of("/dev/shm", name));
    }

    @Test
    void processGroup_isOurs() throws IOException {
        String[] numbers = Files.readString(Path.of("/proc/self/stat")).split(" ", -1);
        KvcachedSettings unnamed = KvcachedSettings.of(EngineTag.SGLANG, 64, 16).withDirectory(directory);
        try (KvSegment segment = KvSegment.create(unnamed)) {
            assertThat(segment.file()).isEqualTo(directory.resolve("kvcached_SGLang_" + numbers[4]));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "VLLM, VLLM",
        "kvc_qwen3-0.6b, kvc_qwen3-0-6b",
        "meta-llama/Llama-3.2-1B, meta-llama-Llama-3-2-1B",
        "../etc/passwd, ---etc-passwd",
        "0123456789012345678901234567890123456789012345678901234567890123456789,"
                + " 0123456789012345678901234567890123456789012345678901234567890123"
    })
    void givenName_isWrittenAsKvcachedDoes(String name, String file) {
        assertThat(KvcachedSettings.of(EngineTag.VLLM, 64, 16).withIpcName(name).file(1))
                .isEqualTo(Path.of("/dev/shm", file));
    }

    @Test
    void absentDirectory_isOneSentence() {
        Path absent = directory.resolve("absent");
        assertThatThrownBy(() -> KvSegment.create(settings(64).withDirectory(absent)))
                .isInstanceOf(EmulatorException.class)
                .hasMessage("The memory segment " + absent + "/kvc_test cannot be used: there is no directory " + absent
                        + ".");
    }

    @Test
    void anotherProcess_losesNoLimitToOurWrites_andWeLoseNothingToIts() throws Exception {
        Path python = python();
        int times = 1_000;
        try (KvSegment segment = KvSegment.create(settings(768))) {
            Process peer = new ProcessBuilder(
                            python.toString(), "-c", PEER, segment.file().toString(), String.valueOf(times))
                    .redirectErrorStream(true)
                    .start();
            long written = 0;
            while (peer.isAlive() || written < times) {
                written++;
                segment.publish(written, 2 * written);
            }
            assertThat(new String(peer.getInputStream().readAllBytes(), UTF_8).strip())
                    .as("the limit, and how often a number changed under the lock")
                    .isEqualTo(1_610_612_736L + times + " 0");
            assertThat(segment.limit()).hasValue(1_610_612_736L + times);
            assertThat(bytes(segment)).endsWith(little(written) + little(2 * written));
        }
    }

    private KvcachedSettings settings(int blocks) {
        return KvcachedSettings.of(EngineTag.VLLM, blocks, 16)
                .withDirectory(directory)
                .withIpcName("kvc_test");
    }

    private static String bytes(KvSegment segment) throws IOException {
        return HexFormat.of().formatHex(Files.readAllBytes(segment.file()));
    }

    private static String little(long number) {
        return HexFormat.of().toHexDigits(Long.reverseBytes(number));
    }

    private static Path python() throws IOException, InterruptedException {
        for (String folder : System.getenv().getOrDefault("PATH", "").split(":", -1)) {
            Path candidate = Path.of(folder, "python3");
            if (Files.isExecutable(candidate)) {
                Process trial = new ProcessBuilder(candidate.toString(), "-c", "import fcntl, mmap").start();
                if (trial.waitFor(30, TimeUnit.SECONDS) && trial.exitValue() == 0) {
                    return candidate;
                }
            }
        }
        assumeTrue(false, "The other process is a python3, and none is on the PATH.");
        return Path.of("");
    }
}
