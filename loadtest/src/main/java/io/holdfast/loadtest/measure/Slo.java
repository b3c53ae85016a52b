package io.holdfast.loadtest.measure;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Limits that a request has to keep to count as answered well enough: every limit that is given.
 *
 * @param limits milliseconds by quantity, each of one that a request has one value of
 */
public record Slo(Map<Quantity, Double> limits) {
    private static final Pattern LIMIT = Pattern.compile("(ttft|tpot|e2e)\\s*=\\s*(\\d+(?:\\.\\d+)?)(ms|s)");

    public Slo {
        limits = Map.copyOf(limits);
    }

    /** Reads {@code ttft=200ms,tpot=50ms,e2e=10s}. */
    public static Slo of(String text) {
        Map<Quantity, Double> limits = new LinkedHashMap<>();
        for (String part : text.split(",", -1)) {
            Matcher matcher = LIMIT.matcher(part.strip());
            if (!matcher.matches()) {
                throw new LoadTestException("The limit '" + part.strip()
                        + "' is not understood; write some of ttft=200ms,tpot=50ms,e2e=10s.");
            }
            double value = Double.parseDouble(matcher.group(2));
            limits.put(
                    Quantity.valueOf(matcher.group(1).toUpperCase(Locale.ROOT)),
                    matcher.group(3).equals("s") ? 1e3 * value : value);
        }
        return new Slo(limits);
    }

    /** Returns true if a request was answered, and within all limits. */
    boolean isMetBy(RequestRecord request) {
        return request.isOk()
                && limits.entrySet().stream().allMatch(limit -> {
                    OptionalDouble value = limit.getKey().of(request).findFirst();
                    return value.isPresent() && value.getAsDouble() <= limit.getValue();
                });
    }
}
