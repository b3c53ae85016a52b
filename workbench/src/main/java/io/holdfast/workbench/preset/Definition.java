package io.holdfast.workbench.preset;

import io.holdfast.loadtest.StrictYaml;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Times;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A preset as its file declares it. The loads that it sends follow in the same file, a document each.
 *
 * @param does what it does, in a sentence
 * @param explains the paragraphs of its help
 * @param examples the last lines of its help
 * @param leaves names of the files that it leaves beside plan.json and legs/
 * @param asks {@code tokens} or {@code chat}, where requests are sent so unless the user chooses otherwise
 * @param warmUps requests that warm up each life of the server, beside those that a load has of its own
 * @param cooldown time between two legs in which nothing is sent
 * @param requestTimeout the most that a request may take
 * @param limit name of the parameter that says how many requests of each load are sent at most
 * @param loads text of the loads, in which {@code ${name}} stands for the value of a parameter
 */
public record Definition(
        String name,
        String does,
        List<String> explains,
        List<String> examples,
        List<String> leaves,
        Optional<String> asks,
        int warmUps,
        Duration cooldown,
        Duration requestTimeout,
        Optional<String> limit,
        List<Parameter> parameters,
        String loads) {
    /** A server that is far behind takes minutes, which are to be reported and not cut off. */
    private static final Duration LONG = Duration.ofMinutes(20);

    private static final String NEXT_DOCUMENT = "\n---\n";

    /**
     * A value that a user may choose.
     *
     * @param label the value's placeholder in the help
     * @param value the default
     * @param otherwise what holds without a value, in words
     * @param range of a whole number, as {@code 1..100} or {@code 1..}
     * @param isRepeated true if it may be given several times
     * @param isFlag true if it is given without a value
     * @param former names that it had before
     */
    public record Parameter(
            String name,
            String label,
            Optional<String> value,
            Optional<String> otherwise,
            Optional<String> range,
            boolean isRequired,
            boolean isRepeated,
            boolean isFlag,
            List<String> former,
            String says) {
        /** Returns the sentence of the help. */
        public String help() {
            return says
                    + value.or(() -> otherwise)
                            .map(its -> " (default: " + its + ").")
                            .orElse(".");
        }
    }

    /** Reads the definition that lies beside this class. */
    static Definition of(String name) {
        String text = RecipeFile.resource(Definition.class, name + ".yaml");
        int end = text.indexOf(NEXT_DOCUMENT);
        StrictYaml root = StrictYaml.document(name + ".yaml", end < 0 ? text : text.substring(0, end))
                .only(
                        "preset",
                        "does",
                        "explains",
                        "examples",
                        "leaves",
                        "asks",
                        "warm-ups",
                        "cooldown",
                        "request-timeout",
                        "limit",
                        "parameters");
        List<Parameter> parameters = new ArrayList<>();
        root.at("parameters").named().forEach((its, node) -> parameters.add(parameter(its, node)));
        String does = root.at("does").text();
        List<String> explains = texts(root, "explains");
        return new Definition(
                root.at("preset").text(),
                does,
                explains.isEmpty() ? List.of(does) : explains,
                texts(root, "examples"),
                texts(root, "leaves"),
                root.at("asks").there().map(StrictYaml::text),
                root.at("warm-ups")
                        .there()
                        .map(node -> node.whole(0, Integer.MAX_VALUE))
                        .orElse(0),
                span(root, "cooldown").orElse(Duration.ZERO),
                span(root, "request-timeout").orElse(LONG),
                root.at("limit").there().map(StrictYaml::text),
                List.copyOf(parameters),
                end < 0 ? "" : text.substring(end + NEXT_DOCUMENT.length()));
    }

    private static Parameter parameter(String name, StrictYaml node) {
        node.only("label", "value", "otherwise", "range", "required", "repeated", "flag", "former", "says");
        return new Parameter(
                name,
                node.at("label").there().map(StrictYaml::text).orElse("N"),
                node.at("value").there().map(StrictYaml::scalar),
                node.at("otherwise").there().map(StrictYaml::text),
                node.at("range").there().map(StrictYaml::text),
                node.at("required").there().map(StrictYaml::flag).orElse(false),
                node.at("repeated").there().map(StrictYaml::flag).orElse(false),
                node.at("flag").there().map(StrictYaml::flag).orElse(false),
                texts(node, "former"),
                node.at("says").text());
    }

    private static List<String> texts(StrictYaml node, String key) {
        return node.at(key).list("is a list of texts").stream()
                .map(StrictYaml::text)
                .toList();
    }

    private static Optional<Duration> span(StrictYaml root, String key) {
        return root.at(key)
                .there()
                .map(node -> Times.parse(node.scalar()).orElseThrow(() -> node.wrong("is a time such as 500ms or 2s")));
    }
}
