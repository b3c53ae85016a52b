package io.holdfast.app;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Licences that may ship, and the choice among several that one component offers.
 *
 * @param accepted address of the text by licence
 * @param chosen licence by the beginning of a component's coordinates
 */
record Licences(Map<String, String> accepted, Map<String, String> chosen) {
    private static final String OWN = "io.holdfast";

    /** A component of a bill of materials. */
    private record Component(String coordinates, String version, List<String> offered) {}

    /** Reads both tables of a file: rows whose first cell is in backticks, the second table below its heading. */
    static Licences read(Path file) throws IOException {
        Map<String, String> accepted = new TreeMap<>();
        Map<String, String> chosen = new TreeMap<>();
        boolean choices = false;
        for (String line : Files.readAllLines(file)) {
            choices |= line.equals("## Chosen where several are offered");
            if (line.startsWith("| `")) {
                String[] cells = line.substring(2).split(" \\| ", 3);
                (choices ? chosen : accepted).put(bare(cells[0]), choices ? bare(cells[1]) : cells[1]);
            }
        }
        return new Licences(accepted, chosen);
    }

    private static String bare(String cell) {
        return cell.replace("`", "").strip();
    }

    /** Returns the page of third parties; fails with one sentence for a component that may not ship. */
    String page(JsonNode bill) {
        Map<String, String> rows = new TreeMap<>();
        for (Component component : components(bill)) {
            rows.put(
                    component.coordinates,
                    "| " + component.coordinates + " | " + component.version + " | " + used(component) + " |\n");
        }
        StringBuilder page = new StringBuilder("""
            # Third parties

            Libraries that ship with Holdfast, and the licence under which each is used. Their jars are unchanged, \
            with the notices that are in them. The source of each is published beside its jar in Maven Central, under \
            the same name and version with the classifier `sources`. `LicencesTest` writes this page.

            | licence | text |
            |---|---|
            """);
        accepted.forEach((licence, text) ->
                page.append("| ").append(licence).append(" | ").append(text).append(" |\n"));
        page.append("\n| library | version | licence |\n|---|---|---|\n").append(String.join("", rows.values()));
        return page.toString();
    }

    /** Returns the rows that no component needs. */
    Set<String> unused(JsonNode bill) {
        Set<String> left = new TreeSet<>(accepted.keySet());
        left.addAll(chosen.keySet());
        for (Component component : components(bill)) {
            left.remove(used(component));
            left.removeIf(key -> component.coordinates.startsWith(key) && component.offered.size() > 1);
        }
        return left;
    }

    private static List<Component> components(JsonNode bill) {
        List<Component> found = new ArrayList<>();
        for (JsonNode each : bill.path("components")) {
            String group = each.path("group").asText();
            if (!group.equals(OWN)) {
                List<String> offered = new ArrayList<>();
                for (JsonNode licence : each.path("licenses")) {
                    JsonNode named = licence.path("license");
                    offered.add(Stream.of(licence.path("expression"), named.path("id"), named.path("name"))
                            .filter(JsonNode::isTextual)
                            .map(JsonNode::asText)
                            .findFirst()
                            .orElse("a licence without a name"));
                }
                found.add(new Component(
                        group + ":" + each.path("name").asText(),
                        each.path("version").asText(),
                        offered.stream().distinct().toList()));
            }
        }
        return found;
    }

    private String used(Component component) {
        if (component.offered.isEmpty()) {
            throw refusal(
                    component,
                    "names no licence; find out which one it has, and choose another library where it"
                            + " has none, or choose one for it");
        }
        String used = component.offered.getFirst();
        if (component.offered.size() > 1) {
            used = chosen.entrySet().stream()
                    .filter(choice -> component.coordinates.startsWith(choice.getKey())
                            && component.offered.contains(choice.getValue()))
                    .map(Map.Entry::getValue)
                    .findFirst()
                    .orElseThrow(() -> refusal(
                            component,
                            "offers " + String.join(" and ", component.offered)
                                    + ", and no row chooses; choose one of them"));
        }
        if (!accepted.containsKey(used)) {
            throw refusal(
                    component,
                    "ships under " + used + ", which is not accepted; choose another library, or give the licence a"
                            + " row with the reason");
        }
        return used;
    }

    private static AssertionError refusal(Component component, String why) {
        return new AssertionError(component.coordinates + " " + component.version + " " + why + " in licences.md.");
    }
}
