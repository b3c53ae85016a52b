package io.holdfast.embed.cell;

import io.holdfast.core.Learned;
import io.holdfast.core.rank.ReuseCounts;
import java.io.ByteArrayOutputStream;

/**
 * Counts from which one engine learned its curves of reuse, as its present process made them.
 *
 * @param capacityTokens tokens that its cache takes: what returns to it depends on them
 * @param counts at most {@link #MOST_WEIGHT} together, so that no engine has more to say than a busy one
 */
record Curves(String engine, long capacityTokens, ReuseCounts counts) {
    /** Counts of another version of what is learned mean something else, and are never asked for. */
    static final String KIND = "curves" + Learned.VERSION;
    /** About a million uses. */
    static final double MOST_WEIGHT = 3_000_000;

    private static final char LETTER = 'C';
    private static final int LONGEST_NUMBER = 5;

    Curves {
        Form.checkEngine(engine);
        Form.check(capacityTokens > 0, "The capacity of an engine that counts is above 0.");
        Form.check(
                !counts.isEmpty() && counts.weight() <= MOST_WEIGHT,
                "Counts are some, and within their bounds together.");
    }

    /** Writes them down for a cell, smaller and in the same proportions where they would not fit. */
    byte[] bytes(String cell) {
        Form form = Form.write(LETTER, cell).putText(engine).put64(capacityTokens);
        ReuseCounts fitting = counts;
        byte[] packed = packed(fitting.numbers());
        while (packed.length > form.room()) {
            fitting = fitting.atMost(fitting.weight() / 2);
            packed = packed(fitting.numbers());
        }
        for (byte each : packed) {
            form.put8(each);
        }
        return form.done();
    }

    static Parsed<Curves> parse(String cell, byte[] bytes) {
        return Form.read(
                LETTER, cell, bytes, form -> new Curves(form.getText(), form.get64(), new ReuseCounts(unpacked(form))));
    }

    /** Most kinds of request are never seen: nothing is written of them but how many zeros follow. */
    private static byte[] packed(double[] numbers) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        long zeros = 0;
        for (double number : numbers) {
            if (number < 1) {
                zeros++;
                continue;
            }
            if (zeros > 0) {
                bytes.write(0);
                write(zeros, bytes);
                zeros = 0;
            }
            write((long) number, bytes);
        }
        return bytes.toByteArray();
    }

    private static double[] unpacked(Form form) {
        double[] numbers = new double[ReuseCounts.COUNT];
        int at = 0;
        while (form.room() > 0) {
            long number = read(form);
            long places = number == 0 ? read(form) : 1;
            Form.check(places <= numbers.length - at, "Counts have too many numbers.");
            if (number > 0) {
                numbers[at] = number;
            }
            at += (int) places;
        }
        return numbers;
    }

    /** Seven bits a byte, the lowest first, and the highest bit where more follow. */
    private static void write(long number, ByteArrayOutputStream bytes) {
        long rest = number;
        for (; rest > 0x7f; rest >>>= 7) {
            bytes.write((int) (rest & 0x7f) | 0x80);
        }
        bytes.write((int) rest);
    }

    private static long read(Form form) {
        long number = 0;
        for (int place = 0; place < LONGEST_NUMBER; place++) {
            int part = form.get8();
            number |= (part & 0x7fL) << (7 * place);
            if (part <= 0x7f) {
                return number;
            }
        }
        throw new IllegalArgumentException("A count has at most " + LONGEST_NUMBER + " bytes.");
    }
}
