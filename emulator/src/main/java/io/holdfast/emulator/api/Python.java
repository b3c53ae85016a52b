package io.holdfast.emulator.api;

import java.math.BigDecimal;
import java.util.Locale;

/** How Python writes values down. */
final class Python {
    private Python() {}

    static String repr(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        double size = Math.abs(value);
        if (size != 0 && (size < 1e-4 || size >= 1e16)) {
            String[] parts = Double.toString(value).split("E", 2);
            String digits = parts[0].endsWith(".0") ? parts[0].substring(0, parts[0].length() - 2) : parts[0];
            int exponent = Integer.parseInt(parts[1]);
            return digits + String.format(Locale.ROOT, "e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
        }
        String plain = new BigDecimal(Double.toString(value)).toPlainString();
        return plain.indexOf('.') < 0 ? plain + ".0" : plain;
    }

    static String repr(String value) {
        char quote = value.indexOf('\'') >= 0 && value.indexOf('"') < 0 ? '"' : '\'';
        StringBuilder text = new StringBuilder(value.length() + 2).append(quote);
        value.codePoints().forEach(point -> {
            if (point == quote || point == '\\') {
                text.append('\\').append((char) point);
            } else if (point == '\n') {
                text.append("\\n");
            } else if (point == '\r') {
                text.append("\\r");
            } else if (point == '\t') {
                text.append("\\t");
            } else if (point != ' ' && !isPrintable(point)) {
                text.append(escape(point));
            } else {
                text.appendCodePoint(point);
            }
        });
        return text.append(quote).toString();
    }

    private static boolean isPrintable(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SPACE_SEPARATOR -> false;
            default -> true;
        };
    }

    private static String escape(int point) {
        String format = point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x";
        return String.format(Locale.ROOT, format, point);
    }
}
