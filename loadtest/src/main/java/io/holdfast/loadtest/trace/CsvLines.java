package io.holdfast.loadtest.trace;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Reads CSV: when a request came, by which prefix, and how long it was. */
final class CsvLines extends BuiltLines {
    /*
     * What a path says
     * ----------------
     * Each part of a prefix names a text by its begin: wherever the same name stands behind the same tokens, the
     * shorter of the two is the begin of the longer. So a conversation keeps its name while it grows. With one length
     * for each part, parts are segments, cut into blocks from the prompt's begin on, across their borders; with one
     * length for all, each part is a block.
     *
     * A block is named by all that it holds and all that lies before. That is walked piece by piece, a piece being what
     * one segment gives to one block: the number of a walk is told by the walk before and the piece, and a block is a
     * walk that ended one. A prompt's last block may be a part of one, and is then another than the whole.
     */
    static final String HEADER = "time,prefix,tokens";
    static final int USUAL_BLOCK_TOKENS = 16;

    private static final String HEADER_WITH_OUTPUT = HEADER + ",output";
    private static final int LONGEST_PROMPT = 10_000_000;
    private static final int MOST_REFERENCES = 1 << 27;
    private static final int NANO_DIGITS = 9;
    private static final BigDecimal MOST_SECONDS = BigDecimal.valueOf(4_000_000_000L);
    private static final int ROOT = -1;

    private record Piece(int before, int segment, int from, int tokens) {}

    private final int blockTokens;
    private final Map<String, Integer> segments = new HashMap<>();
    private final Map<Piece, Integer> walks = new HashMap<>();
    private final Map<Integer, Integer> blocks = new HashMap<>();
    private boolean begun;
    private boolean withOutput;
    private BigDecimal first = BigDecimal.ZERO;
    private BigDecimal last = BigDecimal.ZERO;
    private int references;

    CsvLines(String name, int blockTokens) {
        super(new Trace.Builder(name, blockTokens));
        this.blockTokens = blockTokens;
    }

    @Override
    public void line(String text) {
        if (begun) {
            request(text);
        } else {
            header(text.strip().toLowerCase(Locale.ROOT));
            begun = true;
        }
    }

    private void header(String text) {
        withOutput = text.equals(HEADER_WITH_OUTPUT);
        if (!withOutput && !text.equals(HEADER)) {
            throw new BadLineException("is no header '" + HEADER + "' or '" + HEADER_WITH_OUTPUT + "'");
        }
    }

    private void request(String text) {
        if (text.indexOf('"') >= 0) {
            throw new BadLineException("has quotes; name prefixes without commas and quotes");
        }
        String[] fields = text.split(",", -1);
        int wanted = withOutput ? 4 : 3;
        if (fields.length != wanted) {
            throw new BadLineException("has " + fields.length + " fields, where the header has " + wanted);
        }
        BigDecimal seconds = seconds(fields[0].strip());
        String[] names = fields[1].strip().split("/", -1);
        int[] lengths = lengths(fields[2].strip(), names.length);
        int output = withOutput ? number(fields[3].strip(), "output", 0) : 0;
        if (requests() == 0) {
            first = seconds;
        } else if (seconds.compareTo(last) < 0) {
            throw new BadLineException("is of " + seconds.toPlainString() + " s, after one of " + last.toPlainString()
                    + " s; sort the lines by time");
        }
        last = seconds;
        int tokens = 0;
        for (int length : lengths) {
            // Both are small enough for their sum.
            tokens = Math.min(LONGEST_PROMPT + 1, tokens + length);
        }
        if (tokens > LONGEST_PROMPT) {
            throw new BadLineException(String.format(Locale.ROOT, "has more than %,d tokens", LONGEST_PROMPT));
        }
        long nanos = seconds.subtract(first)
                .movePointRight(NANO_DIGITS)
                .setScale(0, RoundingMode.DOWN)
                .longValueExact();
        builder.begin(nanos, tokens, output);
        path(names, lengths);
    }

    private void path(String[] names, int[] lengths) {
        int walk = ROOT;
        int room = blockTokens;
        for (int part = 0; part < names.length; part++) {
            if (names[part].isBlank()) {
                throw new BadLineException("has an empty part in its prefix");
            }
            int segment = segments.computeIfAbsent(names[part].strip(), any -> segments.size());
            for (int from = 0; from < lengths[part]; ) {
                int tokens = Math.min(room, lengths[part] - from);
                walk = walks.computeIfAbsent(new Piece(walk, segment, from, tokens), any -> walks.size());
                from += tokens;
                room -= tokens;
                if (room == 0) {
                    block(walk);
                    room = blockTokens;
                }
            }
        }
        if (room < blockTokens) {
            block(walk);
        }
    }

    private void block(int walk) {
        if (++references > MOST_REFERENCES) {
            throw new BadLineException(String.format(
                    Locale.ROOT,
                    "brings the trace above %,d blocks; take larger blocks or fewer lines",
                    MOST_REFERENCES));
        }
        builder.block(blocks.computeIfAbsent(walk, any -> blocks.size()));
    }

    /** Returns the length of each part of the prefix. */
    private int[] lengths(String text, int parts) {
        String[] told = text.split("/", -1);
        int[] lengths = new int[parts];
        if (told.length == parts) {
            for (int part = 0; part < parts; part++) {
                lengths[part] = number(told[part].strip(), "tokens", 1);
            }
            return lengths;
        }
        if (told.length > 1) {
            throw new BadLineException("has " + told.length + " lengths in 'tokens' for " + parts
                    + (parts == 1 ? " part" : " parts") + " of its prefix");
        }
        int tokens = number(text, "tokens", 1);
        int filled = Math.ceilDiv(tokens, blockTokens);
        if (filled != parts) {
            throw new BadLineException("has " + tokens + " tokens, which are " + filled
                    + (filled == 1 ? " block" : " blocks") + " of "
                    + blockTokens + ", and " + parts + " parts in its prefix; say how long each part is, such as"
                    + " 1800/420, or how large blocks are");
        }
        for (int part = 0; part < parts; part++) {
            lengths[part] = Math.min(blockTokens, tokens - part * blockTokens);
        }
        return lengths;
    }

    private static BigDecimal seconds(String text) {
        // What Java takes for a number beyond this, such as 1e999999999, costs more than it says.
        if (text.matches("\\d{1,10}(\\.\\d{1,12})?")) {
            BigDecimal seconds = new BigDecimal(text);
            if (seconds.compareTo(MOST_SECONDS) <= 0) {
                return seconds;
            }
        }
        throw new BadLineException("has no seconds in 'time', such as 12.5 or 1767225600.25");
    }

    private static int number(String text, String field, int least) {
        if (text.matches("\\d{1,9}")) {
            int value = Integer.parseInt(text);
            if (value >= least) {
                return value;
            }
        }
        throw new BadLineException("has no whole number from " + least + " on in '" + field + "'");
    }
}
