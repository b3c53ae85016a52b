package io.holdfast.sidecar.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import io.holdfast.sidecar.config.PrefixSource;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Lists of tokens and of hashes in a body, read from its bytes before a parser sees it: a parser that shows each number of
 * a long prompt by itself takes several times as long.
 *
 * <p>Only fields of the outermost object are looked at, and a list is taken only where nothing in it is in doubt: whole
 * numbers in range without a superfluous zero, commas and white space, and no more of them than a prefix may have. The parser is shown the body with an empty list in
 * the place of each that was taken. Everything else is left to it, and with that every refusal.
 */
final class BodyLists {
    private enum Kind {
        TOKENS,
        HASHES
    }

    private static final Map<String, Kind> KINDS =
            Map.of("tokens", Kind.TOKENS, "token_ids", Kind.TOKENS, "hashes", Kind.HASHES, "block_hashes", Kind.HASHES);
    /** The outermost object is the first, a list in it the second. */
    private static final int DEPTH = 2;

    private static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long ZEROS = 0x3030303030303030L;
    private static final long NO_DIGITS = -1;

    private static final int TOKEN_DIGITS = 10;
    private static final int HASH_DIGITS = 20;
    private static final long MOST_BY_TEN = Long.divideUnsigned(-1, 10);
    private static final int LAST_OF_MOST = (int) Long.remainderUnsigned(-1, 10);

    /**
     * A list that was taken; one of the two is empty.
     *
     * @param from place of its first byte behind the bracket
     * @param to place of the bracket that ends it
     */
    @SuppressWarnings("ArrayRecordComponent") // two are never compared
    private record Taken(String field, int from, int to, int[] tokens, long[] hashes) {}

    private final byte[] body;
    private final int length;
    private final List<Taken> taken = new ArrayList<>();
    /** Place of what is read next. */
    private int at;

    /** Takes nothing of the body. */
    BodyLists(byte[] body) {
        this(body, body.length);
    }

    private BodyLists(byte[] body, int length) {
        this.body = body;
        this.length = length;
    }

    /** Takes the lists of a body, which is not changed. */
    static BodyLists of(byte[] body) {
        return of(body, body.length);
    }

    /** Takes the lists of the body that an array begins with. */
    static BodyLists of(byte[] body, int length) {
        BodyLists lists = new BodyLists(body, length);
        lists.read();
        return lists;
    }

    /** Returns true if no list was taken. */
    boolean isEmpty() {
        return taken.isEmpty();
    }

    /** Returns a parser of the body without the lists. */
    JsonParser parser(JsonFactory json) throws IOException {
        return taken.isEmpty() ? json.createParser(body, 0, length) : new Rest(json.createParser(rest()), taken);
    }

    /** Tokens that were taken from the list at which the parser stands. */
    static Optional<int[]> tokens(JsonParser json, String field) {
        return at(json, field).map(Taken::tokens).filter(tokens -> tokens.length > 0);
    }

    /** Hashes that were taken from the list at which the parser stands. */
    static Optional<long[]> hashes(JsonParser json, String field) {
        return at(json, field).map(Taken::hashes).filter(hashes -> hashes.length > 0);
    }

    private static Optional<Taken> at(JsonParser json, String field) {
        return json instanceof Rest rest && json.getParsingContext().getNestingDepth() == DEPTH
                ? rest.taken.stream().filter(list -> list.field().equals(field)).findFirst()
                : Optional.empty();
    }

    private static final class Rest extends JsonParserDelegate {
        private final List<Taken> taken;

        Rest(JsonParser json, List<Taken> taken) {
            super(json);
            this.taken = taken;
        }
    }

    private byte[] rest() {
        int left = length;
        for (Taken list : taken) {
            left -= list.to() - list.from();
        }
        byte[] rest = new byte[left];
        int from = 0;
        int written = 0;
        for (Taken list : taken) {
            System.arraycopy(body, from, rest, written, list.from() - from);
            written += list.from() - from;
            from = list.to();
        }
        System.arraycopy(body, from, rest, written, length - from);
        return rest;
    }

    /** Line and column in the body of a place that the parser named. */
    String place(JsonLocation location) {
        long offset = location.getByteOffset();
        long lineStart = offset - location.getColumnNr() + 1;
        int line = location.getLineNr();
        for (Taken list : taken) {
            if (offset > list.from()) {
                int removed = list.to() - list.from();
                offset += removed;
                lineStart += lineStart > list.from() ? removed : 0;
                for (int i = list.from(); i < list.to(); i++) {
                    if (body[i] == '\n' || (body[i] == '\r' && body[i + 1] != '\n')) {
                        line++;
                        lineStart = Math.max(lineStart, i + 1);
                    }
                }
            }
        }
        return "line " + line + ", column " + (offset - lineStart + 1);
    }

    /* Reading, which ends where anything is not plain. */

    private void read() {
        boolean more = next('{');
        while (more) {
            Optional<String> field = name();
            more = field.isPresent() && next(':') && value(field.get()) && next(',');
        }
    }

    private Optional<String> name() {
        if (!next('"')) {
            return Optional.empty();
        }
        int from = at;
        return text()
                ? Optional.of(new String(body, from, at - 1 - from, StandardCharsets.US_ASCII))
                : Optional.empty();
    }

    /** Goes to the end of a text in which all is plain. */
    private boolean text() {
        while (at < length && body[at] >= ' ' && body[at] != '"' && body[at] != '\\') {
            at++;
        }
        return next('"');
    }

    private boolean value(String field) {
        space();
        Kind kind = KINDS.get(field);
        if (kind != null
                && octet(at) == '['
                && taken.stream().noneMatch(list -> list.field().equals(field))) {
            at++;
            return kind == Kind.TOKENS ? tokens(field) : hashes(field);
        }
        if (octet(at) == '"') {
            at++;
            return text();
        }
        int from = at;
        while (isWord(octet(at))) {
            at++;
        }
        return at > from;
    }

    private static boolean isWord(int octet) {
        return (octet >= '0' && octet <= '9') || (octet >= 'a' && octet <= 'z') || octet == '-' || octet == '.';
    }

    private boolean tokens(String field) {
        int[] tokens = new int[1024];
        int count = 0;
        int from = at;
        int place = from;
        int lastWord = length - Long.BYTES;
        while (true) {
            place = behindSpace(place);
            int start = place;
            long word = place <= lastWord ? (long) WORDS.get(body, place) ^ ZEROS : NO_DIGITS;
            int digits = digits(word);
            long token = 0;
            if (digits > 0 && digits < Long.BYTES) {
                token = number(word, digits);
                place += digits;
            } else {
                for (int digit = digit(place); digit >= 0; digit = digit(++place)) {
                    token = token * 10 + digit;
                }
                digits = place - start;
            }
            if (digits == 0 || digits > TOKEN_DIGITS || token >>> 32 != 0 || isPadded(start, digits)) {
                return false;
            }
            if (count == PrefixSource.MOST_TOKENS) {
                return false;
            }
            if (count == tokens.length) {
                tokens = Arrays.copyOf(tokens, room(count, from, place));
            }
            tokens[count++] = (int) token;
            place = behindSpace(place);
            int octet = octet(place++);
            if (octet == ']') {
                taken.add(new Taken(field, from, place - 1, Arrays.copyOf(tokens, count), new long[0]));
                at = place;
                return true;
            }
            if (octet != ',') {
                return false;
            }
        }
    }

    /** Number of digits that eight bytes begin with, of which '0' was taken away. */
    private static int digits(long word) {
        long others = ((word & 0x7F7F7F7F7F7F7F7FL) + 0x7676767676767676L | word) & 0x8080808080808080L;
        return Long.numberOfTrailingZeros(others) >>> 3;
    }

    /** The number that they are: neighbours are joined to pairs, these to fours, and these to the whole. */
    private static long number(long word, int digits) {
        long digitsLast = word << ((Long.BYTES - digits) << 3);
        long pairs = digitsLast * 10 + (digitsLast >>> 8);
        long upper = (pairs & 0x000000FF000000FFL) * (100 + (1_000_000L << 32));
        long lower = (pairs >>> 16 & 0x000000FF000000FFL) * (1 + (10_000L << 32));
        return (upper + lower) >>> 32;
    }

    private boolean hashes(String field) {
        long[] hashes = new long[256];
        int count = 0;
        int from = at;
        while (true) {
            space();
            boolean quoted = octet(at) == '"';
            at += quoted ? 1 : 0;
            boolean negative = octet(at) == '-';
            at += negative ? 1 : 0;
            int start = at;
            long hash = 0;
            boolean fits = true;
            for (int digit = digit(at); digit >= 0; digit = digit(++at)) {
                int order = Long.compareUnsigned(hash, MOST_BY_TEN);
                fits &= order < 0 || (order == 0 && digit <= LAST_OF_MOST);
                hash = hash * 10 + digit;
            }
            int digits = at - start;
            boolean plain = fits && digits > 0 && digits <= HASH_DIGITS && !isPadded(start, digits);
            if (!plain || (negative && hash < 0) || (quoted && octet(at++) != '"')) {
                return false;
            }
            if (count == PrefixSource.MOST_TOKENS) {
                return false;
            }
            if (count == hashes.length) {
                hashes = Arrays.copyOf(hashes, room(count, from, at));
            }
            hashes[count++] = negative ? -hash : hash;
            space();
            int octet = octet(at++);
            if (octet == ']') {
                taken.add(new Taken(field, from, at - 1, new int[0], Arrays.copyOf(hashes, count)));
                return true;
            }
            if (octet != ',') {
                return false;
            }
        }
    }

    /** Room for as many more as there will be if the rest of the body is like what was read. */
    private int room(int count, int from, int place) {
        long likely = (long) count * (length - from) / (place - from);
        return (int) Math.min(length, likely + (likely >> 5) + 64);
    }

    private boolean isPadded(int start, int digits) {
        return digits > 1 && body[start] == '0';
    }

    private boolean next(char wanted) {
        space();
        boolean there = octet(at) == wanted;
        at += there ? 1 : 0;
        return there;
    }

    private void space() {
        at = behindSpace(at);
    }

    private int behindSpace(int from) {
        int place = from;
        while (place < length
                && (body[place] == ' ' || body[place] == '\n' || body[place] == '\r' || body[place] == '\t')) {
            place++;
        }
        return place;
    }

    /** The digit at a place, or a negative number. */
    private int digit(int place) {
        int digit = octet(place) - '0';
        return digit <= 9 ? digit : -1;
    }

    private int octet(int place) {
        return place < length ? body[place] : -1;
    }
}
