package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.StrictYaml;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Reads from YAML which servers are held against each other, and by what loads. */
public final class VariantFile {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._=-]*");
    private static final Pattern PLACE = Pattern.compile("(?<!\\$)\\{([a-z][a-z0-9-]*)}");
    /** Values that every command is given. */
    private static final Set<String> GIVEN = Set.of("host", "port", "model");

    private static final String SYNCHRONOUS = "CUDA_LAUNCH_BLOCKING";
    private static final int ANSWER = 64;
    private static final int WAVES = 2;
    private static final int DECODE_PROMPT = 32;
    private static final int DECODE_ANSWER = 128;
    private static final int MOST = 2_000_000;

    private final String source;

    private VariantFile(String source) {
        this.source = source;
    }

    /**
     * Content of a file.
     *
     * @param reference the variant that the others are held against
     * @param swept whether variants are the values of a sweep, in its order
     * @param warnings sentences
     */
    public record Contents(
            List<ServerVariant> variants, String reference, boolean swept, List<Cell> cells, List<String> warnings) {
        public Contents {
            variants = List.copyOf(variants);
            cells = List.copyOf(cells);
            warnings = List.copyOf(warnings);
        }
    }

    /**
     * A load that each variant gets.
     *
     * @param decode whether it is there for the time between tokens
     * @param batch requests that are under way together
     * @param length tokens of each prompt
     * @param answer tokens of each answer
     * @param waves how often a batch is sent
     */
    public record Cell(boolean decode, int batch, int length, int answer, int waves) {
        String id() {
            return "b" + batch + "/" + (decode ? "decode" : length + "tok");
        }
    }

    /**
     * Reads a file.
     *
     * @param environment of this process, which variants get as well
     */
    public static Contents read(Path file, Map<String, String> environment) {
        return of(file.toString(), StrictYaml.textOf(file, "name one that describes servers"), environment);
    }

    /** @param source what it is called where something is wrong with it */
    static Contents of(String source, String text, Map<String, String> environment) {
        return new VariantFile(source).contents(StrictYaml.document(source, text), environment);
    }

    private Contents contents(StrictYaml root, Map<String, String> environment) {
        root.only("command", "reference", "variants", "sweep", "cells", "decode");
        boolean swept = root.at("sweep").there().isPresent();
        List<ServerVariant> variants = swept ? sweep(root) : variants(root);
        if (variants.size() < 2) {
            throw root.at("variants").wrong("has two servers at least that differ in how they are started");
        }
        String reference = root.at("reference")
                .there()
                .map(StrictYaml::text)
                .orElseGet(() -> variants.getFirst().name());
        if (variants.stream().noneMatch(each -> each.name().equals(reference))) {
            throw new LoadTestException("In " + source + " the reference is '" + reference + "'; there are "
                    + variants.stream().map(ServerVariant::name).collect(Collectors.joining(", ")) + ".");
        }
        List<Cell> cells = new ArrayList<>();
        root.at("cells").there().ifPresent(node -> {
            node.only("batch", "length", "answer", "waves");
            for (int batch : numbers(node.at("batch"))) {
                for (int length : numbers(node.at("length"))) {
                    cells.add(new Cell(
                            false, batch, length, whole(node.at("answer"), ANSWER), whole(node.at("waves"), WAVES)));
                }
            }
        });
        root.at("decode").there().ifPresent(node -> {
            node.only("batch", "length", "answer");
            for (int batch : numbers(node.at("batch"))) {
                cells.add(new Cell(
                        true,
                        batch,
                        whole(node.at("length"), DECODE_PROMPT),
                        whole(node.at("answer"), DECODE_ANSWER),
                        1));
            }
        });
        if (cells.isEmpty()) {
            throw root.at("cells")
                    .wrong("says with 'batch' and 'length' what each server is asked, or 'decode' with 'batch'");
        }
        variants.forEach(this::refuseUnfilled);
        return new Contents(variants, reference, swept, cells, refuseUnlike(variants, environment));
    }

    private static List<ServerVariant> variants(StrictYaml root) {
        List<ServerVariant> variants = new ArrayList<>();
        root.at("variants").named().forEach((name, node) -> {
            if (!NAME.matcher(name).matches()) {
                throw node.wrong("has a name of letters, digits and . _ = -");
            }
            node.only("command", "set", "env", "unset", "settings");
            Set<String> unset = new LinkedHashSet<>();
            node.at("unset").list("is a list of names").forEach(variable -> unset.add(variable.text()));
            Map<String, String> values = texts(node.at("set"));
            Map<String, String> settings = new LinkedHashMap<>(values);
            settings.putAll(texts(node.at("settings")));
            variants.add(new ServerVariant(name, command(node, root), values, texts(node.at("env")), unset, settings));
        });
        return variants;
    }

    private static String command(StrictYaml node, StrictYaml root) {
        return node.at("command")
                .there()
                .or(() -> root.at("command").there())
                .orElseThrow(() -> node.at("command")
                        .wrong("says how the server is started, or 'command' at the top does for all"))
                .text();
    }

    /** One variant for each place in lists of values that belong together. */
    private static List<ServerVariant> sweep(StrictYaml root) {
        if (root.at("variants").there().isPresent()) {
            throw root.at("sweep").wrong("makes the variants; leave 'variants' out");
        }
        String command = root.at("command").text();
        Map<String, List<String>> lists = new LinkedHashMap<>();
        root.at("sweep")
                .named()
                .forEach((name, list) -> lists.put(
                        name,
                        list.filled("is a list of values, as [1, 2]").stream()
                                .map(StrictYaml::scalar)
                                .toList()));
        List<Integer> sizes = lists.values().stream().map(List::size).distinct().toList();
        if (sizes.size() != 1) {
            throw root.at("sweep")
                    .wrong("has lists that are equally long, since their values go together place by place");
        }
        List<ServerVariant> variants = new ArrayList<>();
        for (int place = 0; place < sizes.getFirst(); place++) {
            int at = place;
            Map<String, String> values = new LinkedHashMap<>();
            lists.forEach((name, list) -> values.put(name, list.get(at)));
            String name = values.entrySet().stream()
                    .map(each -> each.getKey() + "=" + each.getValue())
                    .collect(Collectors.joining("_"));
            if (!NAME.matcher(name).matches()) {
                throw root.at("sweep").wrong("has values of letters, digits and . _ = -, and not " + name);
            }
            variants.add(new ServerVariant(name, command, values, Map.of(), Set.of(), values));
        }
        return variants;
    }

    private void refuseUnfilled(ServerVariant variant) {
        PLACE.matcher(variant.command())
                .results()
                .map(place -> place.group(1))
                .filter(name -> !variant.values().containsKey(name) && !GIVEN.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new LoadTestException("In " + source + " the command of " + variant.name() + " has {" + name
                            + "}, for which it has no value; write it under its 'set'.");
                });
    }

    /** A variable that makes all work of a GPU synchronous changes what is measured. */
    private List<String> refuseUnlike(List<ServerVariant> variants, Map<String, String> environment) {
        Map<String, String> values = new LinkedHashMap<>();
        variants.forEach(variant -> values.put(
                variant.name(),
                Optional.ofNullable(variant.environment().get(SYNCHRONOUS))
                        .or(() -> variant.unset().contains(SYNCHRONOUS)
                                ? Optional.empty()
                                : Optional.ofNullable(environment.get(SYNCHRONOUS)))
                        .orElse("0")));
        if (values.values().stream().distinct().count() > 1) {
            throw new LoadTestException("In " + source + " " + SYNCHRONOUS + " is not the same for all variants "
                    + values + "; it makes a GPU wait after each kernel, so set it alike in all of them.");
        }
        return values.containsValue("1")
                ? List.of(SYNCHRONOUS
                        + " is 1 for all variants: their GPUs wait after each kernel, so the figures are not"
                        + " those of a server in use.")
                : List.of();
    }

    private static Map<String, String> texts(StrictYaml node) {
        Map<String, String> texts = new LinkedHashMap<>();
        node.named().forEach((name, value) -> texts.put(name, value.scalar()));
        return texts;
    }

    private static List<Integer> numbers(StrictYaml node) {
        return node.filled("is a list of whole numbers, as [1, 8, 32]").stream()
                .map(each -> each.whole(1, MOST))
                .toList();
    }

    private static int whole(StrictYaml node, int otherwise) {
        return node.there().map(its -> its.whole(1, MOST)).orElse(otherwise);
    }
}
