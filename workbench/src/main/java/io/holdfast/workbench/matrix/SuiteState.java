package io.holdfast.workbench.matrix;

import io.holdfast.workbench.load.LoadFolder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Progress of a suite of legs, and the verdicts on those that are over.
 *
 * @param parts how many legs are planned of each kind, which add up to all
 * @param missing ids of legs that are planned and not there, by group, in the order in which they run
 * @param planned how many legs of each group there are to be
 * @param verdicts on the legs that are there
 * @param last the leg that was planned last of those that are there
 */
public record SuiteState(
        List<Integer> parts,
        Map<String, List<String>> missing,
        Map<String, Integer> planned,
        List<LegVerdict> verdicts,
        Optional<String> last) {
    private static final int PARTS_OF_A_GROUP = 3;

    /** State of a suite, in a word or two. */
    public enum Word {
        COMPLETE("COMPLETE"),
        /** All legs are there, and some cannot be counted. */
        FAILED("FAILED"),
        PARTIAL("PARTIAL");

        private final String text;

        Word(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** Reads the state of a folder. */
    public static SuiteState of(LoadFolder folder) {
        return of(
                List.copyOf(folder.plan().legs().keySet()),
                folder.legs().stream().map(LegVerdict::of).toList());
    }

    static SuiteState of(List<String> plan, List<LegVerdict> verdicts) {
        Map<String, List<String>> missing = new LinkedHashMap<>();
        Map<String, Integer> planned = new LinkedHashMap<>();
        Map<String, Integer> parts = new LinkedHashMap<>();
        Set<String> there = verdicts.stream().map(LegVerdict::id).collect(Collectors.toCollection(LinkedHashSet::new));
        for (String id : plan) {
            String group = group(id);
            planned.merge(group, 1, Integer::sum);
            parts.merge(kind(id), 1, Integer::sum);
            if (!there.contains(id)) {
                missing.computeIfAbsent(group, any -> new ArrayList<>()).add(id);
            }
        }
        return new SuiteState(
                List.copyOf(parts.values()),
                missing,
                planned,
                verdicts,
                there.isEmpty()
                        ? Optional.empty()
                        : Optional.of(List.copyOf(there).getLast()));
    }

    /** Two users are one group; of the others a batch size, a state and a way of answering. */
    private static String group(String id) {
        return kind(id).equals(Staggered.GROUP) ? Staggered.GROUP : head(id, PARTS_OF_A_GROUP);
    }

    private static String kind(String id) {
        return head(id, 1);
    }

    private static String head(String id, int parts) {
        String[] all = id.split("/", -1);
        return String.join("/", List.of(all).subList(0, Math.min(parts, Math.max(1, all.length - 1))));
    }

    public int total() {
        return parts.stream().mapToInt(Integer::intValue).sum();
    }

    public int missingLegs() {
        return missing.values().stream().mapToInt(List::size).sum();
    }

    public int count(LegVerdict.Word word) {
        return (int) verdicts.stream().filter(each -> each.word() == word).count();
    }

    /** Returns the state: a planned leg that is missing, or cannot be counted, shows in it. */
    public Word word() {
        if (!missing.isEmpty()) {
            return Word.PARTIAL;
        }
        return verdicts.stream().allMatch(LegVerdict::counts) ? Word.COMPLETE : Word.FAILED;
    }

    /** Returns the line {@code PARTIAL: 115 of 204 legs (56.4 %): 114 OK, 1 WARN, 0 FAIL, 0 INVALID}. */
    public String headline() {
        int there = total() - missingLegs();
        return String.format(
                        Locale.ROOT,
                        "%s: %d of %d legs (%.1f %%): ",
                        word(),
                        there,
                        total(),
                        100.0 * there / Math.max(1, total()))
                + List.of(LegVerdict.Word.values()).stream()
                        .map(each -> count(each) + " " + each)
                        .collect(Collectors.joining(", "));
    }

    /** Returns the missing legs, a line for each group; empty where nothing is missing. */
    public List<String> missingLines() {
        List<String> lines = new ArrayList<>();
        int width = missing.keySet().stream().mapToInt(String::length).max().orElse(0);
        missing.forEach((group, ids) -> lines.add(String.format(
                Locale.ROOT,
                "%-" + width + "s  %3d  %s",
                group,
                ids.size(),
                ids.size() == planned.getOrDefault(group, 0) ? "all of them" : single(ids))));
        return lines;
    }

    /** Returns a text such as {@code 4096tok pass 2-3, 8192tok pass 1-3}. */
    private static String single(List<String> ids) {
        Map<String, List<Integer>> passes = new LinkedHashMap<>();
        for (String id : ids) {
            String[] all = id.split("/", -1);
            String pass = all[all.length - 1].replaceAll("\\D", "");
            String of = kind(id).equals(Staggered.GROUP) ? all[1] + " " + all[2] : all[Math.max(0, all.length - 2)];
            passes.computeIfAbsent(of, any -> new ArrayList<>()).add(pass.isEmpty() ? 0 : Integer.parseInt(pass));
        }
        return passes.entrySet().stream()
                .map(each -> each.getKey() + " pass " + ranges(each.getValue()))
                .collect(Collectors.joining(", "));
    }

    private static String ranges(List<Integer> numbers) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < numbers.size(); i++) {
            int from = i;
            while (i + 1 < numbers.size() && numbers.get(i + 1) == numbers.get(i) + 1) {
                i++;
            }
            text.append(text.isEmpty() ? "" : " ").append(numbers.get(from));
            text.append(i == from ? "" : "-" + numbers.get(i));
        }
        return text.toString();
    }
}
