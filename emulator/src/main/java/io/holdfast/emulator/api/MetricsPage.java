package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Histogram;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiFunction;

/**
 * A page of Prometheus' text form, filled in over what the engine's own page looked like at rest: the same metrics in
 * the same order with the same words, and zeros where the emulated engine has nothing to tell.
 */
public final class MetricsPage {
    private static final class Family {
        private final List<String> head = new ArrayList<>();
        private final Map<String, String> samples = new LinkedHashMap<>();
    }

    private final Map<String, Family> families = new LinkedHashMap<>();

    private MetricsPage() {}

    /**
     * A page with its numbers still to be set.
     *
     * @param rest the page at rest, in which {@code @} stands for the model's name
     */
    public static MetricsPage over(String rest, String model) {
        MetricsPage page = new MetricsPage();
        Family family = new Family();
        for (String line : rest.lines().toList()) {
            if (line.startsWith("# HELP ")) {
                family = new Family();
                page.families.put(line.split(" ", 4)[2], family);
            }
            if (line.startsWith("#")) {
                family.head.add(line);
            } else {
                int space = line.lastIndexOf(' ');
                family.samples.put(line.substring(0, space).replace("\"@\"", quoted(model)), line.substring(space + 1));
            }
        }
        return page;
    }

    /**
     * Tells each sample that carries a label once for each data-parallel rank.
     *
     * @param told how a sample of the first rank is told of another
     */
    public MetricsPage forRanks(int ranks, String label, BiFunction<String, Integer, String> told) {
        for (Family family : families.values()) {
            Map<String, String> old = new LinkedHashMap<>(family.samples);
            family.samples.clear();
            old.forEach((sample, value) -> {
                for (int rank = 0; rank < (sample.contains(label) ? ranks : 1); rank++) {
                    family.samples.put(sample.contains(label) ? told.apply(sample, rank) : sample, value);
                }
            });
        }
        return this;
    }

    public static String quoted(String label) {
        return '"' + label.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }

    /** Gives the samples of a metric that carry all of these labels a value. */
    public MetricsPage set(String name, double value, String... labels) {
        family(name)
                .samples
                .replaceAll((sample, old) -> Arrays.stream(labels).allMatch(sample::contains) ? format(value) : old);
        return this;
    }

    public MetricsPage set(String name, long value, String... labels) {
        return set(name, (double) value, labels);
    }

    public MetricsPage put(String name, String labels, long value) {
        return put(name, labels, (double) value);
    }

    /** Adds a sample, in place of one with the same labels. */
    public MetricsPage put(String name, String labels, double value) {
        family(name).samples.put(name + (labels.isEmpty() ? "" : "{" + labels + "}"), format(value));
        return this;
    }

    /** A histogram as Prometheus' Python client for many processes tells it: the sum first, the count last. */
    public MetricsPage histogram(String name, String before, String after, Histogram histogram) {
        Family family = family(name);
        String plain = join(before, after);
        family.samples.put(name + "_sum{" + plain + "}", format(histogram.sumSeconds()));
        buckets(family, name, before, after, histogram);
        family.samples.put(name + "_count{" + plain + "}", format((double) histogram.count()));
        return this;
    }

    /** A histogram as the client for one process tells it: buckets, count, sum. */
    public MetricsPage plainHistogram(String name, String before, String after, Histogram histogram) {
        Family family = family(name);
        family.samples.keySet().removeIf(sample -> sample.contains(before));
        buckets(family, name, before, after, histogram);
        String plain = join(before, after);
        family.samples.put(name + "_count{" + plain + "}", format((double) histogram.count()));
        family.samples.put(name + "_sum{" + plain + "}", format(histogram.sumSeconds()));
        return this;
    }

    private static void buckets(Family family, String name, String before, String after, Histogram histogram) {
        long below = 0;
        for (int i = 0; i <= histogram.bounds().size(); i++) {
            below += histogram.counts().get(i);
            String bound = i == histogram.bounds().size()
                    ? "+Inf"
                    : format(histogram.bounds().get(i));
            String labels = join(join(before, "le=\"" + bound + "\""), after);
            family.samples.put(name + "_bucket{" + labels + "}", format((double) below));
        }
    }

    private static String join(String first, String second) {
        return first.isEmpty() || second.isEmpty() ? first + second : first + "," + second;
    }

    /** Leaves out a metric that is only there once it has counted something. */
    public MetricsPage without(String name) {
        families.remove(name);
        return this;
    }

    public MetricsPage withoutIfEmpty(String name) {
        return family(name).samples.isEmpty() ? without(name) : this;
    }

    public String text() {
        StringBuilder text = new StringBuilder();
        for (Family family : families.values()) {
            family.head.forEach(line -> text.append(line).append('\n'));
            family.samples.forEach((sample, value) ->
                    text.append(sample).append(' ').append(value).append('\n'));
        }
        return text.toString();
    }

    private Family family(String name) {
        Family family = families.get(name);
        if (family == null) {
            throw new IllegalArgumentException("There is no metric " + name + " on this page.");
        }
        return family;
    }

    /** Writes a number as Prometheus' Python client does: with a point, from a million on with an exponent. */
    public static String format(double value) {
        if (Double.isNaN(value)) {
            return "NaN";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "+Inf" : "-Inf";
        }
        String plain = number(value);
        int point = plain.indexOf('.');
        if (value <= 0 || point <= 6 || plain.indexOf('e') >= 0) {
            return plain;
        }
        String digits =
                new BigDecimal(plain).stripTrailingZeros().unscaledValue().toString();
        String mantissa = digits.length() == 1 ? digits : digits.charAt(0) + "." + digits.substring(1);
        return mantissa + "e+0" + (point - 1);
    }

    /** The shortest decimal number that is this one, with a point; very small and very large ones with an exponent. */
    public static String number(double value) {
        double size = Math.abs(value);
        String shortest = Double.toString(value);
        if (size == 0 || (size >= 1e-4 && size < 1e16)) {
            String plain = new BigDecimal(shortest).stripTrailingZeros().toPlainString();
            return plain.indexOf('.') < 0 ? plain + ".0" : plain;
        }
        String[] parts = shortest.split("E", 2);
        String digits = parts[0].endsWith(".0") ? parts[0].substring(0, parts[0].length() - 2) : parts[0];
        int exponent = Integer.parseInt(parts[1]);
        return digits + String.format(Locale.ROOT, "e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
    }
}
