package io.holdfast.embed.cell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class FormsTest {
    private static final String CELL = CellTime.CELL.id();
    private static final String OTHER = new Cell("other", 16, "").id();

    private static final Digest DIGEST = new Digest(
            "e-1",
            "http://a:1",
            0x0102030405060708L,
            7,
            new Hot(
                    OptionalDouble.of(42.5),
                    OptionalLong.of(65_536),
                    List.of(new HotEnd(-2, 640, 12.5f, true, false), new HotEnd(3, 16, 0, false, true))));
    private static final FleetHold HOLD =
            new FleetHold("00ff00ff00ff00ff", -2, 40, 640, FleetHold.ALL, "ops", 3, 60_000, "http://a:1", false);
    private static final HoldReport REPORT = new HoldReport(
            "e-1",
            List.of(
                    new HeldCopy("00ff00ff00ff00ff", HeldCopy.State.HELD, 640, ""),
                    new HeldCopy("00ff00ff00ff00fe", HeldCopy.State.WAITING, 0, "no room")));

    @Test
    @DisplayName("the bytes of version 1 stay as they are")
    void goldenBytes() {
        String cell = "0000000000000001";
        assertThat(hex(DIGEST.bytes(cell)))
                .isEqualTo("0144" + cell + "0003652d31" + "000a687474703a2f2f613a31" + "0102030405060708"
                        + "0000000000000007" + "422a0000" + "0000000000010000" + "0002"
                        + "fffffffffffffffe" + "00000280" + "41480000" + "01"
                        + "0000000000000003" + "00000010" + "00000000" + "02");
        assertThat(hex(HOLD.bytes(cell)))
                .isEqualTo("0148" + cell + "0010"
                        + hex("00ff00ff00ff00ff".getBytes(java.nio.charset.StandardCharsets.US_ASCII))
                        + "fffffffffffffffe" + "00000028" + "00000280" + "7fffffff" + "00036f7073" + "03"
                        + "000000000000ea60" + "000a687474703a2f2f613a31" + "00");
        assertThat(hex(REPORT.bytes(cell)))
                .isEqualTo("0152" + cell + "0003652d31" + "0002" + "0000" + "00076e6f20726f6f6d" + "0002"
                        + "00ff00ff00ff00ff" + "01" + "00000280" + "00"
                        + "00ff00ff00ff00fe" + "00" + "00000000" + "01");
        assertThat(hex(new Presence("e-1", "", 1, 2, 3).bytes(cell)))
                .isEqualTo("0145" + cell + "0003652d31" + "0000" + "0000000000000001" + "0000000000000002"
                        + "0000000000000003");
    }

    @Test
    @DisplayName("what was written is read again, the longest ones within 8 KB")
    void longestOnesFit() {
        List<HotEnd> ends = new ArrayList<>();
        List<HeldCopy> copies = new ArrayList<>();
        for (int i = 1; i <= Hot.MOST_ENDS; i++) {
            ends.add(new HotEnd(i, HotEnd.MOST_TOKENS, 1e9f, true, true));
        }
        for (int i = 0; i < CellMember.MOST_HOLDS; i++) {
            copies.add(new HeldCopy(
                    HexFormat.of().toHexDigits((long) i), HeldCopy.State.WAITING, i, ("é" + i).repeat(25)));
        }
        Digest digest = new Digest(
                "e".repeat(200),
                "a".repeat(256),
                -1,
                Long.MAX_VALUE,
                new Hot(OptionalDouble.empty(), OptionalLong.empty(), ends));
        HoldReport report = new HoldReport("e".repeat(200), copies);
        FleetHold hold = new FleetHold(
                "f".repeat(16),
                -1,
                1,
                HotEnd.MOST_TOKENS,
                1,
                "é".repeat(100),
                100,
                Duration.ofDays(365).toMillis(),
                "a".repeat(256),
                true);

        assertThat(digest.bytes(CELL)).hasSizeLessThanOrEqualTo(FleetStore.MOST_BYTES);
        assertThat(Digest.parse(CELL, digest.bytes(CELL))).isEqualTo(new Parsed.Read<>(digest));
        assertThat(FleetHold.parse(CELL, hold.bytes(CELL))).isEqualTo(new Parsed.Read<>(hold));
        assertThat(report.bytes(CELL)).hasSizeLessThanOrEqualTo(FleetStore.MOST_BYTES);
        assertThat(HoldReport.parse(CELL, report.bytes(CELL))).isInstanceOfSatisfying(Parsed.Read.class, read -> {
            HoldReport again = (HoldReport) read.value();
            assertThat(again.copies()).hasSize(200);
            assertThat(again.copies().get(0)).isEqualTo(copies.get(0));
            assertThat(again.copies().get(199).reason()).isEmpty();
        });
    }

    @Test
    @DisplayName("another version, cell or kind, and what is too long, is refused with its reason")
    void refusals() {
        byte[] bytes = DIGEST.bytes(CELL);
        byte[] newer = bytes.clone();
        newer[0] = 2;
        byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
        byte[] nan = bytes.clone();
        ByteBuffer.wrap(nan).putFloat(bytes.length - 17 - 5, Float.NaN);
        byte[] twice = bytes.clone();
        ByteBuffer.wrap(twice).putLong(bytes.length - 17, -2);

        assertThat(Digest.parse(CELL, newer)).isEqualTo(new Parsed.Refused<>(Refusal.UNKNOWN_VERSION));
        assertThat(Digest.parse(CELL, new byte[0])).isEqualTo(new Parsed.Refused<>(Refusal.MALFORMED));
        assertThat(Digest.parse(CELL, new byte[FleetStore.MOST_BYTES + 1]))
                .isEqualTo(new Parsed.Refused<>(Refusal.TOO_LONG));
        assertThat(Digest.parse(OTHER, bytes)).isEqualTo(new Parsed.Refused<>(Refusal.OTHER_CELL));
        for (byte[] wrong : List.of(longer, nan, twice, HOLD.bytes(CELL), Arrays.copyOf(bytes, bytes.length - 1))) {
            assertThat(Digest.parse(CELL, wrong)).isEqualTo(new Parsed.Refused<>(Refusal.MALFORMED));
        }
    }

    @Test
    @DisplayName("whatever is made of the bytes, a value within its bounds is read or none")
    void mutations() {
        SplittableRandom random = new SplittableRandom(40);
        List<byte[]> seeds = List.of(
                DIGEST.bytes(CELL), HOLD.bytes(CELL), REPORT.bytes(CELL), new Presence("e", "", 1, 2, 3).bytes(CELL));
        List<Function<byte[], Parsed<?>>> parsers = List.of(
                bytes -> Digest.parse(CELL, bytes),
                bytes -> FleetHold.parse(CELL, bytes),
                bytes -> HoldReport.parse(CELL, bytes),
                bytes -> Presence.parse(CELL, bytes));
        int read = 0;
        int refused = 0;
        for (int i = 0; i < 10_000; i++) {
            byte[] bytes = mutated(seeds.get(i % seeds.size()), random);
            switch (parsers.get(i / 4 % 4 == 3 ? (i + 1) % 4 : i % 4).apply(bytes)) {
                case Parsed.Read<?>(Object value) -> {
                    read++;
                    // Equal to what it is written as: nothing of it was beyond its bounds, for its constructor looks.
                    byte[] again = switch (value) {
                        case Digest digest -> digest.bytes(CELL);
                        case FleetHold hold -> hold.bytes(CELL);
                        case Presence sign -> sign.bytes(CELL);
                        // Reasons may be in another order.
                        default -> bytes;
                    };
                    assertThat(again).isEqualTo(bytes);
                }
                case Parsed.Refused<?> none -> refused++;
            }
        }
        assertThat(read).isGreaterThan(500);
        assertThat(refused).isGreaterThan(3_000);
    }

    @Test
    @DisplayName("what would be beyond the bounds cannot be made")
    void constructorsRefuse() {
        assertThatIllegalArgumentException().isThrownBy(() -> new HotEnd(0, 1, 1, true, true));
        assertThatIllegalArgumentException().isThrownBy(() -> new HotEnd(1, 1, Float.NaN, true, true));
        assertThatIllegalArgumentException().isThrownBy(() -> new HotEnd(1, 1, -1, true, true));
        assertThatIllegalArgumentException().isThrownBy(() -> new Digest("a b", "", 0, 0, Hot.NOTHING));
        assertThatIllegalArgumentException().isThrownBy(() -> new Digest("a", "x y", 0, 0, Hot.NOTHING));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new HeldCopy("00ff00ff00ff00ff", HeldCopy.State.HELD, 1, "x".repeat(201)));
        List<HotEnd> many = new ArrayList<>();
        for (int i = 1; i <= 300; i++) {
            many.add(new HotEnd(i, 16, i, true, i == 1));
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Hot(OptionalDouble.empty(), OptionalLong.empty(), many));
        assertThat(Hot.most(OptionalDouble.empty(), OptionalLong.empty(), many).ends())
                .hasSize(256)
                .startsWith(many.get(0), many.get(299))
                .doesNotContain(many.get(1));
    }

    /** Changes some bytes, cuts, lengthens or doubles a piece. */
    static byte[] mutated(byte[] seed, SplittableRandom random) {
        byte[] bytes = seed.clone();
        switch (random.nextInt(4)) {
            case 0 -> bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 20));
            case 1 -> bytes[random.nextInt(10, bytes.length)] ^= (byte) (1 << random.nextInt(8));
            default -> {
                for (int i = random.nextInt(4); i >= 0; i--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
            }
        }
        return bytes;
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
