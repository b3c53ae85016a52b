package io.holdfast.workbench.compare;

import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.compare.Comparison.Named;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Result files made by hand. */
final class Files {
    private final String name;
    private final Map<String, String> environment = new LinkedHashMap<>();
    private final List<LoadResult> results = new ArrayList<>();
    private Optional<String> id = Optional.empty();

    private Files(String name) {
        this.name = name;
    }

    static Files file(String name) {
        return new Files(name);
    }

    /** The id of the workload of all that follows. */
    Files of(String workloadId) {
        id = Optional.of(workloadId);
        return this;
    }

    Files environment(String key, String value) {
        environment.put(key, value);
        return this;
    }

    /** One run, with settings such as {@code model=llama rate=4} and metrics and values in turn. */
    Files run(String workload, String settings, Object... metrics) {
        Map<String, String> all = new LinkedHashMap<>();
        for (String each : settings.isBlank() ? new String[0] : settings.split(" ", -1)) {
            all.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        Map<Metric, Double> values = new LinkedHashMap<>();
        for (int i = 0; i < metrics.length; i += 2) {
            values.put(Metric.named((String) metrics[i]).orElseThrow(), ((Number) metrics[i + 1]).doubleValue());
        }
        results.add(new LoadResult(
                workload + "/run" + (results.size() + 1),
                workload,
                id,
                "test",
                all,
                48,
                Map.of(),
                new Measures(values)));
        return this;
    }

    /** A run for each value of one metric. */
    Files runs(String workload, String settings, String metric, double... values) {
        for (double value : values) {
            run(workload, settings, metric, value);
        }
        return this;
    }

    Named done() {
        return new Named(name, new ResultFile(name, "unknown", "now", environment, results));
    }
}
