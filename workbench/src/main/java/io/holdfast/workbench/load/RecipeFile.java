package io.holdfast.workbench.load;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.StrictYaml;
import io.holdfast.loadtest.workload.LoadRequest.Message;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.Recipe.Share;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads recipes from YAML: one document for each load. */
public final class RecipeFile {
    private static final Pattern PLACE = Pattern.compile("\\$\\{([a-z-]+)}");
    private static final long SEED = 42;
    private static final int MOST = Integer.MAX_VALUE;

    private RecipeFile() {}

    /** The loads of a file, in its order. */
    public static List<Recipe> read(Path file) {
        return of(file.toString(), StrictYaml.textOf(file, "name one that describes loads"));
    }

    /** Returns the text of a resource of ours, which lies beside a class. */
    public static String resource(Class<?> beside, String name) {
        try (InputStream in = beside.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalArgumentException("There is no resource " + name + " beside " + beside + ".");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new LoadTestException("The loads of " + name + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    /** Returns the loads of a resource of ours in which {@code ${name}} stands for values. */
    public static List<Recipe> ofResource(Class<?> beside, String name, Map<String, ?> values) {
        return filled(name, resource(beside, name), values);
    }

    /**
     * Returns the loads of a text of ours in which {@code ${name}} stands for values.
     *
     * @param source what the text is called where something is wrong with it
     */
    public static List<Recipe> filled(String source, String text, Map<String, ?> values) {
        return of(
                source,
                PLACE.matcher(text)
                        .replaceAll(place -> Matcher.quoteReplacement(Optional.ofNullable(values.get(place.group(1)))
                                .orElseThrow(() -> new IllegalArgumentException(
                                        source + " has " + place.group() + ", for which there is no value."))
                                .toString())));
    }

    /** @param source what it is called where something is wrong with it */
    static List<Recipe> of(String source, String text) {
        List<Recipe> recipes = StrictYaml.documents(source, text).stream()
                .map(RecipeFile::recipe)
                .toList();
        if (recipes.isEmpty()) {
            throw new LoadTestException(source + " describes no load; write one with 'name' and 'parts'.");
        }
        return recipes;
    }

    private static Recipe recipe(StrictYaml root) {
        root.only("name", "why", "seed", "prefixes", "parts");
        Map<String, Integer> prefixes = new LinkedHashMap<>();
        root.at("prefixes").named().forEach((prefix, tokens) -> prefixes.put(prefix, tokens.whole(1, MOST)));
        Recipe recipe = new Recipe(
                root.at("name").text(),
                root.at("why").there().map(StrictYaml::scalar).orElse(""),
                root.at("seed").there().map(StrictYaml::seed).orElse(SEED),
                prefixes,
                root.at("parts").filled("is a list of what is sent, with 'name' and 'requests' each").stream()
                        .map(RecipeFile::part)
                        .toList());
        return root.at("seed").there().isPresent() ? recipe : recipe.seededByName(SEED);
    }

    private static Part part(StrictYaml part) {
        part.only(
                "name",
                "measured",
                "requests",
                "prefix",
                "own",
                "answer",
                "arrivals",
                "repeats",
                "messages",
                "flush",
                "pause");
        return new Part(
                part.at("name").text(),
                part.at("measured").there().map(StrictYaml::flag).orElse(true),
                part.at("requests").whole(1, MOST),
                part.at("prefix").there().map(StrictYaml::text),
                part.at("own").there().map(RecipeFile::own).orElse(List.of(new Share(1, Range.of(0)))),
                part.at("answer").there().map(RecipeFile::range).orElse(Range.of(1)),
                part.at("arrivals").there().map(StrictYaml::text).orElse("sequential"),
                part.at("repeats").there().map(StrictYaml::text),
                part.at("messages").list("is a list of 'role' and 'content'").stream()
                        .map(RecipeFile::message)
                        .toList(),
                part.at("flush").there().map(StrictYaml::flag).orElse(false),
                part.at("pause").there().map(RecipeFile::span).orElse(Duration.ZERO));
    }

    private static List<Share> own(StrictYaml own) {
        if (!own.isList()) {
            return List.of(new Share(1, range(own)));
        }
        return own.list("is a list of 'share' and 'tokens'").stream()
                .map(each -> each.only("share", "tokens"))
                .map(each -> new Share(
                        each.at("share").number(share -> true, "is a part of 1, as 0.75"), range(each.at("tokens"))))
                .toList();
    }

    private static Range range(StrictYaml tokens) {
        return Range.of(tokens.scalar());
    }

    private static Message message(StrictYaml message) {
        message.only("role", "content");
        return new Message(message.at("role").text(), message.at("content").text());
    }

    private static Duration span(StrictYaml pause) {
        return Times.parse(pause.scalar()).orElseThrow(() -> pause.wrong("is a time such as 500ms or 2s"));
    }
}
