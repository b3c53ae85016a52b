package io.holdfast.workbench.bed;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A reading taken beside a leg at one time.
 *
 * @param source who told it: {@code nvidia-smi}, {@code process}, {@code kvcached} or {@code metrics}
 * @param of which GPU, process or segment
 * @param atMillis since the leg began
 * @param values by their names with units; what was not told is not there
 */
public record Sample(String source, String of, double atMillis, Map<String, Double> values) {
    public Sample {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }

    Sample at(double millis) {
        return new Sample(source, of, millis, values);
    }
}
