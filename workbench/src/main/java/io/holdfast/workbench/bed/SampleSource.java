package io.holdfast.workbench.bed;

import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading;
import io.holdfast.loadtest.CsvLine;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Something that is read again and again beside a leg. */
public interface SampleSource {
    /** Reading under way; closed when the leg is over, and gone when that returns. */
    interface Reading extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Begins to read.
     *
     * @param taken told each sample, with whatever time it has
     */
    Reading begin(Consumer<Sample> taken, ThreadFactory threads, RunClock clock);

    /** Polls readings at an even pace, the first time at once. */
    static SampleSource polled(Supplier<List<Sample>> readings, Duration every) {
        return (taken, threads, clock) -> {
            Thread thread = threads.newThread(() -> {
                long next = clock.nanos();
                try {
                    while (!Thread.currentThread().isInterrupted()) {
                        readings.get().forEach(taken);
                        next += every.toNanos();
                        clock.sleepUntil(next);
                    }
                } catch (LoadTestException e) {
                    // That is how waiting ends when the leg is over.
                }
            });
            thread.start();
            return () -> {
                thread.interrupt();
                join(thread);
            };
        };
    }

    /** CPU and memory of a server's process and all that it started. */
    static SampleSource process(ServerProcess process, RunClock clock, Duration every) {
        double[] before = {Double.NaN, 0};
        return polled(
                () -> {
                    Map<String, Double> values = new LinkedHashMap<>();
                    process.cpuSeconds().ifPresent(seconds -> {
                        double now = clock.nanos() / 1e9;
                        if (!Double.isNaN(before[0]) && now > before[1]) {
                            values.put("cpu [cores]", Math.max(0, seconds - before[0]) / (now - before[1]));
                        }
                        before[0] = seconds;
                        before[1] = now;
                    });
                    process.residentMebibytes().ifPresent(mebibytes -> values.put("memory.resident [MiB]", mebibytes));
                    return values.isEmpty()
                            ? List.of()
                            : List.of(new Sample("process", Long.toString(process.pid()), 0, values));
                },
                every);
    }

    /** The segments of a folder: what is mapped of what may be. */
    static SampleSource segments(Path folder, Duration every) {
        return polled(
                () -> {
                    List<Sample> samples = new ArrayList<>();
                    for (Path file : SegmentReader.find(folder)) {
                        if (SegmentReader.read(file) instanceof SegmentReading.Segment segment) {
                            Map<String, Double> values = new LinkedHashMap<>();
                            values.put("memory.limit [MiB]", mebibytes(segment.limitBytes()));
                            values.put("memory.used [MiB]", mebibytes(segment.usedBytes()));
                            values.put("memory.preallocated [MiB]", mebibytes(segment.preallocatedBytes()));
                            values.put("memory.share [%]", 100.0 * segment.mappedBytes() / segment.limitBytes());
                            samples.add(new Sample("kvcached", String.valueOf(file.getFileName()), 0, values));
                        }
                    }
                    return samples;
                },
                every);
    }

    private static double mebibytes(long bytes) {
        return bytes / (double) (1 << 20);
    }

    /** Reads nvidia-smi's line of each GPU; it keeps the pace itself, and ends with the leg. */
    static SampleSource gpus(Path tool, Duration every) {
        return (taken, threads, clock) -> {
            try {
                Process process = new ProcessBuilder(
                                tool.toString(),
                                "--query-gpu=index,memory.used,memory.free,utilization.gpu",
                                "--format=csv",
                                every.toMillis() % 1_000 == 0 ? "-l" : "-lms",
                                Long.toString(every.toMillis() % 1_000 == 0 ? every.toSeconds() : every.toMillis()))
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
                process.getOutputStream().close();
                Thread thread = threads.newThread(() -> read(process, taken));
                thread.start();
                return () -> {
                    List<ProcessHandle> family = process.descendants().toList();
                    process.destroy();
                    end(process);
                    // One that it left behind would hold the pipe open.
                    family.forEach(ProcessHandle::destroyForcibly);
                    join(thread);
                };
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        };
    }

    private static void read(Process process, Consumer<Sample> taken) {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            Optional<List<String>> columns = Optional.empty();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                List<String> fields = CsvLine.of(line).fields();
                if (columns.isEmpty() && fields.getFirst().equals("index")) {
                    columns = Optional.of(fields);
                } else if (columns.isPresent()) {
                    taken.accept(sample(columns.get(), fields));
                }
            }
        } catch (IOException e) {
            // It was ended in the middle of a line.
        }
    }

    private static Sample sample(List<String> columns, List<String> fields) {
        Map<String, Double> values = new LinkedHashMap<>();
        for (int i = 1; i < Math.min(columns.size(), fields.size()); i++) {
            String name = columns.get(i);
            CsvTable.number(fields.get(i)).ifPresent(number -> values.put(name, number));
        }
        return new Sample(Gpus.TOOL, fields.getFirst(), 0, values);
    }

    private static void end(Process process) {
        try {
            if (!process.waitFor(2, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                process.waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
