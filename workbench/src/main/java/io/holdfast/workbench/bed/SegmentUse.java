package io.holdfast.workbench.bed;

import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.BesideLeg;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadFactory;

/**
 * The memory under kvcached while a leg runs, over all segments of the machine: the most that was in use, and how much
 * of that had been given back by the end.
 */
public final class SegmentUse implements BesideLeg {
    private static final String USED = "memory.used [MiB]";
    private static final String LIMIT = "memory.limit [MiB]";

    private final ConcurrentLinkedQueue<Sample> taken = new ConcurrentLinkedQueue<>();
    private final SampleSource.Reading reading;

    private SegmentUse(SampleSource segments, ThreadFactory threads, RunClock clock) {
        this.reading = segments.begin(taken::add, threads, clock);
    }

    /** Begins to read; segments that are not there yet may come. */
    public static BesideLeg begin(SampleSource segments, ThreadFactory threads, RunClock clock) {
        return new SegmentUse(segments, threads, clock);
    }

    @Override
    public Map<String, String> ended() {
        reading.close();
        Map<String, List<Sample>> segments = new LinkedHashMap<>();
        taken.forEach(sample ->
                segments.computeIfAbsent(sample.of(), any -> new ArrayList<>()).add(sample));
        double most = 0;
        double last = 0;
        double limit = 0;
        for (List<Sample> samples : segments.values()) {
            most += samples.stream()
                    .mapToDouble(sample -> value(sample, USED))
                    .max()
                    .orElse(0);
            last += value(samples.getLast(), USED);
            limit += value(samples.getLast(), LIMIT);
        }
        if (limit <= 0) {
            return Map.of();
        }
        Map<String, String> notes = new LinkedHashMap<>();
        notes.put("kvcached_limit_mib", shown(limit));
        notes.put("kvcached_most_used_mib", shown(most));
        notes.put("kvcached_most_used_percent", shown(100 * most / limit));
        notes.put("kvcached_given_back_mib", shown(Math.max(0, most - last)));
        return notes;
    }

    private static double value(Sample sample, String name) {
        return sample.values().getOrDefault(name, 0.0);
    }

    private static String shown(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
