package io.holdfast.workbench.bed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Step;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.DoubleStream;

/** The samples of a run, joined with its legs and their steps by time. */
public final class SampleFile {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final List<Taken> all;

    private record Taken(int life, int position, Sample sample) {}

    private SampleFile(List<Taken> all) {
        this.all = List.copyOf(all);
    }

    public static SampleFile read(Path file) {
        List<Taken> all = new ArrayList<>();
        int number = 0;
        try {
            for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
                number++;
                if (!line.isBlank()) {
                    all.add(taken(JSON.readTree(line), file, number));
                }
            }
        } catch (NoSuchFileException e) {
            throw new LoadTestException(
                    "There are no samples at " + file + "; run the load test with --sample gpu,process,kvcached.", e);
        } catch (JsonProcessingException e) {
            throw new LoadTestException("Line " + number + " of " + file + " is no JSON; leave it out.", e);
        } catch (IOException e) {
            throw new LoadTestException("The samples " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
        return new SampleFile(all);
    }

    private static Taken taken(JsonNode line, Path file, int number) {
        if (line.path("format").asInt() != LegSampler.FORMAT
                || !line.path("values").isObject()) {
            throw new LoadTestException("Line " + number + " of " + file + " is no sample of format "
                    + LegSampler.FORMAT + "; name a file that 'loadtest run --sample' wrote.");
        }
        Map<String, Double> values = new LinkedHashMap<>();
        line.path("values")
                .properties()
                .forEach(value -> values.put(value.getKey(), value.getValue().asDouble()));
        return new Taken(
                line.path("life").asInt(),
                line.path("position").asInt(),
                new Sample(
                        line.path("source").asText(),
                        line.path("of").asText(),
                        line.path("atMillis").asDouble(),
                        values));
    }

    /**
     * Summary of a value over a leg, or over a step of it.
     *
     * @param step absent for the whole leg
     */
    public record Summary(
            LegRecord leg,
            Optional<Step> step,
            String source,
            String of,
            String value,
            int samples,
            double mean,
            double max) {}

    /** Summarises each leg in its order; a value that nobody reported has no line. */
    public List<Summary> byLeg(List<LegRecord> legs) {
        return legs.stream()
                .flatMap(leg -> summaries(leg, Optional.empty()).stream())
                .toList();
    }

    /** Summarises each step of each leg that a sample fell into. */
    public List<Summary> byStep(List<LegRecord> legs) {
        return legs.stream()
                .flatMap(leg -> leg.steps().stream().flatMap(step -> summaries(leg, Optional.of(step)).stream()))
                .toList();
    }

    private List<Summary> summaries(LegRecord leg, Optional<Step> step) {
        Map<List<String>, List<Double>> values = new LinkedHashMap<>();
        for (Taken taken : all) {
            double nanos = 1e6 * taken.sample().atMillis();
            boolean within =
                    step.map(of -> nanos >= of.began() && nanos < of.ended()).orElse(true);
            if (taken.life() == leg.life() && taken.position() == leg.position() && within) {
                Sample sample = taken.sample();
                sample.values()
                        .forEach((name, value) -> values.computeIfAbsent(
                                        List.of(sample.source(), sample.of(), name), key -> new ArrayList<>())
                                .add(value));
            }
        }
        List<Summary> summaries = new ArrayList<>();
        values.forEach((key, its) -> {
            DoubleStream numbers = its.stream().mapToDouble(Double::doubleValue);
            double max = its.stream().mapToDouble(Double::doubleValue).max().orElse(0);
            summaries.add(new Summary(
                    leg,
                    step,
                    key.get(0),
                    key.get(1),
                    key.get(2),
                    its.size(),
                    numbers.average().orElse(0),
                    max));
        });
        return summaries;
    }
}
