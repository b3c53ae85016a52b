package io.holdfast.http;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The samples of a metrics page in Prometheus' text form.
 *
 * <p>Lines that are no samples are left out, and so are values that are no numbers: what is absent here is unknown.
 */
public final class MetricsText {
    /** One line: a name, its labels and a finite value. */
    public record Sample(Map<String, String> labels, double value) {
        public Sample {
            labels = Map.copyOf(labels);
        }

        public String label(String name) {
            return labels.getOrDefault(name, "");
        }
    }

    private final String page;
    /** Starts of its lines, except those that are empty or a comment. */
    private final int[] lines;

    private MetricsText(String page, int[] lines) {
        this.page = page;
        this.lines = lines;
    }

    /**
     * Only requested metrics are parsed: a page has a thousand lines, a reading wants fifteen of them, twice a second.
     */
    public static MetricsText parse(String page) {
        int[] lines = new int[64];
        int count = 0;
        int next;
        for (int from = 0; from < page.length(); from = next) {
            int end = page.indexOf('\n', from);
            next = end < 0 ? page.length() : end + 1;
            int start = from;
            while (start < next && Character.isWhitespace(page.charAt(start))) {
                start++;
            }
            if (start < next && page.charAt(start) != '#') {
                if (count == lines.length) {
                    lines = Arrays.copyOf(lines, count << 1);
                }
                lines[count++] = start;
            }
        }
        return new MetricsText(page, Arrays.copyOf(lines, count));
    }

    /** Returns true if the page has a line that begins like this, such as one of an engine's own metrics. */
    public boolean has(String prefix) {
        return Arrays.stream(lines).anyMatch(line -> page.startsWith(prefix, line));
    }

    /** All samples of this name, in the order of the page. */
    public List<Sample> samples(String name) {
        List<Sample> samples = new ArrayList<>();
        for (int line : lines) {
            if (page.startsWith(name, line)) {
                int end = page.indexOf('\n', line);
                new Line(page.substring(line, end < 0 ? page.length() : end))
                        .sample(name)
                        .ifPresent(samples::add);
            }
        }
        return List.copyOf(samples);
    }

    /** The sum over all samples of this name; empty when there is none. */
    public OptionalDouble sum(String name) {
        return sum(samples(name));
    }

    /** The sum over the samples of this name that have this value of the label; empty when there is none. */
    public OptionalDouble sum(String name, String label, String value) {
        return sum(samples(name).stream()
                .filter(sample -> sample.label(label).equals(value))
                .toList());
    }

    private static OptionalDouble sum(List<Sample> samples) {
        return samples.isEmpty()
                ? OptionalDouble.empty()
                : OptionalDouble.of(samples.stream().mapToDouble(Sample::value).sum());
    }

    /** Reads one line from left to right; label values may hold any character, quotes and newlines escaped. */
    private static final class Line {
        private final String text;
        private int at;

        Line(String text) {
            this.text = text.strip();
        }

        /** The sample, where that is its whole name. */
        Optional<Sample> sample(String name) {
            if (!word().equals(name)) {
                return Optional.empty();
            }
            Map<String, String> labels = new HashMap<>();
            if (at < text.length() && text.charAt(at) == '{' && !labels(labels)) {
                return Optional.empty();
            }
            String[] rest = text.substring(at).strip().split("\\s+", 2);
            try {
                double value = Double.parseDouble(rest[0]);
                return Double.isFinite(value) ? Optional.of(new Sample(labels, value)) : Optional.empty();
            } catch (NumberFormatException e) {
                return Optional.empty();
            }
        }

        private String word() {
            int start = at;
            while (at < text.length() && " \t{=,}\"".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            return text.substring(start, at);
        }

        private boolean labels(Map<String, String> labels) {
            at++;
            while (true) {
                skip(" \t,");
                if (at < text.length() && text.charAt(at) == '}') {
                    at++;
                    return true;
                }
                String label = word();
                skip(" \t");
                if (!take('=')) {
                    return false;
                }
                skip(" \t");
                StringBuilder value = new StringBuilder();
                if (!take('"') || !quoted(value)) {
                    return false;
                }
                labels.put(label, value.toString());
            }
        }

        private boolean quoted(StringBuilder value) {
            while (at < text.length()) {
                char c = text.charAt(at++);
                if (c == '"') {
                    return true;
                }
                if (c == '\\' && at < text.length()) {
                    char escaped = text.charAt(at++);
                    value.append(escaped == 'n' ? '\n' : escaped);
                } else {
                    value.append(c);
                }
            }
            return false;
        }

        private void skip(String characters) {
            while (at < text.length() && characters.indexOf(text.charAt(at)) >= 0) {
                at++;
            }
        }

        private boolean take(char wanted) {
            boolean there = at < text.length() && text.charAt(at) == wanted;
            if (there) {
                at++;
            }
            return there;
        }
    }
}
