package io.holdfast.emulator.api;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/*
 * Reads JSON as strictly, and complains in the words, of the parser that the engine uses.
 *
 * SGLang hands bodies to orjson, which follows the standard to the letter: no NaN, no byte order mark, no lone surrogate, at
 * most 1024 levels, numbers beyond 64 bits become doubles. vLLM uses Python's own json module, which takes all of these, and
 * whose messages come from a scanner that backs out of a value it cannot read, so that "1." is a 1 with something behind it.
 *
 * Where the two tell different places for one mistake, both are handed over and the dialect chooses. Places count
 * characters as Python does, code points and not UTF-16 units.
 */
final class JsonReader {
    /** Whose parser. */
    enum Dialect {
        ORJSON,
        PYTHON
    }

    /** Not JSON: what is wrong and where. */
    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final int at;

        private Malformed(String problem, int at) {
            super(problem, null, false, false);
            this.at = at;
        }

        int at() {
            return at;
        }

        String problem() {
            return String.valueOf(getMessage());
        }
    }

    /** Neither value nor message: the bytes are no text, or the parser itself gives up. */
    static final class Unreadable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private Unreadable(String problem) {
            super(problem, null, false, false);
        }
    }

    private static final int ORJSON_DEPTH = 1024;
    private static final int PYTHON_DEPTH = 1497;
    private static final int PYTHON_DIGITS = 4300;
    private static final BigInteger UNSIGNED_LIMIT = BigInteger.ONE.shiftLeft(64);

    private final String text;
    private final Dialect dialect;
    private int at;
    private int depth;

    private JsonReader(String text, Dialect dialect) {
        this.text = text;
        this.dialect = dialect;
    }

    static Json read(byte[] body, Dialect dialect) {
        String text = decode(body, dialect);
        if (dialect == Dialect.ORJSON) {
            if (text.isEmpty()) {
                throw new Malformed("Input is a zero-length, empty document", 0);
            }
            if (text.charAt(0) == '\ufeff') {
                throw new Malformed("UTF-8 byte order mark (BOM) is not supported", 0);
            }
        }
        JsonReader reader = new JsonReader(text, dialect);
        if (dialect == Dialect.PYTHON && text.startsWith("\ufeff")) {
            reader.at = 1;
        }
        return reader.document();
    }

    private static String decode(byte[] body, Dialect dialect) {
        try {
            CharBuffer text = StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(body));
            return text.toString();
        } catch (CharacterCodingException e) {
            if (dialect == Dialect.ORJSON) {
                throw new Malformed("str is not valid UTF-8: surrogates not allowed", 0);
            }
            throw new Unreadable("The body is not UTF-8.");
        }
    }

    private Json document() {
        skipSpace();
        if (at == text.length() && dialect == Dialect.ORJSON) {
            throw fail("input data is empty", 0, "", 0);
        }
        Json value = value();
        skipSpace();
        if (at < text.length()) {
            throw fail("unexpected content after document", at, "Extra data", at);
        }
        return value;
    }

    private Json value() {
        if (at == text.length()) {
            throw fail("unexpected end of data", at, "Expecting value", at);
        }
        char c = text.charAt(at);
        return switch (c) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> new Json.Str(string());
            case 't' -> literal("true", Json.Bool.TRUE);
            case 'f' -> literal("false", Json.Bool.FALSE);
            case 'n' -> literal("null", Json.Null.NULL);
            default -> {
                if (c == '-' || isDigit(c)) {
                    yield number();
                }
                if (dialect == Dialect.PYTHON && (c == 'N' || c == 'I')) {
                    yield c == 'N'
                            ? literal("NaN", new Json.Real(Double.NaN))
                            : literal("Infinity", new Json.Real(Double.POSITIVE_INFINITY));
                }
                String problem =
                        c == '+' || c == '.' ? "no digit after sign" : "unexpected character, expected a JSON value";
                throw fail(problem, at, "Expecting value", at);
            }
        };
    }

    private Json object() {
        enter();
        Map<String, Json> fields = new LinkedHashMap<>();
        skipSpace();
        if (peek() == '}') {
            return leave(new Json.Obj(fields));
        }
        while (true) {
            String key = key();
            skipSpace();
            if (peek() != ':') {
                throw failOrEnd("unexpected character, expected ':' after key", "Expecting ':' delimiter");
            }
            at++;
            skipSpace();
            fields.put(key, value());
            skipSpace();
            int comma = at;
            if (peek() == '}') {
                return leave(new Json.Obj(fields));
            }
            if (peek() != ',') {
                throw failOrEnd("unexpected character, expected ',' or '}'", "Expecting ',' delimiter");
            }
            at++;
            skipSpace();
            if (peek() == '}') {
                throw fail(
                        "trailing comma is not allowed",
                        comma,
                        "Expecting property name enclosed in double quotes",
                        at);
            }
        }
    }

    private String key() {
        if (peek() != '"') {
            throw failOrEnd(
                    "unexpected character, expected a string key", "Expecting property name enclosed in double quotes");
        }
        return string();
    }

    private Json array() {
        enter();
        List<Json> items = new ArrayList<>();
        long[] numbers = new long[8];
        int count = 0;
        skipSpace();
        if (peek() == ']') {
            return leave(new Json.Arr(items));
        }
        while (true) {
            Json item = value();
            if (item instanceof Json.Int number && count >= 0) {
                if (count == numbers.length) {
                    numbers = Arrays.copyOf(numbers, count + (count >> 1));
                }
                numbers[count++] = number.value();
            } else {
                if (count > 0) {
                    items.addAll(new Json.Ints(Arrays.copyOf(numbers, count)));
                }
                count = -1;
                items.add(item);
            }
            skipSpace();
            int comma = at;
            if (peek() == ']') {
                return leave(new Json.Arr(count < 0 ? items : new Json.Ints(Arrays.copyOf(numbers, count))));
            }
            if (peek() != ',') {
                throw failOrEnd("unexpected character, expected ',' or ']'", "Expecting ',' delimiter");
            }
            at++;
            skipSpace();
            if (peek() == ']') {
                throw fail("trailing comma is not allowed", comma, "Expecting value", at);
            }
        }
    }

    private void enter() {
        at++;
        depth++;
        if (dialect == Dialect.ORJSON && depth > ORJSON_DEPTH) {
            throw fail("depth limit exceeded", at, "", 0);
        }
        if (dialect == Dialect.PYTHON && depth > PYTHON_DEPTH) {
            throw new Unreadable("The body is nested too deeply.");
        }
    }

    private Json leave(Json value) {
        at++;
        depth--;
        return value;
    }

    private Json literal(String word, Json value) {
        if (text.startsWith(word, at)) {
            at += word.length();
            return value;
        }
        boolean cut = word.startsWith(text.substring(at, Math.min(text.length(), at + word.length())));
        throw cut
                ? fail("unexpected end of data", text.length(), "Expecting value", at)
                : fail("invalid literal, expected '" + word + "'", at, "Expecting value", at);
    }

    private Json number() {
        int from = at;
        int digits = peek() == '-' ? at + 1 : at;
        int whole = digitsEnd(digits);
        if (whole == digits) {
            if (dialect == Dialect.PYTHON && text.startsWith("Infinity", digits)) {
                at = digits + "Infinity".length();
                return new Json.Real(Double.NEGATIVE_INFINITY);
            }
            throw digits == text.length()
                    ? fail("unexpected end of data", digits, "Expecting value", from)
                    : fail("no digit after sign", digits, "Expecting value", from);
        }
        if (text.charAt(digits) == '0' && whole > digits + 1) {
            if (dialect == Dialect.ORJSON) {
                throw fail("number with leading zero is not allowed", digits, "", 0);
            }
            whole = digits + 1;
        }
        int end = exponentEnd(fractionEnd(whole));
        at = end;
        String number = text.substring(from, end);
        return end == whole ? whole(number) : real(number, from);
    }

    private int fractionEnd(int from) {
        if (from == text.length() || text.charAt(from) != '.') {
            return from;
        }
        return requiredDigits(from, from + 1, "no digit after decimal point");
    }

    private int exponentEnd(int from) {
        if (from == text.length() || (text.charAt(from) | 0x20) != 'e') {
            return from;
        }
        int digits = from + 1;
        if (digits < text.length() && (text.charAt(digits) == '+' || text.charAt(digits) == '-')) {
            digits++;
        }
        return requiredDigits(from, digits, "no digit after exponent sign");
    }

    /** Where the digits end; Python's scanner takes the number without this part instead of complaining. */
    private int requiredDigits(int otherwise, int from, String problem) {
        int end = digitsEnd(from);
        if (end > from) {
            return end;
        }
        if (dialect == Dialect.PYTHON) {
            return otherwise;
        }
        throw fail(from == text.length() ? "unexpected end of data" : problem, from, "", 0);
    }

    private Json whole(String number) {
        if (number.length() <= 18) {
            return new Json.Int(Long.parseLong(number));
        }
        if (dialect == Dialect.PYTHON && number.length() > PYTHON_DIGITS) {
            throw new Unreadable("A number has too many digits.");
        }
        if (dialect == Dialect.ORJSON && number.length() > 20) {
            return real(number, at - number.length());
        }
        BigInteger value = new BigInteger(number);
        if (value.bitLength() < Long.SIZE) {
            return new Json.Int(value.longValue());
        }
        boolean keeps = dialect == Dialect.PYTHON || (value.signum() > 0 && value.compareTo(UNSIGNED_LIMIT) < 0);
        return keeps ? new Json.Big(value) : new Json.Real(value.doubleValue());
    }

    private Json real(String number, int from) {
        double value = Double.parseDouble(number);
        if (Double.isInfinite(value) && dialect == Dialect.ORJSON) {
            throw fail("number is infinity when parsed as double", from, "", 0);
        }
        return new Json.Real(value);
    }

    private int digitsEnd(int from) {
        int end = from;
        while (end < text.length() && isDigit(text.charAt(end))) {
            end++;
        }
        return end;
    }

    private String string() {
        int from = at++;
        int plain = at;
        StringBuilder value = null;
        while (true) {
            if (at == text.length()) {
                throw fail("unexpected end of data", at, "Unterminated string starting at", from);
            }
            char c = text.charAt(at);
            if (c == '"') {
                String tail = text.substring(plain, at++);
                return value == null ? tail : value.append(tail).toString();
            }
            if (c < ' ') {
                throw fail("unexpected control character in string", at, "Invalid control character at", at);
            }
            if (c == '\\') {
                value = (value == null ? new StringBuilder() : value).append(text, plain, at);
                escape(value, from);
                plain = at;
            } else {
                at++;
            }
        }
    }

    private void escape(StringBuilder value, int string) {
        int from = at++;
        if (at == text.length()) {
            throw fail("unexpected end of data", at, "Unterminated string starting at", string);
        }
        char c = text.charAt(at++);
        int plain = "\"\\/bfnrt".indexOf(c);
        if (plain >= 0) {
            value.append("\"\\/\b\f\n\r\t".charAt(plain));
        } else if (c != 'u') {
            throw fail("invalid escaped sequence in string", from, "Invalid \\escape", from);
        } else {
            char unit = hex(from);
            value.append(unit);
            if (dialect == Dialect.ORJSON && Character.isSurrogate(unit)) {
                value.append(lowSurrogate(unit, from));
            }
        }
    }

    private char lowSurrogate(char high, int from) {
        if (Character.isLowSurrogate(high)) {
            throw fail("invalid high surrogate in string", from, "", 0);
        }
        if (!text.startsWith("\\u", at)) {
            throw fail("no low surrogate in string", from, "", 0);
        }
        at += 2;
        char low = hex(from);
        if (!Character.isLowSurrogate(low)) {
            throw fail("invalid low surrogate in string", from, "", 0);
        }
        return low;
    }

    private char hex(int from) {
        int unit = 0;
        for (int i = 0; i < 4; i++, at++) {
            if (at == text.length()) {
                throw fail("unexpected end of data", at, "Invalid \\uXXXX escape", from + 1);
            }
            int digit = Character.digit(text.charAt(at), 16);
            if (digit < 0) {
                throw fail("invalid escaped sequence in string", from, "Invalid \\uXXXX escape", from + 1);
            }
            unit = unit << 4 | digit;
        }
        return (char) unit;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private Malformed failOrEnd(String orjson, String python) {
        return fail(at == text.length() ? "unexpected end of data" : orjson, at, python, at);
    }

    private Malformed fail(String orjson, int orjsonAt, String python, int pythonAt) {
        return dialect == Dialect.ORJSON
                ? new Malformed(orjson, text.codePointCount(0, orjsonAt))
                : new Malformed(python, text.codePointCount(0, pythonAt));
    }
}
