package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Times;
import io.holdfast.workbench.preset.Definition.Parameter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The values of a preset's parameters, those that were given and otherwise the defaults. */
public final class Values {
    private static final String SEED = "seed";
    private static final int ENOUGH_ALIKE = 3;

    private final Definition definition;
    private final Map<String, List<String>> given;

    private Values(Definition definition, Map<String, List<String>> given) {
        this.definition = definition;
        this.given = given;
    }

    /**
     * Checks what was given; a name that is not declared and a number outside its range are refused.
     *
     * @param given values by the name of their parameter
     */
    public static Values of(Definition definition, Map<String, List<String>> given) {
        given.keySet().forEach(name -> parameter(definition, name));
        Values values = new Values(definition, given);
        for (Parameter parameter : definition.parameters()) {
            if (parameter.isRequired() && !given.containsKey(parameter.name())) {
                throw new LoadTestException(option(parameter.name()) + " is missing; write " + option(parameter.name())
                        + " " + parameter.label() + ".");
            }
            if (given.getOrDefault(parameter.name(), List.of()).size() > 1 && !parameter.isRepeated()) {
                throw new LoadTestException(option(parameter.name()) + " is given more than once; write it once.");
            }
            parameter.range().ifPresent(range -> values.number(parameter.name(), range));
        }
        return values;
    }

    /** Reads words such as {@code requests=50}; a name may stand several times. */
    public static Map<String, List<String>> parse(Definition definition, List<String> words) {
        Map<String, List<String>> values = new LinkedHashMap<>();
        for (String word : words) {
            int sign = word.indexOf('=');
            if (sign < 1) {
                throw new LoadTestException("'" + word + "' is no parameter of " + definition.name()
                        + "; write NAME=VALUE with one of " + names(definition) + ".");
            }
            values.computeIfAbsent(
                            parameter(definition, word.substring(0, sign)).name(), name -> new ArrayList<>())
                    .add(word.substring(sign + 1));
        }
        return values;
    }

    private static Parameter parameter(Definition definition, String name) {
        return definition.parameters().stream()
                .filter(each -> each.name().equals(name) || each.former().contains(name))
                .findFirst()
                .orElseThrow(() -> new LoadTestException("The preset " + definition.name() + " has no parameter '"
                        + name + "'" + near(definition, name) + "; it has " + names(definition) + "."));
    }

    private static String near(Definition definition, String name) {
        String head = name.substring(0, Math.min(ENOUGH_ALIKE, name.length()));
        return definition.parameters().stream()
                .map(Parameter::name)
                .filter(each -> each.startsWith(head))
                .findFirst()
                .map(each -> " (did you mean " + each + "?)")
                .orElse("");
    }

    private static String names(Definition definition) {
        return definition.parameters().stream().map(Parameter::name).collect(Collectors.joining(", "));
    }

    private static String option(String name) {
        return "--" + name;
    }

    Definition definition() {
        return definition;
    }

    /** Returns all values of a parameter in the order in which they were given. */
    public List<String> all(String name) {
        Parameter parameter = parameter(definition, name);
        return Optional.ofNullable(given.get(parameter.name()))
                .orElseGet(() -> parameter.value().stream().toList());
    }

    /** Returns the value of a parameter; absent where it was not given and has no default. */
    public Optional<String> given(String name) {
        return all(name).stream().findFirst();
    }

    /** Returns the value of a parameter that has a default or is required. */
    public String text(String name) {
        return given(name).orElseThrow();
    }

    /** Returns true if a flag was given. */
    public boolean isSet(String name) {
        return given(name).filter(text -> !text.equals("false")).isPresent();
    }

    /** Returns a path that has a default or is required. */
    public Path path(String name) {
        return Path.of(text(name));
    }

    /** Returns the parts of a list with commas. */
    public List<String> list(String name) {
        return given(name).stream()
                .flatMap(text -> Stream.of(text.split(",", -1)))
                .toList();
    }

    /** Returns whole numbers of a list with commas. */
    public List<Integer> numbers(String name) {
        try {
            return list(name).stream().map(Integer::valueOf).toList();
        } catch (NumberFormatException e) {
            throw new LoadTestException(
                    option(name) + " has '" + text(name) + "'; write whole numbers with commas, as 1024,2048.", e);
        }
    }

    /** Returns a whole number; absent where none was given. */
    public OptionalLong number(String name) {
        return number(name, "");
    }

    /** Returns a whole number that has a default. */
    public int whole(String name) {
        return Math.toIntExact(number(name).orElseThrow());
    }

    private OptionalLong number(String name, String range) {
        return given(name).stream()
                .mapToLong(text -> checked(name, text, range))
                .findFirst();
    }

    private static long checked(String name, String text, String range) {
        int between = range.indexOf("..");
        long least = between < 1 ? Long.MIN_VALUE : Long.parseLong(range.substring(0, between));
        boolean open = between < 0 || between + 2 == range.length();
        long most = open ? Long.MAX_VALUE : Long.parseLong(range.substring(between + 2));
        try {
            long value = Long.parseLong(text);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            throw new LoadTestException(option(name) + " is '" + text + "'; write a whole number.", e);
        }
        throw new LoadTestException(
                option(name) + " is " + text + "; write " + (open ? "at least " + least : least + " to " + most) + ".");
    }

    /** Returns a span of time. */
    public Duration span(String name) {
        return Times.parse(text(name))
                .orElseThrow(() -> new LoadTestException(
                        option(name) + " is '" + text(name) + "'; write a time such as 500ms, 30s, 10m or 2h."));
    }

    /** Returns a number with a fraction. */
    public double fraction(String name) {
        try {
            return Double.parseDouble(text(name));
        } catch (NumberFormatException e) {
            throw new LoadTestException(option(name) + " is '" + text(name) + "'; write a number, as 0.20.", e);
        }
    }

    /**
     * Returns values that each belong to one of several owners, by owner and name.
     *
     * @param form with a group for the owner, one for the name and one for the value
     */
    Map<String, Map<String, String>> byOwner(String name, Pattern form) {
        Parameter parameter = parameter(definition, name);
        Map<String, Map<String, String>> values = new LinkedHashMap<>();
        for (String each : all(name)) {
            Matcher parts = form.matcher(each);
            if (!parts.matches()) {
                throw new LoadTestException(option(name) + " is '" + each + "'; write " + parameter.label() + ".");
            }
            values.computeIfAbsent(parts.group(1), owner -> new LinkedHashMap<>())
                    .put(parts.group(2), parts.group(3));
        }
        return values;
    }

    /** Returns the seed. */
    public long seed() {
        return number(SEED).orElseThrow();
    }

    /**
     * Returns the loads of the preset's file, drawn by the seed where there is one, and with no more requests than the
     * limit.
     */
    List<Recipe> recipes() {
        int most = definition.limit().map(this::limit).orElse(Integer.MAX_VALUE);
        boolean seeded =
                definition.parameters().stream().anyMatch(each -> each.name().equals(SEED));
        return loads(Map.of()).stream()
                .map(recipe -> (seeded ? recipe.seededByName(seed()) : recipe).atMost(most))
                .toList();
    }

    /**
     * Returns the loads of the preset's file as they stand there.
     *
     * @param more values for places in them, beside those of the parameters
     */
    List<Recipe> loads(Map<String, ?> more) {
        Map<String, Object> texts = new LinkedHashMap<>();
        definition.parameters().forEach(each -> given(each.name()).ifPresent(text -> texts.put(each.name(), text)));
        texts.putAll(more);
        return RecipeFile.filled(definition.name() + ".yaml", definition.loads(), texts);
    }

    /** Returns a number that limits something; the largest where none was given. */
    int limit(String name) {
        return (int) Math.min(number(name).orElse(Integer.MAX_VALUE), Integer.MAX_VALUE);
    }
}
