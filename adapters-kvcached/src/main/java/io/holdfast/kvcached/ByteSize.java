package io.holdfast.kvcached;

import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Numbers of bytes as people write them, in kvctl's own spelling: {@code 512M}, {@code 1.5g}, {@code 100_000}. */
public final class ByteSize {
    private static final Pattern WRITTEN =
            Pattern.compile("([0-9]+(?:\\.[0-9]+)?|\\.[0-9]+)\\s*(b|k|kb|m|mb|g|gb)?", Pattern.CASE_INSENSITIVE);

    private ByteSize() {}

    /** So many bytes; absent for what kvctl would not take either, and for a number below 0. */
    public static OptionalLong parse(String written) {
        Matcher matcher =
                WRITTEN.matcher(written.replace("_", "").replace(",", "").strip());
        if (written.length() > 40 || !matcher.matches()) {
            return OptionalLong.empty();
        }
        String unit = matcher.group(2) == null ? "b" : matcher.group(2).toLowerCase(Locale.ROOT);
        int shift = "bkmg".indexOf(unit.charAt(0)) * 10;
        if (shift == 0 && !matcher.group(1).contains(".")) {
            return matcher.group(1).length() > 18
                    ? OptionalLong.empty()
                    : OptionalLong.of(Long.parseLong(matcher.group(1)));
        }
        double bytes = Double.parseDouble(matcher.group(1)) * (1L << shift);
        return bytes < Long.MAX_VALUE ? OptionalLong.of((long) bytes) : OptionalLong.empty();
    }

    /** For sentences: whole MiB where it is that, else with what is left over. */
    public static String text(long bytes) {
        if (Math.abs(bytes) < 1 << 20) {
            return String.format(Locale.ROOT, "%,d bytes", bytes);
        }
        double mebibytes = bytes / (double) (1 << 20);
        return bytes % (1 << 20) == 0
                ? String.format(Locale.ROOT, "%,d MiB", bytes >> 20)
                : String.format(Locale.ROOT, "%,.1f MiB", mebibytes);
    }
}
