package io.holdfast.loadtest.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Axes of the report's figures. */
class SvgTest {
    /** A narrow axis has places between whole numbers, and two of them must not have the same number. */
    @ParameterizedTest
    @CsvSource({"-1.06,1.06", "-0.06,0.04", "-47,3", "0,0.9", "0,0.02", "0,31", "-9.9,12.4", "0,1"})
    void numbersOfAnAxis_areThoseOfTheirPlaces(double least, double most) {
        List<Double> ticks = Svg.ticks(least, most);
        List<String> numbers =
                ticks.stream().map(tick -> Svg.number("%+.0f %%", tick)).toList();
        assertThat(numbers).hasSizeGreaterThan(1).doesNotHaveDuplicates();
        for (int i = 0; i < ticks.size(); i++) {
            assertThat(Double.parseDouble(numbers.get(i).replace('\u2212', '-').replace(" %", "")))
                    .isCloseTo(ticks.get(i), Offset.offset(1e-9));
        }
    }

    @ParameterizedTest
    @CsvSource({"%.1f,2,2.0", "%.1f,0.05,0.05", "%+.0f,0,0", "%+.0f,-0.5,\u22120.5", "%.0f,20,20"})
    void decimals_areAsManyAsItTakes(String format, double value, String shown) {
        assertThat(Svg.number(format, value)).isEqualTo(shown);
    }
}
