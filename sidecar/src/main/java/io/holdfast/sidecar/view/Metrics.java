package io.holdfast.sidecar.view;

import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.config.MeterFilter;
import io.vertx.micrometer.Label;
import io.vertx.micrometer.MicrometerMetricsOptions;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * The sidecar's metrics in a registry. Views and counters are read when it is scraped, and nothing is counted twice. A reading
 * that the engine did not give is NaN.
 */
public final class Metrics {
    private static final Set<String> METHODS =
            Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT");

    private final MeterRegistry registry;

    public Metrics(MeterRegistry registry) {
        this.registry = registry;
    }

    /** Returns options for metrics of HTTP. Labels have closed sets of values: one that a client could choose would stay for good. */
    public static MicrometerMetricsOptions http() {
        return new MicrometerMetricsOptions()
                .setEnabled(true)
                // Vert.x keeps registries by name for the whole process, and gives the first one to all that share its.
                .setRegistryName(UUID.randomUUID().toString())
                .addLabels(Label.HTTP_CODE, Label.HTTP_ROUTE)
                .setServerRequestTagsProvider(
                        request -> Tags.of("method", method(request.method().name())));
    }

    /** Returns a filter that counts requests without a route under a name. */
    public static MeterFilter unmatchedRoutes() {
        return MeterFilter.replaceTagValues("route", route -> route.isEmpty() ? "unmatched" : route);
    }

    /** Returns a method of HTTP, or OTHER for any other word that a client wrote. */
    public static String method(String written) {
        return METHODS.contains(written) ? written : "OTHER";
    }

    public void follow(EventThread thread) {
        TimeGauge.builder("holdfast.poll.lag", thread, TimeUnit.NANOSECONDS, EventThread::lagNanos)
                .description("Time since the last round of the event thread")
                .register(registry);
        FunctionCounter.builder("holdfast.poll.hangs", thread, EventThread::hangs)
                .description("Times that the event thread hung and everything was released")
                .register(registry);
    }

    /** Removes the metrics of an engine. */
    public void forget(String engine) {
        registry.getMeters().stream()
                .filter(meter -> engine.equals(meter.getId().getTag("engine")))
                .forEach(registry::remove);
    }

    public void follow(EngineLink engine) {
        MetricTable.all().forEach(metric -> metric.register(engine, registry));
    }

    /** Returns the rows of the documentation's table, in alphabetical order. */
    public static List<String> documented() {
        return MetricTable.all().stream()
                .map(metric -> "| `" + metric.name().replace('.', '_') + (metric.counts() ? "_total" : "") + "` | "
                        + (metric.counts() ? "counter" : "gauge") + " | " + metric.unit() + " | "
                        + metric.series().getFirst().labels().and("engine", "").stream()
                                .map(Tag::getKey)
                                .collect(Collectors.joining(", "))
                        + " | " + metric.help() + " |")
                .sorted()
                .toList();
    }
}
