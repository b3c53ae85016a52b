package io.holdfast.workbench.compare;

import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Results of one file with one workload and equal settings, under whatever ids: each is a repetition of the others.
 *
 * @param settings all of them but what counts repetitions; with the file's model
 */
public record Group(String workload, Map<String, String> settings, List<LoadResult> runs) {
    /** Settings that count repetitions tell no configurations apart. */
    private static final Set<String> COUNTS = Set.of("pass", "run", "repeat", "repetition", "life", "pair");

    private static final Pattern COUNT =
            Pattern.compile("/(?:pass|run|repeat|rep|repetition|life|pair)[-_]?\\d+(?:-\\d+)?$");

    private static final String MODEL = "model";
    private static final String UNKNOWN = "unknown";

    public Group {
        settings = Collections.unmodifiableMap(new TreeMap<>(settings));
        runs = List.copyOf(runs);
    }

    private record Key(String workload, Map<String, String> settings, String id) {}

    /** Returns the groups of a file, in its order. */
    public static List<Group> of(ResultFile file) {
        Map<Key, List<LoadResult>> groups = new LinkedHashMap<>();
        for (LoadResult result : file.results()) {
            Map<String, String> settings = new TreeMap<>(result.settings());
            settings.keySet().removeAll(COUNTS);
            // Where nothing is told of how it was run, ids are all there is to tell things apart.
            String id = settings.isEmpty() ? stem(result.id()) : "";
            if (!file.model().equals(UNKNOWN)) {
                settings.putIfAbsent(MODEL, file.model());
            }
            groups.computeIfAbsent(new Key(result.workload(), settings, id), any -> new ArrayList<>())
                    .add(result);
        }
        return groups.entrySet().stream()
                .map(entry ->
                        new Group(entry.getKey().workload(), entry.getKey().settings(), entry.getValue()))
                .toList();
    }

    /** An id without what counts repetitions. */
    static String stem(String id) {
        return COUNT.matcher(id).replaceFirst("");
    }

    /** The id without counts, where all runs have the same. */
    String id() {
        Set<String> ids = runs.stream().map(run -> stem(run.id())).collect(Collectors.toCollection(TreeSet::new));
        return ids.size() == 1 ? ids.iterator().next() : "";
    }

    /** Returns the values of all runs that have it. */
    public double[] values(Metric metric) {
        return runs.stream()
                .map(run -> run.measures().of(metric))
                .flatMapToDouble(OptionalDouble::stream)
                .toArray();
    }

    public boolean has(Metric metric) {
        return runs.stream().anyMatch(run -> run.measures().of(metric).isPresent());
    }

    Set<String> workloadIds() {
        return runs.stream().flatMap(run -> run.workloadId().stream()).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns why it has no figures, where that is known. */
    Optional<String> failure() {
        return runs.stream().flatMap(run -> run.failures().keySet().stream()).findFirst();
    }

    /** Returns the tools that measured it. */
    public Set<String> sources() {
        return runs.stream().map(LoadResult::source).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Its workload and those settings, as {@code prefill model=llama}. */
    String label(Set<String> names) {
        String told = names.stream()
                .filter(settings::containsKey)
                .map(name -> name + "=" + settings.get(name))
                .collect(Collectors.joining(" "));
        return told.isEmpty() ? workload : workload + " " + told;
    }
}
