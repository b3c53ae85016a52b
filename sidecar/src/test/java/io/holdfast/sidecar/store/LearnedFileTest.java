package io.holdfast.sidecar.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.Learned;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.sidecar.LearnedSamples;
import io.holdfast.sidecar.WatchedDisk;
import io.holdfast.sidecar.store.LearnedFile.Found;
import io.holdfast.sidecar.store.LearnedFile.Snapshot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file is read whole or not at all, whatever happened to it. */
class LearnedFileTest {
    private static final EngineIdentity ENGINE =
            new EngineIdentity("http://a:1", "http://10.0.0.1:1", Optional.of("m"));
    private static final Snapshot SNAPSHOT = new Snapshot(
            ENGINE, Instant.ofEpochMilli(1_000), Instant.ofEpochMilli(1_790_000_000_123L), LearnedSamples.most(1));

    @TempDir
    Path directory;

    private final WatchedDisk disk = new WatchedDisk();

    private LearnedFile file() {
        return new LearnedFile(directory, "demo", disk);
    }

    private Path path() {
        return directory.resolve("demo.learned");
    }

    private Path aside() {
        return directory.resolve("demo.learned.aside");
    }

    @Test
    void whatIsWritten_isRead_andForItsOwnerAlone() throws IOException {
        assertThat(file().read(ENGINE)).isEqualTo(new Found.Nothing());
        file().write(SNAPSHOT);
        assertThat(((Found.Whole) file().read(ENGINE)).snapshot())
                .usingRecursiveComparison()
                .isEqualTo(SNAPSHOT);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path())))
                .isEqualTo("rw-------");
    }

    /** With as much as can be known, in numbers as long as they can be. */
    @Test
    void file_isNeverLargerThanIsSaid() throws IOException {
        for (long seed = 1; seed <= 5; seed++) {
            file().write(new Snapshot(ENGINE, Instant.EPOCH, Instant.EPOCH, LearnedSamples.most(seed)));
            assertThat(Files.size(path())).isLessThan(LearnedFile.MOST_BYTES);
        }
    }

    @Test
    void newContent_isOnTheDisk_beforeItHasTheName() throws IOException {
        file().write(SNAPSHOT);
        disk.calls().clear();
        List<String> seenWhenForced = new ArrayList<>();
        byte[] old = Files.readAllBytes(path());
        disk.trouble(call -> {
            if (call.startsWith("force ")) {
                seenWhenForced.add(call + (Arrays.equals(old, Files.readAllBytes(path())) ? " old" : " new"));
            }
        });
        file().write(new Snapshot(ENGINE, Instant.EPOCH, Instant.EPOCH, LearnedSamples.most(2)));
        assertThat(seenWhenForced)
                .containsExactly("force demo.learned.next old", "force " + directory.getFileName() + " new");
    }

    @Test
    void diskThatTakesNothing_leavesWhatWasThere_andNoHalf() throws IOException {
        file().write(SNAPSHOT);
        byte[] before = Files.readAllBytes(path());
        for (String failing : List.of("write demo.learned.next", "force demo.learned.next", "open to write ")) {
            disk.trouble(WatchedDisk.failing(call -> call.startsWith(failing)));
            assertThatThrownBy(() ->
                            file().write(new Snapshot(ENGINE, Instant.EPOCH, Instant.EPOCH, LearnedSamples.most(2))))
                    .isInstanceOf(IOException.class);
            disk.trouble(call -> {});
            assertThat(Files.readAllBytes(path())).as(failing).isEqualTo(before);
            assertThat(directory.resolve("demo.learned.next")).doesNotExist();
        }
    }

    @Test
    void fileCutAnywhere_isLeftAside() throws IOException {
        file().write(SNAPSHOT);
        byte[] whole = Files.readAllBytes(path());
        SplittableRandom random = new SplittableRandom(3);
        List<Integer> lengths = new ArrayList<>(List.of(0, 1, 60, 61, whole.length - 1));
        random.ints(60, 0, whole.length).forEach(lengths::add);
        for (int length : lengths) {
            Files.write(path(), Arrays.copyOf(whole, length));
            assertAside("cut to " + length);
        }
        Files.write(path(), Arrays.copyOf(whole, whole.length + 1));
        assertAside("longer than it says");
    }

    @Test
    void bitThatFlips_anywhere_isNeverRead() throws IOException {
        file().write(SNAPSHOT);
        byte[] whole = Files.readAllBytes(path());
        SplittableRandom random = new SplittableRandom(4);
        for (int i = 0; i < 300; i++) {
            byte[] damaged = whole.clone();
            int at = i < 60 ? i : random.nextInt(whole.length);
            damaged[at] ^= (byte) (1 << random.nextInt(8));
            Files.write(path(), damaged);
            assertAside("a bit of byte " + at);
        }
    }

    private void assertAside(String what) throws IOException {
        Files.deleteIfExists(aside());
        byte[] content = Files.readAllBytes(path());
        assertThat(file().read(ENGINE))
                .as(what)
                .isInstanceOfSatisfying(
                        Found.Aside.class,
                        found -> assertThat(found.why())
                                .startsWith("what an earlier process learned (" + path() + ") ")
                                .endsWith(": it is left aside in " + aside() + ", and learning begins anew")
                                .doesNotContain("\n"));
        assertThat(path()).doesNotExist();
        assertThat(Files.readAllBytes(aside())).as(what).isEqualTo(content);
    }

    @Test
    void anotherVersion_isNamed_andLeftAside() throws IOException {
        Files.writeString(path(), "holdfast learned 1.99 of a form that is not known yet\n{}");
        assertThat(((Found.Aside) file().read(ENGINE)).why())
                .contains(") is of version 1.99, and this one reads 1." + Learned.VERSION + ": it is left aside");
    }

    @Test
    void anotherEngineOrModel_isNamed_andLeftAside() throws IOException {
        for (EngineIdentity other : List.of(
                new EngineIdentity("http://b:1", "http://10.0.0.2:1", Optional.of("m")),
                new EngineIdentity("http://a:1", "http://10.0.0.1:1", Optional.of("n")))) {
            file().write(SNAPSHOT);
            assertThat(((Found.Aside) file().read(other)).why())
                    .contains(") is of the engine at " + ENGINE.shown() + ", and this one is at " + other.shown()
                            + ": it is left aside");
        }
    }

    /** As somebody would make it who mends the checksum, too. */
    @Test
    void numbersThatCannotBe_areNotRead() throws IOException {
        file().write(SNAPSHOT);
        String text = Files.readString(path());
        String json = text.substring(text.indexOf('\n') + 1);
        for (String[] change : new String[][] {
            {"\"blockTokens\":16", "\"blockTokens\":0"},
            {"\"blockTokens\":16", "\"blockTokens\":null"},
            {"\"blockTokens\":16,", ""},
            {"\"blockTokens\":16", "\"blockTokens\":16,\"more\":1"},
            {"\"largest\":[", "\"largest\":[-1,"},
            {"\"used\":[", "\"used\":[1,"},
            {"\"used\":[", "\"used\":[\"NaN\","},
            {"\"prefixes\":[", "\"prefixes\":[null,"},
            {"\"gaps\":[", "\"gaps\":null,\"gapz\":["},
        }) {
            String changed = json.replaceFirst(Pattern.quote(change[0]), change[1]);
            assertThat(changed).isNotEqualTo(json);
            byte[] bytes = changed.getBytes(StandardCharsets.UTF_8);
            CRC32C sum = new CRC32C();
            sum.update(bytes);
            Files.writeString(
                    path(),
                    "holdfast learned 1.%d crc32c %08x bytes %d\n%s"
                            .formatted(Learned.VERSION, sum.getValue(), bytes.length, changed));
            assertThat(((Found.Aside) file().read(ENGINE)).why())
                    .as(change[1])
                    .contains(") has numbers that cannot be: it is left aside");
        }
    }

    @Test
    void hugeFile_isNotReadAtAll() throws IOException {
        Files.write(path(), new byte[(int) LearnedFile.MOST_BYTES + 1]);
        assertThat(((Found.Aside) file().read(ENGINE)).why()).contains("has more than 1048576 bytes, which none has");
    }

    @Test
    void whatCannotBeMovedAside_isSaid_andLearningBeginsAnew() throws IOException {
        Files.writeString(path(), "something else");
        disk.trouble(WatchedDisk.failing(call -> call.equals("force " + directory.getFileName())));
        Files.createDirectories(aside().resolve("taken"));
        assertThat(((Found.Aside) file().read(ENGINE)).why())
                .contains("was not written by Holdfast: learning begins anew, and the file, which could not be moved");
    }
}
