package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.look.Finding;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SharedMemoryTest {
    @TempDir
    private Path folder = Path.of("");

    private Path segment(String name) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(8L << 30).putLong(3L << 30).putLong(1L << 30);
        Path file = Files.write(folder.resolve(name), bytes.array());
        return Files.setLastModifiedTime(file, FileTime.from(Instant.parse("2026-01-01T00:00:00Z")));
    }

    @Test
    void mixedFolder_findsSegmentsWhateverTheirNames() throws IOException {
        Path living = segment("SGL-1-of-mine");
        segment("old_engine");
        Files.writeString(folder.resolve("kvcached_notes"), "twenty-four letters long");
        Files.writeString(folder.resolve("kvcached_engine"), "another size");
        List<Path> before = files();
        SharedMemory memory = new SharedMemory(folder);
        Files.setLastModifiedTime(living, FileTime.from(Instant.parse("2026-01-01T00:00:07Z")));
        List<Finding> findings = memory.segments(Map.of());
        assertThat(findings).extracting(Finding::status).containsExactly(Finding.Status.OK, Finding.Status.WARNING);
        assertThat(findings.getFirst().text())
                .contains("SGL-1-of-mine: limit 8,192 MiB, 3,072 MiB used, 1,024 MiB mapped");
        assertThat(findings.getLast().text()).contains("old_engine").contains("left behind");
        assertThat(findings.getLast().mend().orElse("")).contains("kvctl delete old_engine");
        assertThat(files()).as("nothing is made or removed").isEqualTo(before);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.sorted().toList();
        }
    }

    @Test
    void kvcachedEnabled_withoutSegmentIsAWarning() {
        SharedMemory memory = new SharedMemory(folder);
        Finding set = memory.segments(Map.of("ENABLE_KVCACHED", "true")).getFirst();
        assertThat(set.status()).isEqualTo(Finding.Status.WARNING);
        assertThat(set.text()).contains("nothing was patched");
        assertThat(set.mend()).contains("KVCACHED_AUTOPATCH=1 beside ENABLE_KVCACHED=true");
        Finding both = memory.segments(Map.of("ENABLE_KVCACHED", "true", "KVCACHED_AUTOPATCH", "1"))
                .getFirst();
        assertThat(both.mend()).contains("look into the server's log for the line of the patch");
        assertThat(memory.segments(Map.of("ENABLE_KVCACHED", "false"))
                        .getFirst()
                        .status())
                .isEqualTo(Finding.Status.NOTE);
    }

    @Test
    void mount_isThereOrMissing() {
        assertThat(new SharedMemory(folder).mount().text()).contains("GiB").contains(folder.toString());
        Finding none = new SharedMemory(folder.resolve("nosuch")).mount();
        assertThat(none.status()).isEqualTo(Finding.Status.MISSING);
        assertThat(none.mend().orElse("")).contains("--shm-size");
    }
}
