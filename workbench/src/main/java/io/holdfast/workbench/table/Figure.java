package io.holdfast.workbench.table;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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

    /** Without emphasis, and with the signs that keyboards have. */
    static String plain(String cell) {
        return cell.replaceAll("[*`]", "")
                .replace('\u2212', '-')
                .replace('\u2013', '-')
                .replace('\u00a0', ' ')
                .replace("→", "->")
                .replace("=>", "->")
                .replace('\u00b5', 'u')
                .replace('\u03bc', 'u')
                .strip();
    }

    int decimals() {
        return Math.max(0, number.scale());
    }

    String text() {
        return number.toPlainString();
    }

    /** A unit that tables have, and what it is measured by. */
    record Unit(Kind kind, BigDecimal factor) {
        enum Kind {
            /** A time in milliseconds. */
            TIME,
            TOKEN_RATE,
            REQUEST_RATE,
            TOKENS,
            /** A share of 1. */
            SHARE,
            OTHER
        }

        static Optional<Unit> of(String text) {
            String name = text.toLowerCase(Locale.ROOT).strip();
            return switch (name) {
                case "ms", "msec", "milliseconds" -> unit(Kind.TIME, "1");
                case "s", "sec", "secs", "seconds" -> unit(Kind.TIME, "1000");
                case "us", "usec", "microseconds" -> unit(Kind.TIME, "0.001");
                case "tok/s", "toks/s", "token/s", "tokens/s", "tps" -> unit(Kind.TOKEN_RATE, "1");
                case "req/s", "requests/s", "rps", "qps" -> unit(Kind.REQUEST_RATE, "1");
                case "tokens", "tok" -> unit(Kind.TOKENS, "1");
                case "%", "percent" -> unit(Kind.SHARE, "0.01");
                case "b", "kb", "mb", "gb", "kib", "mib", "gib", "gb/s", "tb/s", "w", "flop/byte", "calls" ->
                    unit(Kind.OTHER, "1");
                default -> Optional.empty();
            };
        }

        private static Optional<Unit> unit(Kind kind, String factor) {
            return Optional.of(new Unit(kind, new BigDecimal(factor)));
        }
    }
}
