package io.holdfast.workbench.bed;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.run.AroundLegs;
import io.holdfast.loadtest.run.RunClock;
import java.io.FileWriter;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

/**
 * Samples beside legs: begins with each and ends with it, and writes what it took to a file once the leg is over, a
 * line of JSON for each sample, so that nothing is written while it is timed.
 */
public final class LegSampler implements AroundLegs {
    static final int FORMAT = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path file;
    private final Supplier<List<SampleSource>> sources;
    private final RunClock clock;
    private final ThreadFactory threads;
    private final ConcurrentLinkedQueue<Sample> taken = new ConcurrentLinkedQueue<>();
    private final List<SampleSource.Reading> readings = new ArrayList<>();

    /** @param sources asked before each leg, since a server that is started anew is another process */
    public LegSampler(Path file, Supplier<List<SampleSource>> sources, RunClock clock, ThreadFactory threads) {
        this.file = file;
        this.sources = sources;
        this.clock = clock;
        this.threads = threads;
    }

    /** Returns the file with the samples of a journal's run. */
    public static Path beside(Path journal) {
        return Path.of(journal + ".samples.jsonl");
    }

    @Override
    public void begins(PlannedLeg leg) {
        long began = clock.nanos();
        sources.get()
                .forEach(source -> readings.add(source.begin(
                        sample -> taken.add(sample.at((clock.nanos() - began) / 1e6)), threads, clock)));
    }

    @Override
    public void ended(PlannedLeg leg) {
        readings.forEach(SampleSource.Reading::close);
        readings.clear();
        List<String> lines = new ArrayList<>();
        for (Sample sample = taken.poll(); sample != null; sample = taken.poll()) {
            ObjectNode line = JSON.createObjectNode()
                    .put("format", FORMAT)
                    .put("life", leg.life())
                    .put("position", leg.position())
                    .put("atMillis", sample.atMillis())
                    .put("source", sample.source())
                    .put("of", sample.of());
            ObjectNode values = line.putObject("values");
            sample.values().forEach(values::put);
            lines.add(line.toString());
        }
        // A channel would be closed by a stop of the run, which interrupts.
        try (Writer out = new FileWriter(file.toFile(), StandardCharsets.UTF_8, true)) {
            for (String line : lines) {
                out.write(line + "\n");
            }
        } catch (IOException e) {
            throw new LoadTestException(
                    "The samples cannot be written to " + file + ": " + FileTrouble.why(e) + ".", e);
        }
    }
}
