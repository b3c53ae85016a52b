package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.api.JsonReader.Dialect;
import io.holdfast.rules.testing.Recording;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The two parsers' own answers to documents good and bad were recorded. */
class JsonReaderTest {
    private static final Map<String, Dialect> PARSERS = Map.of("orjson", Dialect.ORJSON, "python", Dialect.PYTHON);

    @Test
    void everyDocument_isReadOrRefusedInTheParsersOwnWords() {
        List<String> wrong = new ArrayList<>();
        for (JsonNode document : Recording.read("json_parsers.jsonl.gz")) {
            String text = document.path("text").asText();
            PARSERS.forEach((name, dialect) -> {
                JsonNode expected = document.path(name);
                String theirs = expected.has("value")
                        ? expected.path("value").asText()
                        : expected.path("problem").asText() + " at "
                                + expected.path("at").asInt();
                String ours = read(text.getBytes(StandardCharsets.UTF_8), dialect);
                if (!ours.equals(theirs)) {
                    wrong.add(name + " of " + text + ": " + ours + " in place of " + theirs);
                }
            });
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void bytesThatAreNoText_areRefused() {
        byte[] broken = {'"', (byte) 0xC3, '"'};
        assertThat(read(broken, Dialect.ORJSON)).isEqualTo("str is not valid UTF-8: surrogates not allowed at 0");
        assertThat(read(broken, Dialect.PYTHON)).isEqualTo("unreadable");
    }

    @Test
    void nesting_endsWhereTheParserEndsIt() {
        byte[] deep = ("[".repeat(1024) + "]".repeat(1024)).getBytes(StandardCharsets.UTF_8);
        byte[] deeper = "[".repeat(10_000).getBytes(StandardCharsets.UTF_8);
        assertThat(read(deep, Dialect.ORJSON)).startsWith("[[[");
        assertThat(read(deeper, Dialect.ORJSON)).isEqualTo("depth limit exceeded at 1025");
        assertThat(read(deeper, Dialect.PYTHON)).isEqualTo("unreadable");
    }

    @Test
    void aLongListOfNumbers_isTheSameList() {
        StringBuilder text = new StringBuilder("[0");
        for (int i = 1; i < 100_000; i++) {
            text.append(',').append(i);
        }
        Json read = JsonReader.read(text.append(']').toString().getBytes(StandardCharsets.UTF_8), Dialect.ORJSON);
        assertThat(read).isInstanceOf(Json.Arr.class);
        List<Json> items = ((Json.Arr) read).items();
        assertThat(items).hasSize(100_000).contains(new Json.Int(0), new Json.Int(99_999));
    }

    private static String read(byte[] document, Dialect dialect) {
        try {
            return JsonReader.read(document, dialect).repr();
        } catch (JsonReader.Malformed e) {
            return e.problem() + " at " + e.at();
        } catch (JsonReader.Unreadable e) {
            return "unreadable";
        }
    }
}
