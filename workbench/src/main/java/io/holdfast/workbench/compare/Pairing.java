package io.holdfast.workbench.compare;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.compare.Comparison.Row;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Finds what belongs together and refuses what must not be compared. */
final class Pairing {
    private final List<Named> files;
    private final List<List<Group>> groups;
    private final Set<String> differing;
    private final Set<String> telling = new TreeSet<>();
    private final List<String> warnings = new ArrayList<>();

    Pairing(List<Named> files, Set<String> only) {
        this.files = files;
        this.groups = files.stream()
                .map(file -> Group.of(file.results()).stream()
                        .filter(group -> only.isEmpty() || only.contains(group.workload()))
                        .toList())
                .toList();
        this.differing = differing();
        refuseNothing(only);
        names().filter(name -> !differing.contains(name))
                .filter(name ->
                        groups.stream().anyMatch(each -> values(each, name).size() > 1))
                .forEach(telling::add);
    }

    private void refuseNothing(Set<String> only) {
        for (int file = 0; file < files.size(); file++) {
            if (groups.get(file).isEmpty()) {
                throw new LoadTestException("The file " + files.get(file).name() + " has no workload "
                        + String.join(" or ", only) + "; it has "
                        + files.get(file).results().results().stream()
                                .map(LoadResult::workload)
                                .distinct()
                                .collect(Collectors.joining(", "))
                        + ".");
            }
        }
    }

    private Stream<String> names() {
        return groups.stream()
                .flatMap(List::stream)
                .flatMap(group -> group.settings().keySet().stream())
                .distinct();
    }

    private static Set<String> values(List<Group> of, String name) {
        return of.stream().map(group -> group.settings().getOrDefault(name, "")).collect(Collectors.toSet());
    }

    private Set<String> differing() {
        if (files.size() < 2) {
            return Set.of();
        }
        return names().filter(name ->
                        groups.stream().allMatch(each -> values(each, name).size() == 1))
                .filter(name -> groups.stream()
                                .map(each -> values(each, name))
                                .distinct()
                                .count()
                        > 1)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    Comparison comparison() {
        List<Row> rows = new ArrayList<>();
        List<Set<Group>> used =
                files.stream().<Set<Group>>map(file -> new HashSet<>()).toList();
        for (Group reference : groups.getFirst()) {
            List<Optional<Group>> found = new ArrayList<>();
            found.add(Optional.of(reference));
            for (int file = 1; file < files.size(); file++) {
                Optional<Group> match = match(reference, file);
                match.ifPresent(used.get(file)::add);
                int at = file;
                match.ifPresent(group -> check(reference, group, at));
                found.add(match);
            }
            if (files.size() == 1 || found.stream().filter(Optional::isPresent).count() > 1) {
                used.getFirst().add(reference);
                rows.add(new Row(reference.workload(), reference.label(telling), found));
            }
        }
        if (rows.isEmpty()) {
            throw new LoadTestException("The files have no workload with equal settings in common: "
                    + files.getFirst().name() + " has "
                    + groups.getFirst().stream()
                            .map(group -> group.label(telling))
                            .collect(Collectors.joining(", "))
                    + "; " + files.getLast().name() + " has "
                    + groups.getLast().stream()
                            .map(group -> group.label(telling))
                            .collect(Collectors.joining(", "))
                    + ".");
        }
        for (String name : differing) {
            warnings.addFirst((isTold(name) ? "The files differ in " : "Not every file tells ") + name + ": "
                    + IntStream.range(0, files.size())
                            .mapToObj(file -> files.get(file).name() + " "
                                    + Optional.of(value(file, name))
                                            .filter(value -> !value.isEmpty())
                                            .orElse("does not tell"))
                            .collect(Collectors.joining(", "))
                    + ".");
        }
        return new Comparison(
                files,
                differing,
                rows,
                alone(used),
                warnings.stream().distinct().toList());
    }

    /** Returns true if two files have different values of it, and not only one of them a value. */
    private boolean isTold(String name) {
        return IntStream.range(0, files.size())
                        .mapToObj(file -> value(file, name))
                        .filter(value -> !value.isEmpty())
                        .distinct()
                        .count()
                > 1;
    }

    private String value(int file, String name) {
        return values(groups.get(file), name).iterator().next();
    }

    private Map<String, List<String>> alone(List<Set<Group>> used) {
        Map<String, List<String>> alone = new LinkedHashMap<>();
        for (int file = 0; file < files.size(); file++) {
            Set<Group> paired = used.get(file);
            List<String> left = groups.get(file).stream()
                    .filter(group -> !paired.contains(group))
                    .map(group -> group.label(telling))
                    .toList();
            if (!left.isEmpty()) {
                alone.put(files.get(file).name(), left);
            }
        }
        return alone;
    }

    /**
     * Matches by workload and settings, else by id, else where there is only one of that workload, or only one at all.
     */
    private Optional<Group> match(Group reference, int file) {
        List<Group> candidates = groups.get(file);
        Optional<Group> equal = candidates.stream()
                .filter(group -> group.workload().equals(reference.workload()))
                .filter(group -> telling(group).equals(telling(reference)))
                .findFirst();
        if (equal.isPresent()) {
            return equal;
        }
        Optional<Group> byId = candidates.stream()
                .filter(group -> !reference.id().isEmpty() && group.id().equals(reference.id()))
                .findFirst();
        if (byId.isPresent()) {
            return byId;
        }
        List<Group> same = candidates.stream()
                .filter(group -> group.workload().equals(reference.workload()))
                .toList();
        boolean onlyOne = groups.getFirst().stream()
                        .filter(group -> group.workload().equals(reference.workload()))
                        .count()
                == 1;
        if (same.size() == 1 && onlyOne) {
            return Optional.of(same.getFirst());
        }
        return candidates.size() == 1 && groups.getFirst().size() == 1
                ? Optional.of(candidates.getFirst())
                : Optional.empty();
    }

    private Map<String, String> telling(Group group) {
        return group.settings().entrySet().stream()
                .filter(entry -> !differing.contains(entry.getKey()))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    private void check(Group reference, Group group, int file) {
        String names = files.getFirst().name() + " and " + files.get(file).name();
        Comparability.refuse(reference, group, names);
        Comparability.refuseSwitches(
                files.getFirst().results().environment(),
                files.get(file).results().environment(),
                names);
        Set<String> unequal = new TreeSet<>();
        Stream.concat(reference.settings().keySet().stream(), group.settings().keySet().stream())
                .filter(name -> !differing.contains(name))
                .filter(name -> !Optional.ofNullable(reference.settings().get(name))
                        .equals(Optional.ofNullable(group.settings().get(name))))
                .forEach(unequal::add);
        for (String name : unequal) {
            warnings.add(reference.label(telling) + " has unequal settings in " + names + ": " + name + " is "
                    + reference.settings().getOrDefault(name, "not told") + " and "
                    + group.settings().getOrDefault(name, "not told") + ".");
        }
        if (!reference.workload().equals(group.workload())) {
            warnings.add("In " + names + " '" + reference.workload() + "' is compared with '" + group.workload()
                    + "', the only results there are; that they sent the same load is not known.");
        } else if (reference.workloadIds().isEmpty() != group.workloadIds().isEmpty()) {
            warnings.add("That " + names + " sent the same requests as " + reference.workload()
                    + " is not known, for only one of them tells its workload's id.");
        }
        warnings.addAll(Comparability.warnings(reference, group, names));
    }
}
