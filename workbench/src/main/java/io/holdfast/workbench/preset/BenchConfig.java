package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.StrictYaml;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * kvcached's {@code bench-config.yaml}: which models are benchmarked, with how much, and how kvcached is set.
 *
 * @param pageMegabytes of kvcached's pages
 */
public record BenchConfig(
        List<Model> models,
        List<Double> rates,
        int requests,
        int inputTokens,
        int outputTokens,
        Optional<Double> gpuUtilization,
        Optional<Integer> pageMegabytes) {
    private static final int MOST_PORT = 65_535;
    private static final int MOST = 1_000_000;
    private static final int MOST_MEGABYTES = 1_024;

    /**
     * A model that is served at a port of its own.
     *
     * @param name in reports
     * @param path by which a server loads it
     */
    public record Model(String name, String path, int port) {}

    public BenchConfig {
        models = List.copyOf(models);
        rates = List.copyOf(rates);
    }

    /** Reads one; a key that is not known and a value that is none are refused with the key's path. */
    public static BenchConfig read(Path file) {
        return of(file.toString(), StrictYaml.textOf(file, "name a bench-config.yaml"));
    }

    static BenchConfig of(String source, String text) {
        StrictYaml root = StrictYaml.document(source, text).only("models", "benchmark", "kvcached");
        StrictYaml benchmark = root.at("benchmark").only("request_rates", "num_requests", "input_len", "output_len");
        Optional<StrictYaml> kvcached =
                root.at("kvcached").there().map(its -> its.only("gpu_utilization", "page_size_mb"));
        return new BenchConfig(
                root.at("models").filled("is a list of models with 'name', 'path' and 'port' each").stream()
                        .map(BenchConfig::model)
                        .toList(),
                benchmark.at("request_rates").filled("is a list of requests a second, as [1, 2, 4]").stream()
                        .map(rate -> rate.number(value -> value > 0, "is a number of requests a second"))
                        .toList(),
                benchmark.at("num_requests").whole(1, MOST),
                benchmark.at("input_len").whole(1, MOST),
                benchmark.at("output_len").whole(1, MOST),
                kvcached.flatMap(its -> its.at("gpu_utilization").there())
                        .map(share ->
                                share.number(value -> value > 0 && value <= 1, "is a number above 0 and at most 1")),
                kvcached.flatMap(its -> its.at("page_size_mb").there()).map(page -> page.whole(1, MOST_MEGABYTES)));
    }

    private static Model model(StrictYaml model) {
        model.only("name", "path", "port");
        return new Model(
                model.at("name").text(),
                model.at("path").text(),
                model.at("port").whole(1, MOST_PORT));
    }

    /** The model of that name. */
    public Model model(String name) {
        return models.stream()
                .filter(each -> each.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new LoadTestException("The configuration has no model '" + name + "'; it has "
                        + String.join(", ", models.stream().map(Model::name).toList()) + "."));
    }
}
