package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.store.LimitFile;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A state directory that an earlier release left when it was killed, and files of a later one. */
class UpgradeTest {
    /*
     * deploy/release/state wrote each folder, by that release's own processes: a pin of PinnedEngine.PREFIX, the hold that
     * wants it, and what four requests over one shared prompt taught. Here the engine has another port, so its address is
     * replaced, and the checksum of what was learned with it. The hold's lease would be over, so the sidecar's wall clock
     * goes on from the day on which the files were written.
     */
    private static final Path RELEASES = Path.of("src/test/resources/io/holdfast/sidecar/state");
    private static final Pattern ADDRESS = Pattern.compile("http://localhost:[0-9]+");
    private static final Pattern UNTIL = Pattern.compile("\"untilMillis\":([0-9]+)");
    private static final long LEASE_SECONDS = 3_600;
    private static final Pattern HOLD = Pattern.compile("\"hold\":([0-9]+)");
    private static final int SHARED_BLOCKS = 20;

    @TempDir
    Path state;

    static List<String> releases() throws IOException {
        try (Stream<Path> folders = Files.list(RELEASES)) {
            return folders.map(folder -> folder.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    @ParameterizedTest
    @MethodSource("releases")
    void stateOfAnEarlierRelease_isGoneOnFrom(String release) throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.engine.generate(PinnedEngine.PREFIX);
            bed.engine.pin(PinnedEngine.PREFIX);
            assertThat(bed.engine.usedTokens()).as("the engine lived on").isEqualTo(512);
            Instant written = copy(release, bed.gate.uri());
            assertThat(bed.outstanding()).as("the ledger").hasSize(1);
            String holds = Files.readString(state.resolve("demo.holds"));

            try (Sidecar sidecar = bed.sidecar("", clockFrom(written));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                client.meet(bed.engine);
                bed.engine.generate(PinnedEngine.PREFIX);
                JsonObject hold = client.holdIn(first(HOLD, holds), "held");
                assertThat(hold.getDouble("leaseSeconds")).isBetween(1.0, LEASE_SECONDS - 60.0);
                bed.usedBecomes(512);

                JsonObject learned = client.engine().getJsonObject("learned");
                assertThat(learned.containsKey("notTakenUp"))
                        .as(learned.encode())
                        .isFalse();
                assertThat(Instant.parse(learned.getString("since"))).isBefore(written);
                assertThat(sharedRequests(client)).isGreaterThanOrEqualTo(4);

                assertThat(client.release(hold.getString("id")).status()).isEqualTo(200);
                bed.usedBecomes(0);
            }
            assertThat(state.resolve("demo.learned.aside")).doesNotExist();
            assertThat(bed.outstanding()).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "demo.ledger | \"ledger\":2 | \"ledger\":3 | was written by a newer Holdfast (version 3, known here up"
                        + " to 2);",
                "demo.holds  | \"holds\":2  | \"holds\":3  | were written by another version of Holdfast (3);",
            })
    void formOfALaterRelease_isRefusedInOneSentence_andNothingIsChanged(
            String file, String ours, String later, String why) throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            Instant written = copy(releases().getLast(), bed.gate.uri());
            Path changed = state.resolve(file);
            String text = Files.readString(changed);
            assertThat(text).contains(ours);
            Files.writeString(changed, text.replace(ours, later));
            Map<String, String> before = contents();

            assertThatThrownBy(() -> bed.sidecar("", clockFrom(written)).close())
                    .isInstanceOf(SidecarException.class)
                    .hasMessageContaining(changed.toString())
                    .hasMessageContaining(why)
                    .hasMessageMatching("[^\n]+\\.");
            assertThat(contents()).containsAllEntriesOf(before);
        }
    }

    @Test
    void limitOfALaterRelease_isRefusedInOneSentence() throws IOException {
        Path file = Files.writeString(state.resolve("demo.limit"), "holdfast limit 2\nsomething: new\n");
        assertThatThrownBy(() -> new LimitFile(state, "demo", LedgerFiles.SYSTEM).read())
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("The ledger of limits " + file
                        + " was written by a newer Holdfast (version 2, known here up to 1)")
                .hasMessageMatching("[^\n]+\\.");
    }

    private static Seams clockFrom(Instant then) {
        return Seams.none()
                .withWall(InstantSource.offset(InstantSource.system(), Duration.between(Instant.now(), then)));
    }

    /** Copies a release's files, for the engine at this address; returns when they were written. */
    private Instant copy(String release, URI engine) throws IOException {
        Map<String, String> texts = new HashMap<>();
        try (Stream<Path> files = Files.list(RELEASES.resolve(release))) {
            for (Path file : files.toList()) {
                String text =
                        ADDRESS.matcher(Files.readString(file)).replaceAll("http://localhost:" + engine.getPort());
                String name = file.getFileName().toString();
                texts.put(name, name.endsWith(".learned") ? checked(text) : text);
            }
        }
        assertThat(texts).containsOnlyKeys("demo.ledger", "demo.holds", "demo.learned");
        Instant written = Instant.ofEpochMilli(Long.parseLong(first(UNTIL, texts.get("demo.holds"))))
                .minusSeconds(LEASE_SECONDS - 60);
        for (Map.Entry<String, String> each : texts.entrySet()) {
            Path file = Files.writeString(state.resolve(each.getKey()), each.getValue());
            Files.setLastModifiedTime(file, FileTime.from(written));
        }
        return written;
    }

    /** With the checksum and length of what follows the first line. */
    private static String checked(String text) {
        int end = text.indexOf('\n');
        byte[] json = text.substring(end + 1).getBytes(StandardCharsets.UTF_8);
        CRC32C sum = new CRC32C();
        sum.update(json);
        return text.substring(0, end)
                        .replaceFirst("crc32c [0-9a-f]+", String.format(Locale.ROOT, "crc32c %08x", sum.getValue()))
                        .replaceFirst("bytes [0-9]+", "bytes " + json.length)
                + text.substring(end);
    }

    private static long sharedRequests(SidecarClient client) {
        JsonArray prefixes =
                client.http.get("/api/v1/engines/demo/prefixes").json().getJsonArray("prefixes");
        return prefixes.stream()
                .map(JsonObject.class::cast)
                .filter(prefix -> prefix.getInteger("blocks") == SHARED_BLOCKS)
                .mapToLong(prefix -> prefix.getLong("requests"))
                .sum();
    }

    private Map<String, String> contents() throws IOException {
        Map<String, String> contents = new TreeMap<>();
        try (Stream<Path> files = Files.list(state)) {
            for (Path file : files.toList()) {
                contents.put(file.getFileName().toString(), Files.readString(file, StandardCharsets.ISO_8859_1));
            }
        }
        return contents;
    }

    private static String first(Pattern pattern, String text) {
        Matcher found = pattern.matcher(text);
        assertThat(found.find()).as(pattern.pattern()).isTrue();
        return found.group(1);
    }
}
