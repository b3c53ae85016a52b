package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A number as it is printed.
 *
 * @param number what is printed, without its unit
 * @param unit what stands behind it; empty where nothing does
 */
record Figure(BigDecimal number, String unit) {
    private static final Pattern NUMBER =
            Pattern.compile("(?:~|≈|about )?\\s*([+-]?(?:\\d{1,3}(?:,\\d{3})+|\\d{1,15})(?:\\.\\d{1,12})?)\\s*(.*)");
    private static final int THOUSAND_DIGITS = 3;

    /** The number of a cell; absent where there is none. */
    static Optional<Figure> of(String cell) {
        Matcher matcher = NUMBER.matcher(plain(cell));
        if (!matcher.matches()) {
            return Optional.empty();
        }
        BigDecimal number = new BigDecimal(matcher.group(1).replace(",", ""));
        String behind = matcher.group(2).strip();
        if (behind.matches("[kKM]( .*)?")) {
            int digits = behind.charAt(0) == 'M' ? 2 * THOUSAND_DIGITS : THOUSAND_DIGITS;
            return Optional.of(new Figure(
                    number.movePointRight(digits), behind.substring(1).strip()));
        }
        return behind.isEmpty() || Unit.of(behind).isPresent() || behind.equals("x")
                ? Optional.of(new Figure(number, behind))
                : Optional.empty();
    }

    /** Returns the number of a cell; NaN where there is none, so that it is in no comparison. */
    static double value(@Nullable String cell) {
        return cell == null
                ? Double.NaN
                : of(cell).map(figure -> figure.number.doubleValue()).orElse(Double.NaN);
    }

    /** Returns a cell without emphasis, and with the signs that keyboards have. */
    static String plain(String cell) {
        return cell.replaceAll("[*`]", "")
                .replaceAll("[\\u2212\\u2013]", "-")
                .replaceAll("→|=>", "->")
                .replaceAll("[\\u00b5\\u03bc]", "u")
                .replace('\u00a0', ' ')
                .strip();
    }

    static BigDecimal rounded(double value, int decimals) {
        return BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
    }

    int decimals() {
        return Math.max(0, number.scale());
    }

    String text() {
        return number.toPlainString();
    }

    /** Unit of a table and how much of the unit of measures it is; times are measured in milliseconds. */
    record Unit(Metric.Unit of, BigDecimal factor) {
        static Optional<Unit> of(String text) {
            return switch (text.toLowerCase(Locale.ROOT).strip()) {
                case "ms", "msec", "milliseconds" -> unit(Metric.Unit.MILLIS, "1");
                case "s", "sec", "secs", "seconds" -> unit(Metric.Unit.MILLIS, "1000");
                case "us", "usec", "microseconds" -> unit(Metric.Unit.MILLIS, "0.001");
                case "tok/s", "toks/s", "token/s", "tokens/s", "tps" -> unit(Metric.Unit.TOKENS_PER_SECOND, "1");
                case "req/s", "requests/s", "rps", "qps" -> unit(Metric.Unit.REQUESTS_PER_SECOND, "1");
                case "tokens", "tok" -> unit(Metric.Unit.TOKENS, "1");
                case "%", "percent" -> unit(Metric.Unit.SHARE, "0.01");
                case "b", "kb", "mb", "gb", "kib", "mib", "gib", "gb/s", "tb/s", "w", "flop/byte", "calls" ->
                    unit(Metric.Unit.COUNT, "1");
                default -> Optional.empty();
            };
        }

        private static Optional<Unit> unit(Metric.Unit of, String factor) {
            return Optional.of(new Unit(of, new BigDecimal(factor)));
        }
    }
}
