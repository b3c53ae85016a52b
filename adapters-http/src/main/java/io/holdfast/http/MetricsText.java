package io.holdfast.http;

import java.util.ArrayList;
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

    private final Map<String, List<Sample>> samples = new HashMap<>();

    private MetricsText() {}

    public static MetricsText parse(String page) {
        MetricsText metrics = new MetricsText();
        page.lines()
                .forEach(line -> new Line(line)
                        .sample()
                        .ifPresent(sample -> metrics.samples
                                .computeIfAbsent(sample.name, name -> new ArrayList<>())
                                .add(new Sample(sample.labels, sample.value))));
        return metrics;
    }

    /** All samples of this name, in the order of the page. */
    public List<Sample> samples(String name) {
        return List.copyOf(samples.getOrDefault(name, List.of()));
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

    private record Named(String name, Map<String, String> labels, double value) {}

    /** Reads one line from left to right; label values may hold any character, quotes and newlines escaped. */
    private static final class Line {
        private final String text;
        private int at;

        Line(String text) {
            this.text = text.strip();
        }

        Optional<Named> sample() {
            if (text.isEmpty() || text.charAt(0) == '#') {
                return Optional.empty();
            }
            String name = word();
            Map<String, String> labels = new HashMap<>();
            if (at < text.length() && text.charAt(at) == '{' && !labels(labels)) {
                return Optional.empty();
            }
            String[] rest = text.substring(at).strip().split("\\s+", 2);
            try {
                double value = Double.parseDouble(rest[0]);
                return name.isEmpty() || !Double.isFinite(value)
                        ? Optional.empty()
                        : Optional.of(new Named(name, labels, value));
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
