package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Controller;
import io.holdfast.embed.Fleet;
import io.holdfast.events.KvEventLoop;
import io.holdfast.evidence.Interval;
import io.holdfast.http.EngineHttp;
import io.holdfast.kvcached.LimitLever;
import io.holdfast.sglang.SglangReadings;
import io.holdfast.valkey.ValkeyFleetStore;
import io.holdfast.vllm.VllmReadings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** What embedders compile against does not change by the way. docs/embed.md says what belongs to it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ApiListingTest {
    private static final String WRITE = "holdfast.api";

    /** A library, and where its packages begin. */
    record Library(String module, String place, Class<?> anchor) {
        boolean has(String name) {
            return name.equals(place) || name.startsWith(place + ".");
        }

        Path file() {
            return Path.of("..", module, "api.txt");
        }

        @Override
        public String toString() {
            return module;
        }
    }

    private static final List<Library> LIBRARIES = List.of(
            new Library("evidence", "io.holdfast.evidence", Interval.class),
            new Library("controller-core", "io.holdfast.core", Controller.class),
            new Library("kv-events", "io.holdfast.events", KvEventLoop.class),
            new Library("adapters-http", "io.holdfast.http", EngineHttp.class),
            new Library("adapters-sglang", "io.holdfast.sglang", SglangReadings.class),
            new Library("adapters-vllm", "io.holdfast.vllm", VllmReadings.class),
            new Library("adapters-kvcached", "io.holdfast.kvcached", LimitLever.class),
            new Library("embed", "io.holdfast.embed", Fleet.class),
            new Library("fleet-valkey", "io.holdfast.valkey", ValkeyFleetStore.class));

    /** Those that are for embedders as a whole. Of the others belongs to the API what these name. */
    private static final Set<String> FOR_EMBEDDERS = Set.of(
            "io.holdfast.embed",
            "io.holdfast.embed.ledger",
            "io.holdfast.embed.cell",
            "io.holdfast.valkey",
            "io.holdfast.core.hash",
            "io.holdfast.core.index",
            "io.holdfast.events",
            "io.holdfast.http",
            "io.holdfast.sglang",
            "io.holdfast.vllm",
            "io.holdfast.kvcached");

    private Map<String, List<String>> api;

    @BeforeAll
    void list() {
        api = ApiListing.of(LIBRARIES.stream().<Class<?>>map(Library::anchor).toList(), FOR_EMBEDDERS);
    }

    @ParameterizedTest
    @FieldSource("LIBRARIES")
    void api_isWhatTheListingSays(Library library) throws IOException {
        List<String> now = lines(library);
        if (System.getProperty(WRITE, "").equals("write")) {
            Files.write(library.file(), now);
        }
        List<String> written = Files.exists(library.file()) ? Files.readAllLines(library.file()) : List.of();

        List<String> gone = new ArrayList<>(written);
        gone.removeAll(now);
        List<String> fresh = new ArrayList<>(now);
        fresh.removeAll(written);
        assertThat(now)
                .as(
                        "The API of %s is not what %s/api.txt says; gone: %s; new: %s. If that is meant, say in"
                                + " CHANGELOG.md what embedders have to do about it, and write the listing anew: ./mvnw"
                                + " -pl app -am test -Dtest=ApiListingTest -Dsurefire.failIfNoSpecifiedTests=false"
                                + " -D%s=write",
                        library.module(), library.module(), gone, fresh, WRITE)
                .isEqualTo(written);
    }

    @Test
    void everyPackage_isOfALibrary() {
        assertThat(api.keySet()).allSatisfy(name -> assertThat(LIBRARIES).anyMatch(library -> library.has(name)));
        assertThat(api.keySet()).containsAll(FOR_EMBEDDERS);
    }

    @Test
    void theRule_isWhatThePageSays() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "embed.md"));

        assertThat(FOR_EMBEDDERS).allSatisfy(name -> assertThat(page).contains("`" + name + "`"));
    }

    @Test
    void nothingThatIsNamed_isForTheProcessesOnly() {
        Set<String> named = api.values().stream()
                .flatMap(List::stream)
                .flatMap(line -> Stream.of(line.split("[^\\w.]+")))
                .filter(word -> word.startsWith("io.holdfast.sidecar") || word.startsWith("io.vertx"))
                .collect(Collectors.toSet());

        assertThat(named).isEmpty();
    }

    private List<String> lines(Library library) {
        return api.entrySet().stream()
                .filter(entry -> library.has(entry.getKey()))
                .flatMap(entry -> entry.getValue().stream())
                .toList();
    }
}
