package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.rules.testing.HeadlessBrowser;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.http.CannedPage;
import io.holdfast.sidecar.http.ServedApi;
import io.holdfast.sidecar.view.EngineOverview;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The page in a headless Chromium, where this machine has one; {@code -Dholdfast.screenshots=DIR} keeps what it looked like.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PageTest {
    private static final Set<String> INTERACTIVE =
            Set.of("button", "link", "textbox", "DisclosureTriangle", "checkbox", "combobox", "tab");
    private static final String VISIBLE =
            "(() => { const box = document.querySelector('%s').getBoundingClientRect(); return box.top >= 0 &&"
                    + " box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth; })()";

    private Optional<Browser> browser = Optional.empty();

    @BeforeAll
    void start(@TempDir Path folder) throws IOException {
        Optional<Path> binary = HeadlessBrowser.found();
        assumeTrue(binary.isPresent(), HeadlessBrowser.MISSING);
        browser = Optional.of(new Browser(binary.orElseThrow(), Files.createDirectory(folder.resolve("profile"))));
    }

    @AfterAll
    void stop() {
        browser.ifPresent(Browser::close);
    }

    private Browser chromium() {
        return browser.orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({
        "helps, 'Yes, it helps'",
        "harms, 'No, it harms'",
        "does_nothing, 'No, it does nothing'",
        "cannot_tell, Cannot tell yet"
    })
    void everyState_isTheAnswerWithoutScrolling(String state, String answer) throws IOException {
        EngineOverview engine = switch (state) {
            case "helps" -> CannedPage.helping("main");
            case "harms" -> CannedPage.harming("main");
            case "does_nothing" -> CannedPage.idle("main");
            default -> CannedPage.untold("main");
        };
        try (CannedPage page = new CannedPage(List.of(engine))) {
            for (int[] size : new int[][] {{360, 640}, {1280, 800}}) {
                for (boolean dark : new boolean[] {false, true}) {
                    open(page.uri, size, dark, answer);

                    assertThat(chromium().evaluate(VISIBLE.formatted("#verdict")))
                            .isEqualTo(true);
                    seen(page.uri);
                    shot(state + "-" + size[0] + (dark ? "-dark" : ""));
                }
            }
        }
    }

    @Test
    void manyEngines_areAnsweredTogetherThenOneInDetail() throws IOException {
        try (CannedPage page = new CannedPage(CannedPage.fleet(64))) {
            for (int[] size : new int[][] {{360, 640}, {1280, 800}}) {
                for (boolean dark : new boolean[] {false, true}) {
                    open(page.uri, size, dark, "No, it harms");

                    assertThat(chromium().evaluate(VISIBLE.formatted("#fleet-verdict")))
                            .isEqualTo(true);
                    assertThat(chromium().text("#fleet-verdict")).isEqualTo("Helps on 43 of 64 engines");
                    assertThat(chromium().evaluate("document.querySelectorAll('.tile').length"))
                            .isEqualTo(64);
                    assertThat(chromium().text(".counts"))
                            .contains("helps on 43", "does nothing on 12", "cannot tell on 6", "harms on 3");
                    seen(page.uri);
                    shot("fleet-" + size[0] + (dark ? "-dark" : ""));
                }
            }
            chromium().click(".tile[href='#engine=gpu-63']");
            chromium().textOf("#answer", text -> text.contains("gpu-63"));
            page.become(CannedPage.fleet(64).subList(2, 64));
            chromium().textOf("#fleet-verdict", text -> text.contains("62 engines"));
        }
    }

    @Test
    void result_isQuotedOnlyWhereItIsOne() throws IOException {
        try (CannedPage page = new CannedPage(List.of(CannedPage.idle("main")))) {
            open(page.uri, new int[] {1280, 800}, false, "No, it does nothing");

            assertThat(chromium().text("#answer"))
                    .contains("no difference", "\u22121.9", "+1.1")
                    .doesNotContain("0.4");
        }
    }

    @Test
    void formOfHolds_withoutTheTokenSaysThatNothingWasDone(@TempDir Path state) throws IOException {
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults())) {
            for (int[] size : new int[][] {{360, 640}, {1280, 800}}) {
                chromium().looks(size[0], size[1], size[0] == 360);
                chromium().open(api.uri.resolve("/"));
                chromium().textOf("[data-act='hold']", text -> !text.isEmpty());
                chromium().click("[data-act='hold']");
                chromium().type("You answer in one sentence.");
                accessible(false);
                chromium().click("#hold-form button[value=hold]");

                assertThat(chromium().textOf("#hold-said", text -> !text.isEmpty()))
                        .startsWith("Nothing was done. Acting needs the act token");
                assertThat(chromium().evaluate("document.querySelector('#hold-what').value"))
                        .isEqualTo("You answer in one sentence.");
                accessible(false);
                shot("form-refused-" + size[0]);
            }
            assertThat(api.http.get(SidecarClient.HOLDS).json().getInteger("count"))
                    .isZero();
        }
    }

    @Test
    void formOfHolds_byKeyboardHoldsAndReleases(@TempDir Path state) throws IOException {
        try (TestBed bed = TestBed.pinning(state)) {
            int[] prompt = EngineClient.prompt(1, 512);
            bed.engine.generate(prompt);
            String tokens = IntStream.of(prompt).mapToObj(Integer::toString).collect(Collectors.joining(" "));
            chromium().looks(1280, 800, false);
            chromium().open(bed.sidecar.uri().resolve("/"));
            chromium().textOf("[data-act='hold']", text -> !text.isEmpty());
            chromium().evaluate("document.querySelector('[data-act=hold]').focus()");
            chromium().press("Enter");
            chromium().type("seven");
            chromium().evaluate("document.querySelector('[name=kind][value=tokens]').click()");
            chromium().evaluate("document.querySelector('#hold-seconds').focus()");
            chromium().press("Enter");

            assertThat(chromium().textOf("#hold-said", text -> !text.isEmpty())).contains("“seven” is no token id");
            assertThat(chromium().evaluate("document.activeElement.id")).isEqualTo("hold-what");

            chromium().evaluate("document.activeElement.select()");
            chromium().type(tokens);
            chromium().evaluate("document.querySelector('#hold-seconds').focus()");
            chromium().press("Enter");

            String said = chromium().textOf("#said", text -> text.contains("is held: 512 tokens"));
            String id = said.replaceAll("(?s)Hold ([0-9]+) .*", "$1");
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("held");
            chromium().textOf("[data-key='hold" + id + "'] .state", text -> text.equals("held"));
            chromium().click("[data-act='hold']");
            shot("form-1280");
            chromium().evaluate("document.querySelector('#hold-form button[value=release]').focus()");
            chromium().press("Enter");

            chromium().textOf("#said", text -> text.contains("Hold " + id + " of demo is released."));
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("released");
            chromium().click("[data-act='hold']");
            chromium().click("#hold-form button[value=release]");
            assertThat(chromium().textOf("#hold-said", text -> !text.isEmpty()))
                    .startsWith("Nothing is held of exactly this prefix.");
        }
    }

    @Test
    void segmentUnderKvcached_isShownInBytes() throws IOException {
        try (CannedPage page = new CannedPage(List.of(CannedPage.underKvcached(CannedPage.helping("main"))))) {
            open(page.uri, new int[] {1280, 800}, false, "Yes, it helps");

            assertThat(chromium().text("#main")).contains("used 15 GiB", "mapped 18 GiB", "limit 24 GiB");
        }
    }

    @Test
    void segmentsOfNoEngine_areShownBesideIt_untilTheyGo() throws IOException {
        try (CannedPage page = new CannedPage(List.of(CannedPage.helping("main")))) {
            page.beside(List.of(new JsonObject()
                    .put("segment", "/dev/shm/kvc_old")
                    .put("limitBytes", 8L << 30)
                    .put("usedBytes", 1L << 30)
                    .put("preallocatedBytes", 1L << 30)
                    .put("percent", 25.0)));
            open(page.uri, new int[] {1280, 800}, false, "Yes, it helps");

            assertThat(chromium().text("#main"))
                    .contains("/dev/shm/kvc_old", "used 1.0 GiB", "mapped 2.0 GiB", "limit 8.0 GiB, 25 % taken");
            page.beside(List.of());
            chromium().textOf("#main", text -> !text.contains("/dev/shm/kvc_old"));
        }
    }

    @Test
    void acting_needsTheTokenAndThenReleases(@TempDir Path state) throws IOException {
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults())) {
            String bearer = "Bearer " + ServedApi.ACT;
            Http.Answer held = api.http.send(
                    "POST", SidecarClient.HOLDS, "{\"hashes\":[7],\"leaseSeconds\":600}", "Authorization", bearer);
            assertThat(held.status()).as(held.text()).isEqualTo(201);
            String row = "[data-hold='" + held.json().getString("id") + "']";
            chromium().looks(1280, 800, false);
            chromium().open(api.uri.resolve("/"));
            chromium().textOf(row, text -> text.equals("Release"));
            assertThat(chromium().text("#main")).contains("callers who may act see why");

            chromium().click(row);

            assertThat(chromium().textOf("#said", text -> !text.isEmpty()))
                    .contains("Acting needs the act token: send it as Authorization: Bearer TOKEN.");
            shot("refused-1280");

            chromium().click("#token-button");
            accessible(false);
            chromium().evaluate("document.querySelector('#token').value = '" + ServedApi.ACT + "'");
            chromium().click("#token-form button[type=submit]");
            chromium().textOf("#main", text -> !text.contains("callers who may act see why"));
            chromium().click(row);

            chromium().textOf("#said", text -> text.contains("is released."));
            Eventually.see("the hold is gone", () -> chromium().text(row), String::isEmpty);
            assertThat(api.http
                            .get(SidecarClient.HOLDS + "/" + held.json().getString("id"))
                            .json()
                            .getString("state"))
                    .isEqualTo("released");
            assertThat(String.valueOf(chromium().evaluate("document.documentElement.outerHTML")))
                    .doesNotContain(ServedApi.ACT);
            chromium().evaluate("sessionStorage.clear()");
        }
    }

    @Test
    void readingThatNeedsAToken_asksForItAndIsLiveThen(@TempDir Path state) throws IOException {
        Listen listen = new Listen("127.0.0.1", 0, List.of(), Optional.of("READ"), Optional.of("ACT"));
        try (ServedApi api = new ServedApi(state, listen, HttpLimits.defaults())) {
            chromium().looks(1280, 800, false);
            chromium().open(api.uri.resolve("/"));

            assertThat(chromium().textOf("#stale", text -> !text.isEmpty())).contains("Reading needs a token");
            assertThat(chromium().text("#main")).doesNotContain("demo");
            chromium().evaluate("document.querySelector('#token').value = '" + ServedApi.READ + "'");
            chromium().click("#token-form button[type=submit]");
            chromium().textOf("#verdict", text -> text.contains("Cannot tell yet"));
            chromium().textOf("#live", text -> text.equals("Live"));
            chromium().evaluate("sessionStorage.clear()");
        }
    }

    @Test
    void realSidecar_isShownLiveAndThenAsNotLive(@TempDir Path state) throws IOException {
        try (TestBed bed = TestBed.pinning(state)) {
            chromium().looks(1280, 800, false);
            chromium().open(bed.sidecar.uri().resolve("/"));
            chromium().textOf("#verdict", text -> text.contains("Cannot tell yet"));
            int[] prompt = EngineClient.prompt(1, 512);
            bed.engine.generate(prompt);
            String id = bed.client.held(prompt);

            chromium().textOf("[data-key='hold" + id + "'] .state", text -> text.equals("held"));
            assertThat(chromium().text("#live")).isEqualTo("Live");
            seen(bed.sidecar.uri());
            shot("real-1280");

            bed.sidecar.close();

            assertThat(chromium().textOf("#stale", text -> !text.isEmpty()))
                    .startsWith("Not live: these figures are of ");
            assertThat(chromium().text("#live")).isEqualTo("Not live");
        }
    }

    @Test
    void pausing_isAskedForTwiceAndTakenBackFromThePage(@TempDir Path state) {
        try (TestBed bed = TestBed.pinning(state)) {
            int[] prompt = EngineClient.prompt(1, 512);
            bed.engine.generate(prompt);
            String id = bed.client.held(prompt);
            chromium().looks(360, 640, false);
            chromium().open(bed.sidecar.uri().resolve("/"));
            chromium().textOf("[data-hold='" + id + "']", text -> !text.isEmpty());

            chromium().click("[data-act='release-all']");
            assertThat(chromium().text("#sure-dialog")).contains("1 hold will be released");
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("held");
            chromium().click("#sure-yes");
            chromium().textOf(".callout.warn", text -> text.contains("Paused."));
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("released");
            chromium().click(".callout.warn [data-act='resume']");

            Eventually.see("no pause any more", () -> chromium().text(".callout.warn"), String::isEmpty);
            assertThat(bed.client.engine().getBoolean("paused")).isFalse();
        }
    }

    private void open(URI page, int[] size, boolean dark, String answer) {
        chromium().looks(size[0], size[1], dark);
        chromium().open(page);
        chromium().textOf("#verdict", text -> text.equals(answer));
        chromium().textOf("#live", text -> text.equals("Live"));
    }

    /** What holds for the page in every state. */
    private void seen(URI page) {
        assertThat(chromium().complaints()).isEmpty();
        assertThat(chromium().requests())
                .isNotEmpty()
                .allSatisfy(
                        asked -> assertThat(URI.create(asked).getAuthority()).isEqualTo(page.getAuthority()));
        assertThat(chromium().evaluate("document.documentElement.scrollWidth <= innerWidth"))
                .as("nothing is wider than the window")
                .isEqualTo(true);
        accessible(true);
    }

    private void accessible(boolean whole) {
        JsonArray nodes = chromium().call("Accessibility.getFullAXTree").getJsonArray("nodes");
        int level = 0;
        int interactive = 0;
        StringBuilder roles = new StringBuilder();
        for (int i = 0; i < nodes.size(); i++) {
            JsonObject node = nodes.getJsonObject(i);
            if (node.getBoolean("ignored", false)) {
                continue;
            }
            String role = value(node, "role");
            roles.append(role).append(' ');
            if (INTERACTIVE.contains(role)) {
                interactive++;
                assertThat(value(node, "name")).as(node.encode()).isNotBlank();
            }
            if (role.equals("heading")) {
                int next = node.getJsonArray("properties").stream()
                        .map(JsonObject.class::cast)
                        .filter(property -> "level".equals(property.getString("name")))
                        .mapToInt(property -> property.getJsonObject("value").getInteger("value"))
                        .findFirst()
                        .orElseThrow();
                if (whole) {
                    assertThat(next)
                            .as("level of heading " + value(node, "name"))
                            .isBetween(1, level + 1);
                    level = next;
                }
            }
        }
        assertThat(interactive).isPositive();
        if (whole) {
            assertThat(level).isPositive();
            assertThat(roles.toString()).contains("banner ", "main ", "contentinfo ", "status ");
        }
        assertThat(chromium().faintTexts()).isEmpty();
    }

    private static String value(JsonObject node, String name) {
        JsonObject value = node.getJsonObject(name);
        return value == null ? "" : String.valueOf(value.getValue("value"));
    }

    private void shot(String name) throws IOException {
        String folder = System.getProperty("holdfast.screenshots");
        if (folder != null) {
            Files.createDirectories(Path.of(folder));
            Files.write(Path.of(folder, name + ".png"), chromium().screenshot(false));
            Files.write(Path.of(folder, name + "-whole.png"), chromium().screenshot(true));
        }
    }
}
