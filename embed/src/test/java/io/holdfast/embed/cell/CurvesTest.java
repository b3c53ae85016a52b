package io.holdfast.embed.cell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.core.rank.ReuseCounts;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The form of what engines tell of their curves. */
class CurvesTest {
    private static final String CELL = CellTime.CELL.id();

    static ReuseCounts counts(long... numbers) {
        double[] all = new double[ReuseCounts.COUNT];
        Arrays.setAll(all, at -> at < numbers.length ? numbers[at] : 0);
        return new ReuseCounts(all);
    }

    private static ReuseCounts all(double each) {
        double[] all = new double[ReuseCounts.COUNT];
        Arrays.fill(all, each);
        return new ReuseCounts(all);
    }

    private static Curves read(byte[] bytes) {
        assertThat(Curves.parse(CELL, bytes)).isInstanceOf(Parsed.Read.class);
        return ((Parsed.Read<Curves>) Curves.parse(CELL, bytes)).value();
    }

    private static byte[] bytes(String numbers) {
        return HexFormat.of().parseHex("0143" + CELL + "0003652d31" + "0000000000010000" + numbers.replace(" ", ""));
    }

    @Test
    @DisplayName("the bytes of version 1 stay as they are, and the kind changes with the meaning of what is learned")
    void goldenBytes() {
        assertThat(new Curves("e-1", 65_536, counts(0, 0, 1, 300, 0, 0, 0, 2)).bytes(CELL))
                .isEqualTo(bytes("0002 01 ac02 0003 02"));
        assertThat(Curves.KIND).isEqualTo("curves2");
        assertThat(ReuseCounts.COUNT).isEqualTo(5_080);
    }

    @Test
    @DisplayName("what was written is read again, and what would not fit is smaller in the same proportions")
    void longestFit() {
        SplittableRandom random = new SplittableRandom(5);
        double[] numbers = random.doubles(ReuseCounts.COUNT, 0, 600)
                .map(each -> each < 300 ? 0 : Math.floor(each))
                .toArray();
        Curves some = new Curves("e".repeat(200), 1, new ReuseCounts(numbers));
        assertThat(some.bytes(CELL)).hasSizeLessThanOrEqualTo(FleetStore.MOST_BYTES);
        assertThat(read(some.bytes(CELL)).counts().numbers()).isEqualTo(numbers);

        Curves most = new Curves("e".repeat(200), Long.MAX_VALUE, all(590));
        assertThat(most.bytes(CELL)).hasSizeLessThanOrEqualTo(FleetStore.MOST_BYTES);
        assertThat(read(most.bytes(CELL)).counts().numbers())
                .as("two bytes for each were too many")
                .containsOnly(73);
    }

    @Test
    @DisplayName("what is beyond the bounds is refused, whoever wrote it")
    void bounds() {
        assertThat(read(bytes("c08db701")).counts().weight()).isEqualTo(Curves.MOST_WEIGHT);
        List<String> wrong = List.of(
                "",
                "00 d727",
                // More than one engine may have counted, at once and together.
                "c18db701",
                "c08db701 01",
                "ffffffff7f",
                "ffffffffff7f",
                // Cut, and longer than there are numbers.
                "01 80",
                "01 00",
                "00 d827 01",
                "00 d927",
                "00 ffffffff7f",
                "01".repeat(ReuseCounts.COUNT + 1));
        for (String numbers : wrong) {
            assertThat(Curves.parse(CELL, bytes(numbers)))
                    .as(numbers)
                    .isEqualTo(new Parsed.Refused<>(Refusal.MALFORMED));
        }
        assertThat(Curves.parse(new Cell("other", 16, "").id(), bytes("01")))
                .isEqualTo(new Parsed.Refused<>(Refusal.OTHER_CELL));
        assertThatIllegalArgumentException().isThrownBy(() -> new Curves("a", 0, counts(1)));
        assertThatIllegalArgumentException().isThrownBy(() -> new Curves("a b", 1, counts(1)));
        assertThatIllegalArgumentException().isThrownBy(() -> new Curves("a", 1, ReuseCounts.none()));
        assertThatIllegalArgumentException().isThrownBy(() -> new Curves("a", 1, all(600)));
    }

    @Test
    @DisplayName("whatever is made of the bytes, counts within their bounds are read or none")
    void mutations() {
        SplittableRandom random = new SplittableRandom(6);
        byte[] seed = new Curves("e", 1_000, counts(random.longs(200, 0, 300).toArray())).bytes(CELL);
        int read = 0;
        for (int i = 0; i < 5_000; i++) {
            if (Curves.parse(CELL, FormsTest.mutated(seed, random)) instanceof Parsed.Read<Curves>(Curves curves)) {
                read++;
                // In fewer bytes, where a number was written in more than it needs.
                assertThat(read(curves.bytes(CELL)).counts().numbers())
                        .isEqualTo(curves.counts().numbers());
            }
        }
        assertThat(read).isBetween(500, 4_500);
    }
}
