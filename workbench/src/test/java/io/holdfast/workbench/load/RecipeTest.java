package io.holdfast.workbench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.workbench.load.DrawnLoad.Drawn;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RecipeTest {
    private static final String MIXED = """
        name: chunked
        seed: 7
        prefixes: {system: 100}
        parts:
          - {name: warm-up, measured: false, requests: 2, prefix: system, own: 8, answer: 16}
          - name: load
            requests: 48
            prefix: system
            own:
              - {share: 0.75, tokens: 1024..2048}
              - {share: 0.25, tokens: 64..128}
            answer: 64..256
            arrivals: poisson:6
          - {name: again, requests: 48, repeats: load, arrivals: burst, pause: 1s}
        """;

    @Test
    void sameRecipe_isTheSameLoad_andAnotherSeedIsNot() {
        Recipe recipe = one(MIXED);
        assertThat(DrawnLoad.of(recipe).id()).isEqualTo(DrawnLoad.of(one(MIXED)).id());
        assertThat(DrawnLoad.of(recipe.seededByName(8)).id())
                .isNotEqualTo(DrawnLoad.of(recipe).id());
    }

    /** Whatever is sent otherwise, at other times or for another purpose is another load, and two results are not compared. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "measured: false, |''",
                "{name: warm-up|{name: warming",
                "answer: 16}|answer: 17}",
                "pause: 1s|pause: 2s",
                "pause: 1s|pause: 1s, flush: true",
                "arrivals: poisson:6|arrivals: poisson:7",
                "arrivals: poisson:6|arrivals: 'closed:6'",
                "system: 100|system: 101"
            })
    void loadThatDiffersInAnything_hasAnotherId(String here, String there) {
        assertThat(MIXED).contains(here);
        assertThat(DrawnLoad.of(one(MIXED.replace(here, there))).id())
                .isNotEqualTo(DrawnLoad.of(one(MIXED)).id());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"closed:2|closed:3", "role: system|role: user", "Be brief|Be short"})
    void chatThatDiffersInAnything_hasAnotherId(String here, String there) {
        String chat = "{name: a, parts: [{name: b, requests: 4, arrivals: 'closed:2',"
                + " messages: [{role: system, content: Be brief}, {role: user, content: 'Hello'}]}]}";
        assertThat(chat).contains(here);
        assertThat(DrawnLoad.of(one(chat.replace(here, there))).id())
                .isNotEqualTo(DrawnLoad.of(one(chat)).id());
    }

    /** These add up to a little less than 1 in binary. */
    @Test
    void sharesThatAreRounded_loseNoRequest() {
        List<Integer> lengths = DrawnLoad.of(one("""
            {name: a, parts: [{name: b, requests: 10,
              own: [{share: 0.7, tokens: 1}, {share: 0.1, tokens: 2}, {share: 0.2, tokens: 3}]}]}
            """)).requests().stream()
                .map(LoadRequest::length)
                .sorted()
                .toList();
        assertThat(lengths).containsExactly(1, 1, 1, 1, 1, 1, 1, 2, 3, 3);
    }

    @Test
    void shares_areExact_andLengthsLieInTheirRanges() {
        Drawn load = DrawnLoad.of(one(MIXED)).parts().get(1);
        List<Integer> own =
                load.requests().stream().map(request -> request.length() - 100).toList();
        assertThat(own).allMatch(length -> (length >= 1024 && length <= 2048) || (length >= 64 && length <= 128));
        assertThat(own).filteredOn(length -> length <= 128).hasSize(12);
        assertThat(load.requests()).allMatch(request -> request.maxTokens() >= 64 && request.maxTokens() <= 256);
        assertThat(load.turns()).hasSize(48).isSorted();
    }

    @Test
    void requests_shareTheirPrefixAndNotATokenMore() {
        List<Drawn> parts = DrawnLoad.of(one(MIXED)).parts();
        List<LoadRequest> requests = new ArrayList<>(parts.get(0).requests());
        requests.addAll(parts.get(1).requests());
        Set<Integer> firstOwn = new HashSet<>();
        for (LoadRequest request : requests) {
            assertThat(Arrays.copyOf(request.tokens(), 100))
                    .isEqualTo(Arrays.copyOf(requests.getFirst().tokens(), 100));
            firstOwn.add(request.tokens()[100]);
        }
        assertThat(firstOwn).hasSize(50);
    }

    /** With a page of one token even that would be a hit, which nobody asked for. */
    @Test
    void firstTokens_areOfOneTextEach_whateverWasDrawnForPrefixes() {
        StringBuilder text = new StringBuilder("name: many\nprefixes: {");
        for (int i = 0; i < 300; i++) {
            text.append(i == 0 ? "" : ", ").append('p').append(i).append(": 2");
        }
        text.append("}\nparts:\n  - {name: own, requests: 3000, own: 2}\n");
        for (int i = 0; i < 300; i++) {
            text.append("  - {name: part")
                    .append(i)
                    .append(", requests: 1, prefix: p")
                    .append(i)
                    .append(", own: 1}\n");
        }
        List<LoadRequest> requests = DrawnLoad.of(one(text.toString())).requests();
        assertThat(requests.stream().map(request -> request.tokens()[0]))
                .hasSize(3_300)
                .doesNotHaveDuplicates();
        assertThat(requests.stream()
                        .map(request -> request.tokens()[request.length() - 1])
                        .skip(3_000))
                .doesNotContainAnyElementsOf(
                        requests.stream().map(request -> request.tokens()[0]).toList());
    }

    @Test
    void partThatRepeats_sendsTheSameAtOtherTimes() {
        List<Drawn> parts = DrawnLoad.of(one(MIXED)).parts();
        assertThat(parts.get(2).requests()).isEqualTo(parts.get(1).requests());
        assertThat(parts.get(2).turns()).containsOnly(0L);
    }

    @Test
    void loadsOfOneFile_haveNoTextInCommon() {
        String load = "name: %s\nprefixes: {system: 8}\nparts: [{name: load, requests: 4, prefix: system, own: 8}]\n";
        List<Recipe> recipes = RecipeFile.of("r.yaml", load.formatted("a") + "---\n" + load.formatted("b"));
        assertThat(DrawnLoad.of(recipes.getFirst()).requests().getFirst().tokens()[0])
                .isNotEqualTo(
                        DrawnLoad.of(recipes.getLast()).requests().getFirst().tokens()[0]);
    }

    @ParameterizedTest
    @CsvSource({"closed:8, concurrency, 8", "sequential, concurrency, 1", "poisson:6, rate, 6", "burst, arrivals, burst"
    })
    void load_tellsHowItsRequestsCome(String arrivals, String name, String value) {
        Recipe recipe = one("{name: a, parts: [{name: warm, measured: false, requests: 1, own: 1},"
                + " {name: b, requests: 1, own: 1, arrivals: '%s'}]}".formatted(arrivals));
        assertThat(recipe.settings()).containsEntry(name, value).containsEntry("arrivals", arrivals);
    }

    @Test
    void messages_areFilledForEachRequest() {
        DrawnLoad load = DrawnLoad.of(one("""
            name: simple
            parts:
              - name: load
                requests: 2
                own: 3
                answer: 50
                messages:
                  - {role: system, content: Be brief.}
                  - {role: user, content: "Warmup {i}. {own}"}
            """));
        List<LoadRequest> requests = load.requests();
        assertThat(requests.get(1).messages().getFirst().content()).isEqualTo("Be brief.");
        assertThat(requests.get(1).messages().getLast().content()).matches("Warmup 1\\. \\w+ \\w+ \\w+");
        assertThat(requests.get(0).tokens())
                .startsWith(Arrays.copyOf(requests.get(1).tokens(), 2));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "name: a | describes no load|''",
                "{name: a, parts: [{name: b, requests: 1, own: 1, reqs: 2}]}|unknown key 'parts[0].reqs'|known here",
                "{name: a, parts: [{name: b, requests: 1}]}|requests without a token|at least 1",
                "{name: a, parts: [{name: b, requests: 0, own: 1}]}|'parts[0].requests'|at least 1",
                "{name: a, parts: [{name: b, requests: 1, own: 8..4}]}|8..4|such as 64..512",
                "{name: a, parts: [{name: b, requests: 1, own: x}]}|'x'|such as 64..512",
                "{name: a, parts: [{name: b, requests: 1, prefix: p}]}|prefix 'p'|'prefixes'",
                "{name: a, parts: [{name: b, requests: 1, repeats: c}]}|repeats 'c'|before it",
                "{name: a, parts: [{name: b, requests: 1, own: 1, measured: false}]}|measures nothing|measured: false",
                "{name: a, parts: [{name: b, requests: 1, own: 1, pause: 3}]}|'parts[0].pause'|2s",
                "{name: a, parts: [{name: b, requests: 1, own: [{share: 0.5, tokens: 1}]}]}|add up to 0.5|add up to 1",
                "{name: a, parts: [|is no YAML in line|''"
            })
    void badRecipe_isRefusedInASentence(String text, String cause, String mend) {
        String given = text.equals("name: a") ? "" : text;
        assertThatThrownBy(() -> RecipeFile.of("r.yaml", given))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(cause)
                .hasMessageContaining(mend)
                .message()
                .doesNotContain("\n");
    }

    @ParameterizedTest
    @CsvSource({"closed, closed:8", "closed:0, at least 1", "closed:x, closed:8", "poisson:0, no rate"})
    void arrivalsThatAreNone_areRefused(String arrivals, String mend) {
        Recipe recipe = new Recipe(
                "a",
                "",
                1,
                java.util.Map.of(),
                List.of(Recipe.Part.of("b", 2, Recipe.Range.of(4), Recipe.Range.of(1), arrivals)));
        assertThatThrownBy(() -> DrawnLoad.of(recipe))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(mend);
    }

    private static Recipe one(String text) {
        return RecipeFile.of("r.yaml", text).getFirst();
    }
}
