package io.holdfast.sidecar.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.core.hold.ClaimView;
import io.holdfast.core.hold.Lease;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.sidecar.config.PrefixSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HoldFileTest {
    private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");
    private static final ArrayNode MESSAGES = JsonNodeFactory.instance
            .arrayNode()
            .add(JsonNodeFactory.instance.objectNode().put("role", "system").put("content", "Be brief."));

    @TempDir
    Path directory;

    private HoldFile open() throws IOException {
        return HoldFile.open(directory, "demo", LedgerFiles.SYSTEM, NOW, Duration.ZERO);
    }

    private Path file() {
        return directory.resolve("demo.holds");
    }

    private static KeptHold hold(long id, PrefixSource asked) {
        return new KeptHold(
                id,
                "",
                "",
                List.of(KeptClaim.until(NOW.plusSeconds(id))),
                Optional.of("m"),
                new long[] {7, -8},
                Optional.empty(),
                asked);
    }

    @Test
    void keptHolds_areThereWithAllTheySaid_afterTheNextOpening() throws IOException {
        KeptHold named = new KeptHold(
                5,
                "rules",
                "abc",
                List.of(KeptClaim.until(NOW.plusSeconds(60))),
                Optional.empty(),
                new long[] {Long.MIN_VALUE},
                Optional.of(new int[] {1, -1}),
                new PrefixSource.Messages(MESSAGES, Optional.of(MESSAGES)));
        try (HoldFile file = open()) {
            file.keep(hold(3, new PrefixSource.Text("Be\nbrief.")));
            file.keep(hold(4, new PrefixSource.Hashes(new long[] {7, -8})));
            file.keep(named);
            file.end(4);
        }
        try (HoldFile again = open()) {
            List<KeptHold> kept = again.kept();
            assertThat(kept).extracting(KeptHold::id).containsExactly(3L, 5L);
            assertThat(kept.getFirst().asked()).isEqualTo(new PrefixSource.Text("Be\nbrief."));
            assertThat(kept.getFirst().until()).isEqualTo(NOW.plusSeconds(3));
            assertThat(kept.getFirst().blocks()).containsExactly(7, -8);
            assertThat(kept.getFirst().model()).contains("m");
            assertThat(kept.getLast().name()).isEqualTo("rules");
            assertThat(kept.getLast().declaration()).isEqualTo("abc");
            assertThat(kept.getLast().tokens().orElseThrow()).containsExactly(1, -1);
            assertThat(kept.getLast().asked()).isEqualTo(named.asked());
        }
    }

    @Test
    void claims_areThereAsTheyWereLast() throws IOException {
        KeptClaim first = new KeptClaim(
                "router-a",
                new Lease(Duration.ofMinutes(5), true, Duration.ofHours(1)),
                7,
                true,
                NOW.plusSeconds(300),
                NOW.plusSeconds(3600));
        KeptClaim second = new KeptClaim(
                "router-b",
                Lease.absolute(Duration.ofMinutes(9)),
                1,
                false,
                NOW.plusSeconds(540),
                NOW.plusSeconds(540));
        try (HoldFile file = open()) {
            file.keep(hold(1, new PrefixSource.Text("a")).claimedBy(List.of(first)));
            file.keep(hold(2, new PrefixSource.Text("b")));
            file.claimed(Map.of(1L, List.of(first, second), 7L, List.of(first)));
        }
        for (int opening = 0; opening < 2; opening++) {
            try (HoldFile again = open()) {
                assertThat(again.kept()).extracting(KeptHold::id).containsExactly(1L, 2L);
                assertThat(again.kept().getFirst().claims()).containsExactly(first, second);
                assertThat(again.kept().getFirst().until()).isEqualTo(NOW.plusSeconds(540));
            }
        }
    }

    @Test
    void fileOfTheFirstVersion_isRead_andWrittenAsThisOne() throws IOException {
        Files.writeString(
                file(),
                "{\"holds\":1}\n{\"hold\":3,\"untilMillis\":"
                        + NOW.plusSeconds(60).toEpochMilli()
                        + ",\"model\":\"m\",\"blocks\":[7,-8],\"text\":\"Be brief.\"}\n");
        try (HoldFile file = open()) {
            assertThat(file.kept()).singleElement().satisfies(hold -> {
                assertThat(hold.claims()).containsExactly(KeptClaim.until(NOW.plusSeconds(60)));
                assertThat(hold.asked()).isEqualTo(new PrefixSource.Text("Be brief."));
            });
        }
        assertThat(Files.readString(file())).startsWith("{\"holds\":2}\n");
    }

    @Test
    void timeThatNoLeaseReaches_isCutToTheLongest() throws IOException {
        String line =
                "{\"hold\":%d,\"claims\":[{\"leaseMillis\":1000,\"atMostMillis\":2000,\"refreshOnHit\":true,\"weight\":1,\"untilMillis\":%d,\"lastMillis\":%d}],\"blocks\":[7]}\n";
        long soon = NOW.plusSeconds(60).toEpochMilli();
        Files.writeString(
                file(),
                "{\"holds\":2}\n"
                        + line.formatted(1, Long.MAX_VALUE, Long.MAX_VALUE)
                        + line.formatted(2, soon, Long.MAX_VALUE)
                        + line.formatted(3, soon, Long.MIN_VALUE)
                        + line.formatted(4, Long.MIN_VALUE, Long.MAX_VALUE));
        try (HoldFile file = open()) {
            assertThat(file.kept()).extracting(KeptHold::id).containsExactly(1L, 2L, 3L);
            assertThat(file.kept().getFirst().until()).isEqualTo(NOW.plus(Lease.LONGEST));
            for (KeptHold hold : file.kept()) {
                ClaimView left = hold.claims().getFirst().left(NOW);
                assertThat(left.left()).isBetween(Duration.ofSeconds(60), Lease.LONGEST);
                assertThat(left.leftAtMost()).isBetween(left.left(), Lease.LONGEST.multipliedBy(2));
                assertThat(hold.claims().getFirst().isAbout(hold.claims().getFirst()))
                        .isTrue();
            }
        }
    }

    @Test
    void whatIsOver_isNotKept() throws IOException {
        try (HoldFile file = open()) {
            file.keep(hold(1, new PrefixSource.Text("a")));
            file.keep(hold(9, new PrefixSource.Text("b")));
        }
        try (HoldFile later = HoldFile.open(directory, "demo", LedgerFiles.SYSTEM, NOW.plusSeconds(5), Duration.ZERO)) {
            assertThat(later.kept()).extracting(KeptHold::id).containsExactly(9L);
        }
        assertThat(Files.readString(file())).doesNotContain("\"a\"");
    }

    @Test
    void file_isForItsOwnerAlone() throws IOException {
        try (HoldFile file = open()) {
            file.keep(hold(1, new PrefixSource.Text("a")));
        }
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
                .isEqualTo("rw-------");
    }

    @Test
    void tornLine_isCutOff_andWholeOnesStay() throws IOException {
        try (HoldFile file = open()) {
            file.keep(hold(1, new PrefixSource.Text("a")));
            file.keep(hold(2, new PrefixSource.Text("b")));
        }
        String whole = Files.readString(file());
        for (int cut = whole.lastIndexOf("{\"hold\":2") + 1; cut < whole.length() - 1; cut += 7) {
            Files.writeString(file(), whole.substring(0, cut));
            try (HoldFile again = open()) {
                assertThat(again.kept()).extracting(KeptHold::id).containsExactly(1L);
                again.keep(hold(3, new PrefixSource.Text("c")));
            }
            try (HoldFile again = open()) {
                assertThat(again.kept()).extracting(KeptHold::id).containsExactly(1L, 3L);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"holds\":3}\n",
                "{\"step\":\"PINNED\"}\n",
                "# notes\n",
                "{\"holds\":1}\nnonsense\n{\"ended\":1}\n",
                "{\"holds\":1}\n{\"holds\":1}\n",
                "{\"holds\":1}\n{\"hold\":1,\"untilMillis\":9,\"blocks\":[]}\n",
                "{\"holds\":2}\n{\"hold\":1,\"claims\":[],\"blocks\":[1]}\n",
                "{\"holds\":2}\n{\"hold\":1,\"claims\":[{\"untilMillis\":9}],\"blocks\":[1]}\n",
                "{\"holds\":2}\n{\"claimed\":1,\"claims\":[]}\n",
                "{\"holds\":1}\n{\"hold\":1,\"untilMillis\":9,\"blocks\":[1,2],\"tokens\":[1]}\n",
                "{\"hold\":1,\"untilMillis\":9,\"blocks\":[1]}\n"
            })
    void foreignOrBrokenFile_isRefusedInOneSentence_andLeftAlone(String text) throws IOException {
        Files.writeString(file(), text);

        assertThatThrownBy(this::open)
                .isInstanceOf(IOException.class)
                .hasMessageContaining(file().toString())
                .hasMessageMatching("[^\\n]+\\.");
        assertThat(Files.readString(file())).isEqualTo(text);
    }

    @Test
    void fileOfHoldsThatComeAndGo_doesNotGrow() throws IOException {
        PrefixSource text = new PrefixSource.Text("a".repeat(100_000));
        try (HoldFile file = open()) {
            for (int i = 0; i < 60; i++) {
                file.keep(hold(i, text));
                file.end(i);
            }
            assertThat(Files.size(file())).isLessThan(2 << 20);
        }
    }

    @Test
    void diskThatTakesNoLine_isTold_andTheNextLineBringsAllOfIt() throws IOException {
        boolean[] full = {false};
        LedgerFiles files = (path, options) -> {
            if (full[0]) {
                throw new IOException("No space left on device");
            }
            return LedgerFiles.SYSTEM.open(path, options);
        };
        try (HoldFile file = HoldFile.open(directory, "demo", files, NOW, Duration.ZERO)) {
            full[0] = true;
            assertThatThrownBy(() -> file.keep(hold(1, new PrefixSource.Text("a"))))
                    .hasMessageEndingWith("(No space left on device); free space on its disk or mend it.");
            full[0] = false;
            file.keep(hold(2, new PrefixSource.Text("b")));
        }
        Files.writeString(file(), "{\"torn", StandardOpenOption.APPEND);
        try (HoldFile again = open()) {
            assertThat(again.kept()).extracting(KeptHold::id).containsExactly(2L);
        }
    }
}
