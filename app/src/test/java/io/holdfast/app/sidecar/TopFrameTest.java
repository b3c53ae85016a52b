package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code top} draws of overviews that the test writes. */
class TopFrameTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void engine_isARowAndItsDetail() {
        List<String> lines = frame(overview(1), 0, 80, 24, Optional.empty()).lines(false);

        assertThat(lines.getFirst())
                .startsWith("holdfast top  http://127.0.0.1:8471  ")
                .endsWith("  1 engine");
        assertThat(lines.get(2))
                .isEqualTo(">gpu-0      harms         +7.4 % +2.2 to +12.9      6  16 %   0.5     ?   317k");
        assertThat(String.join("\n", lines))
                .contains("gpu-0: With holds the first token comes 7.4 % later.")
                .contains("  needs  room for the largest request.")
                .contains("  cache  [###======...........] held 41,216 (#), in use 118,340, of 262,144\n")
                .contains("a block survives 48.0 s, a prefix is used again after ? (nothing was u")
                .contains("  kvcached  used 15.0 GiB, mapped 18.0 GiB, limit 24.0 GiB")
                .contains("  segment  /dev/shm/kvc_old of no engine here: used 1.0 GiB, limit 8.0 GiB")
                .contains("  hold rules  held       12,288 tokens    10m  asked for");
    }

    @Test
    void engineWithoutDifference_hasNoFigureToQuote() {
        ObjectNode overview = overview(1);
        ((ObjectNode) overview.path("engines").path(0)).put("verdict", "does_nothing");

        assertThat(frame(overview, 0, 80, 24, Optional.empty()).lines(false).get(2))
                .startsWith(">gpu-0      does nothing    none +2.2 to +12.9 ");
    }

    @ParameterizedTest
    @CsvSource({"80, 24, 64", "40, 10, 3", "200, 60, 64", "80, 24, 1"})
    void screen_isNeverLargerThanTheTerminal(int columns, int rows, int engines) {
        for (int chosen : new int[] {0, engines / 2, engines - 1}) {
            List<String> lines = frame(overview(engines), chosen, columns, rows, Optional.empty())
                    .lines(true);

            assertThat(lines)
                    .hasSize(rows)
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(columns));
            assertThat(lines).anySatisfy(line -> assertThat(line).startsWith(">gpu-" + chosen + " "));
            assertThat(lines.getLast()).startsWith("up and down choose an engine");
        }
    }

    @Test
    void lostSidecar_isSaidFirstWithTheTimeOfWhatIsShown() {
        assertThat(frame(overview(1), 0, 80, 24, Optional.of("No sidecar answers."))
                        .lines(true)
                        .getFirst())
                .matches("NOT LIVE since \\d\\d:\\d\\d:\\d\\d: No sidecar answers\\.");
    }

    @Test
    void colour_isOnlyWhereItIsAskedFor() {
        JsonNode overview = overview(2);
        TopFrame coloured = new TopFrame(overview, "http://127.0.0.1:8471", 0, 80, 24, true, Optional.empty());

        assertThat(frame(overview, 0, 80, 24, Optional.empty()).lines(true)).noneMatch(line -> line.contains("\u001b"));
        assertThat(coloured.lines(true).get(2))
                .startsWith("\u001b[7;31;1m>gpu-0")
                .endsWith("\u001b[0m");
    }

    @Test
    void controlCharactersOfAName_doNotReachTheTerminal() {
        ObjectNode overview = overview(1);
        ((ObjectNode) overview.path("detail").path("holds").path(0)).put("reason", "asked\u001b[2Jfor");

        assertThat(String.join(
                        "\n", frame(overview, 0, 80, 30, Optional.empty()).lines(true)))
                .contains("asked?[2Jfor")
                .doesNotContain("\u001b");
    }

    private static TopFrame frame(JsonNode overview, int chosen, int columns, int rows, Optional<String> stale) {
        return new TopFrame(overview, "http://127.0.0.1:8471", chosen, columns, rows, false, stale);
    }

    private static ObjectNode overview(int engines) {
        ObjectNode root = JSON.createObjectNode().put("at", "2026-11-25T12:00:00.5Z");
        ArrayNode all = root.putArray("engines");
        for (int i = 0; i < engines; i++) {
            all.add(engine("gpu-" + i));
        }
        root.putArray("otherSegments")
                .addObject()
                .put("segment", "/dev/shm/kvc_old")
                .put("usedBytes", 1L << 30)
                .put("limitBytes", 8L << 30);
        ObjectNode detail = root.putObject("detail").put("id", "gpu-0");
        detail.putArray("reasons");
        detail.putArray("holds")
                .addObject()
                .put("id", "31")
                .put("name", "rules")
                .put("state", "held")
                .put("heldTokens", 12_288)
                .put("leaseSeconds", 600)
                .put("reason", "asked for");
        return root;
    }

    private static ObjectNode engine(String id) {
        ObjectNode engine = JSON.createObjectNode()
                .put("id", id)
                .put("verdict", "harms")
                .put("sentence", "With holds the first token comes 7.4 % later.")
                .put("needs", "room for the largest request")
                .put("ready", true);
        engine.putObject("effect")
                .put("effectPercent", 7.4)
                .putArray("interval95Percent")
                .add(2.2)
                .add(12.9);
        engine.putObject("holds").put("held", 6).put("tokens", 41_216);
        ObjectNode pressure = engine.putObject("pressure");
        pressure.putObject("capacityTokens").put("value", 262_144);
        pressure.putObject("usedTokens").put("value", 118_340);
        pressure.putObject("residenceSeconds").put("value", 48);
        pressure.putObject("reuseSeconds").put("unknown", "nothing was used twice");
        pressure.putObject("rho").put("value", 0.53);
        ObjectNode hits = engine.putObject("hits").put("overSeconds", 600);
        hits.putObject("cachedShare").put("unknown", "the engine does not tell");
        hits.putObject("requests").putObject("foundShared").put("value", 2_114);
        engine.putObject("saved").putObject("tokens").put("value", 316_824);
        engine.putObject("kvcached")
                .put("usedBytes", 15L << 30)
                .put("mappedBytes", 18L << 30)
                .put("limitBytes", 24L << 30);
        return engine;
    }
}
