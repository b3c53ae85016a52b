package io.holdfast.workbench.compare;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Conditions that must be equal on both sides of a comparison. */
final class Comparability {
    private static final String ORIGIN = "origin";

    /** Variables that change what is measured. */
    private static final List<String> SWITCHES = List.of("CUDA_LAUNCH_BLOCKING");

    /** Moments from which times to the first token are counted, by the metric that tells. */
    private static final Map<String, String> ORIGINS = Map.of(
            "ttft_p50", "when a request was sent",
            "ttft_scheduled_p50", "when its turn came",
            "first_chunk_p50", "when it was sent, to a chunk that may hold no token",
            "user_b_ttft_from_wall_start", "when the first of two users asked");

    /** Shares of cached tokens that lie further apart are not those of one state of the cache. */
    private static final double UNEQUAL_SHARES = 0.05;

    private Comparability() {}

    static void refuse(Group one, Group other, String names) {
        Set<String> ids = one.workloadIds();
        Set<String> others = other.workloadIds();
        if (!ids.isEmpty() && !others.isEmpty() && !ids.equals(others)) {
            throw new LoadTestException("The workload " + one.workload() + " is not the same in " + names
                    + " (ids " + shortened(ids) + " and " + shortened(others)
                    + "): other requests were sent, so no difference means anything; run both with one workload.");
        }
        refuseSwitches(one.settings(), other.settings(), names);
        String origin = one.settings().getOrDefault(ORIGIN, "");
        String another = other.settings().getOrDefault(ORIGIN, "");
        if (!origin.equals(another)) {
            throw new LoadTestException("The times of " + one.workload() + " in " + names + " count from "
                    + Optional.of(origin).filter(text -> !text.isEmpty()).orElse("an origin that is not told") + " and "
                    + Optional.of(another).filter(text -> !text.isEmpty()).orElse("an origin that is not told")
                    + "; compare times from one origin.");
        }
        Set<String> starts = origins(one);
        Set<String> otherStarts = origins(other);
        if (!starts.isEmpty()
                && !otherStarts.isEmpty()
                && starts.stream().noneMatch(otherStarts::contains)
                && !starts.contains("first_chunk_p50")
                && !otherStarts.contains("first_chunk_p50")) {
            throw new LoadTestException("The times to first token of " + one.workload() + " in " + names
                    + " count from different moments: " + told(starts) + "; and " + told(otherStarts)
                    + "; compare results that have one of them in common.");
        }
    }

    /** Returns reasons why figures are less comparable than they look, a sentence each. */
    static List<String> warnings(Group one, Group other, String names) {
        List<String> said = new ArrayList<>();
        Set<String> starts = origins(one);
        Set<String> others = origins(other);
        if (!starts.isEmpty() && !others.isEmpty() && starts.stream().noneMatch(others::contains)) {
            said.add("Times to first token are not comparable in " + names
                    + ": one is to the first output, the other to a first chunk that may hold none.");
        }
        double[] found = one.values(Metric.CACHED_SHARE);
        double[] alsoFound = other.values(Metric.CACHED_SHARE);
        if (found.length > 0 && alsoFound.length > 0) {
            double mine = Change.mean(found);
            double theirs = Change.mean(alsoFound);
            if (Math.abs(mine - theirs) > UNEQUAL_SHARES) {
                said.add("In " + names + " " + Metric.CACHED_SHARE.shown(mine) + " and "
                        + Metric.CACHED_SHARE.shown(theirs) + " of the prompts' tokens of " + one.workload()
                        + " were cached: times to first token and throughput follow from that. Where it is not what was"
                        + " changed, one cache was warmer than the other; measure both from an empty one.");
            }
        }
        Stream.of(one, other)
                .flatMap(group -> group.runs().stream())
                .forEach(run -> run.notes().forEach(note -> said.add(run.id() + " in " + names + ": " + note)));
        return said;
    }

    private static Set<String> origins(Group group) {
        return ORIGINS.keySet().stream()
                .filter(name -> Metric.named(name).filter(group::has).isPresent())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String told(Set<String> origins) {
        return origins.stream()
                .map(name -> name + " from " + Objects.requireNonNull(ORIGINS.get(name)))
                .collect(Collectors.joining(", "));
    }

    /** Variables that change what is measured have to be alike in both. */
    static void refuseSwitches(Map<String, String> one, Map<String, String> other, String names) {
        Map<String, String> mine = switches(one);
        Map<String, String> theirs = switches(other);
        for (String name : SWITCHES) {
            String value = mine.getOrDefault(name, "");
            String another = theirs.getOrDefault(name, "");
            if (!value.equals(another)) {
                throw new LoadTestException(name + " is "
                        + (value.isEmpty() ? "not set" : value) + " and "
                        + (another.isEmpty() ? "not set" : another) + " in " + names
                        + "; it changes what is measured, so run both with the same.");
            }
        }
    }

    private static Map<String, String> switches(Map<String, String> settings) {
        Map<String, String> found = new LinkedHashMap<>();
        settings.forEach((name, value) -> SWITCHES.stream()
                .filter(each -> name.equals(each) || name.endsWith("." + each))
                .forEach(each -> found.put(each, value)));
        return found;
    }

    private static String shortened(Set<String> ids) {
        return ids.stream().map(id -> id.length() > 8 ? id.substring(0, 8) : id).collect(Collectors.joining(" "));
    }
}
