package io.holdfast.workbench.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SuiteTest {
    private static final List<Double> MEDIAN = List.of(50.0);

    @TempDir
    Path folder;

    @Test
    void legs_areInTheFolderWithAllTheirRequests_andReadBackTheSame() {
        LoadFolder files = run(folder.resolve("a"), legs(8));
        assertThat(files.missing()).isEmpty();
        LoadFolder again = LoadFolder.open(folder.resolve("a"));
        assertThat(again.plan()).isEqualTo(files.plan());
        assertThat(again.legs()).isEqualTo(files.legs()).hasSize(2);
        LoadLeg leg = again.legs().getFirst();
        assertThat(leg.parts()).extracting(part -> part.requests().size()).containsExactly(1, 8);
        LoadResult result = leg.result("test", MEDIAN, Optional.empty());
        assertThat(result.answered()).isEqualTo(8);
        assertThat(result.measures().of(Metric.OUTPUT_THROUGHPUT)).isPresent();
        assertThat(result.measures().of(Metric.CACHED_SHARE).getAsDouble()).isGreaterThan(0.5);
        assertThat(leg.notes()).containsEntry("before", leg.id());
    }

    @Test
    void suiteThatWasBrokenOff_runsWhatIsMissingAlone() throws IOException {
        Path place = folder.resolve("b");
        run(place, legs(8));
        Files.delete(place.resolve("legs/load/pass2.jsonl"));
        Path kept = place.resolve("legs/load/pass1.jsonl");
        byte[] before = Files.readAllBytes(kept);
        LoadFolder files = LoadFolder.open(place);
        assertThat(files.missing()).containsExactly("load/pass2");
        List<String> ran = new ArrayList<>();
        suite(legs(8), ran).run(files);
        assertThat(ran).containsExactly("load/pass2");
        assertThat(files.missing()).isEmpty();
        assertThat(Files.readAllBytes(kept)).isEqualTo(before);
    }

    /** What a kill left of a leg under way lies beside its name, counts for nothing and is gone afterwards. */
    @Test
    void legThatWasHalfWritten_runsAgain() throws IOException {
        Path place = folder.resolve("half");
        run(place, legs(8));
        Path leg = place.resolve("legs/load/pass2.jsonl");
        byte[] whole = Files.readAllBytes(leg);
        Files.delete(leg);
        Path half = Files.write(place.resolve("legs/load/pass2.jsonl.tmp"), Arrays.copyOf(whole, whole.length / 2));
        LoadFolder files = LoadFolder.open(place);
        assertThat(files.missing()).containsExactly("load/pass2");
        assertThat(files.legs()).hasSize(1);
        suite(legs(8), new ArrayList<>()).run(files);
        assertThat(half).doesNotExist();
        assertThat(LoadFolder.open(place).legs()).hasSize(2);
    }

    @Test
    void anotherPlan_isRefusedByTheLegThatDiffers() {
        LoadFolder files = run(folder.resolve("c"), legs(8));
        assertThatThrownBy(() -> files.refuseOtherThan(plan(legs(9))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("differs in load/pass1");
        assertThatThrownBy(() -> LoadFolder.create(folder.resolve("c"), plan(legs(8))))
                .hasMessageContaining("--resume");
        assertThatThrownBy(() -> LoadFolder.open(folder)).hasMessageContaining("no plan.json");
    }

    /** Two at once would load one server together, and neither would know. */
    @Test
    void folderThatARunIsAtWorkIn_isNoOtherRuns() {
        Path place = folder.resolve("e");
        LoadFolder files = run(place, legs(8));
        try (LoadFolder.Claim claim = files.claim()) {
            assertThat(claim).isNotNull();
            assertThatThrownBy(() -> LoadFolder.open(place).claim())
                    .isInstanceOf(LoadTestException.class)
                    .hasMessageStartingWith("Another run is at work in the folder ");
        }
        LoadFolder.open(place).claim().close();
    }

    @Test
    void folderThatCannotBe_isSaidInWordsAndNotByAClass() {
        run(folder.resolve("f"), legs(8));
        assertThatThrownBy(() -> LoadFolder.create(folder.resolve("f/plan.json/under"), plan(legs(8))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("cannot be written: ")
                .hasMessageNotContaining("Exception");
    }

    @Test
    void tornLeg_isNamedWithTheMend() throws IOException {
        Path place = folder.resolve("d");
        run(place, legs(8));
        Path leg = place.resolve("legs/load/pass1.jsonl");
        Files.writeString(leg, Files.readString(leg).substring(0, 900));
        assertThatThrownBy(() -> LoadFolder.open(place).legs())
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("pass1.jsonl cannot be read")
                .hasMessageContaining("--resume")
                .message()
                .doesNotContain("\n");
    }

    @Test
    void load_keepsItsConcurrencyItsRateAndItsPause() {
        Recipe recipe = new Recipe(
                "load",
                "",
                1,
                Map.of(),
                List.of(
                        Part.of("closed", 12, Range.of(64), Range.of(8), "closed:3"),
                        Part.of("rate", 10, Range.of(64), Range.of(2), "constant:5")));
        VirtualServer server = VirtualServer.usual();
        LoadLeg leg = new LoadRun(server.engine(), server.clock()).run("x", DrawnLoad.of(recipe), Map.of());
        var closed = leg.of("closed");
        closed.forEach(one -> assertThat(closed)
                .filteredOn(other -> other.sent() <= one.sent() && other.done() > one.sent())
                .hasSizeLessThanOrEqualTo(3));
        var rate = leg.of("rate");
        assertThat(rate.getLast().scheduled() - rate.getFirst().scheduled()).isEqualTo(1_800_000_000L);
        assertThat(leg.of("nothing")).isEmpty();
        assertThat(leg.parts())
                .allSatisfy(part -> assertThat(part.requests())
                        .as("stamps of all parts count from the leg's beginning")
                        .allMatch(request -> request.sent() >= part.began() && request.done() <= part.ended()));
    }

    /** What is primed is cold, and is found then: only the part that says so begins with an empty cache. */
    @Test
    void cache_isEmptiedBeforeThePartThatSaysSo() {
        Recipe recipe = RecipeFile.of("r.yaml", """
            name: hot
            parts:
              - {name: prime, measured: false, requests: 2, own: 256, flush: true}
              - {name: load, requests: 2, repeats: prime}
            """).getFirst();
        VirtualServer server = VirtualServer.usual();
        for (int leg = 0; leg < 2; leg++) {
            LoadLeg ran = new LoadRun(server.engine(), server.clock()).run("x", DrawnLoad.of(recipe), Map.of());
            assertThat(ran.of("prime"))
                    .allMatch(request -> request.cachedTokens().orElseThrow() == 0);
            assertThat(ran.of("load"))
                    .allMatch(request -> request.cachedTokens().orElseThrow() > 0);
        }
    }

    private LoadFolder run(Path place, List<Suite.Leg> legs) {
        LoadFolder files = LoadFolder.create(place, plan(legs));
        suite(legs, new ArrayList<>()).run(files);
        return files;
    }

    private static LoadFolder.Plan plan(List<Suite.Leg> legs) {
        return Suite.plan("test", Map.of("model", "m"), legs);
    }

    private static Suite suite(List<Suite.Leg> legs, List<String> ran) {
        VirtualServer server = VirtualServer.usual();
        return new Suite(
                legs,
                Suite.Servers.one(server.engine()),
                (next, engine) -> Map.of("before", next.id()),
                server.clock(),
                new Suite.Watcher() {
                    @Override
                    public void begins(Suite.Leg leg, int number, int of) {
                        ran.add(leg.id());
                    }

                    @Override
                    public void ended(LoadLeg leg) {}
                });
    }

    private static List<Suite.Leg> legs(int requests) {
        Recipe recipe = RecipeFile.of("r.yaml", """
            name: load
            prefixes: {system: 512}
            parts:
              - {name: prime, measured: false, requests: 1, prefix: system, own: 1}
              - {name: load, requests: %d, prefix: system, own: 64, answer: 8, arrivals: "closed:2"}
            """.formatted(requests)).getFirst();
        return List.of(
                new Suite.Leg("load/pass1", DrawnLoad.of(recipe), Map.of("pass", "1")),
                new Suite.Leg("load/pass2", DrawnLoad.of(recipe), Map.of("pass", "2")));
    }
}
