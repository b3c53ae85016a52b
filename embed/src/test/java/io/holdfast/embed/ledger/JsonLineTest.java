package io.holdfast.embed.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against Jackson, which wrote and read the ledgers of earlier versions. */
class JsonLineTest {
    private static final ObjectMapper JACKSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
            .build();

    private final Random random = new Random(5);

    @Test
    void written_isByteForByteWhatJacksonWrote() {
        for (int round = 0; round < 2_000; round++) {
            ObjectNode theirs = JACKSON.createObjectNode();
            JsonLine.Writer ours = new JsonLine.Writer();
            for (int i = random.nextInt(6); i > 0; i--) {
                String key = "k" + i + text();
                switch (random.nextInt(3)) {
                    case 0 -> {
                        String value = text();
                        theirs.put(key, value);
                        ours.put(key, value);
                    }
                    case 1 -> {
                        long value = random.nextLong() >> random.nextInt(64);
                        theirs.put(key, value);
                        ours.put(key, value);
                    }
                    default -> {
                        boolean value = random.nextBoolean();
                        theirs.put(key, value);
                        ours.put(key, value);
                    }
                }
            }

            assertThat(ours.line()).isEqualTo((theirs + "\n").getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void whatJacksonWrote_isReadTheSame() throws IOException {
        for (int round = 0; round < 2_000; round++) {
            ObjectNode written = object(0);
            String text = random.nextBoolean() ? written.toString() : written.toPrettyString();

            assertSame(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void tamperedLine_isReadTheSameOrRefusedByBoth() throws IOException {
        String alphabet = "{}[]:,\"\\0123456789-+.eEtrufalsn \t\u0001x";
        int whole = 0;
        for (int round = 0; round < 20_000; round++) {
            StringBuilder text = new StringBuilder(object(1).toString());
            for (int i = random.nextInt(3); i >= 0; i--) {
                int at = random.nextInt(text.length());
                char c = alphabet.charAt(random.nextInt(alphabet.length()));
                switch (random.nextInt(3)) {
                    case 0 -> text.setCharAt(at, c);
                    case 1 -> text.insert(at, c);
                    default -> text.setLength(at + 1);
                }
            }
            whole += assertSame(text.toString().getBytes(StandardCharsets.UTF_8)) ? 1 : 0;
        }
        assertThat(whole).as("some of them are whole all the same").isBetween(500, 19_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "{",
                "[]",
                "1",
                "\"a\"",
                "null",
                "{}{}",
                "{} x",
                "{\"a\":1,}",
                "{\"a\":1,\"a\":1}",
                "{\"a\":{\"b\":1,\"b\":2}}",
                "{\"a\":01}",
                "{\"a\":-}",
                "{\"a\":1.}",
                "{\"a\":.5}",
                "{\"a\":1e}",
                "{\"a\":+1}",
                "{\"a\":tru}",
                "{\"a\":truex}",
                "{\"a\":\"\\x\"}",
                "{\"a\":\"\\u12g4\"}",
                "{\"a\":\"\\u12\"}",
                "{\"a\":\"\t\"}",
                "{\"a\"}",
                "{a:1}",
                "{\"a\":1 \"b\":2}",
                "{'a':1}",
                "{\"a\":NaN}",
                "{\"a\":1}//x"
            })
    void broken_isRefused(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);

        assertThat(JsonLine.read(bytes, 0, bytes.length)).isEmpty();
    }

    @Test
    void bytesThatAreNoText_areRefused() {
        byte[] bytes = "{\"a\":\"..\"}".getBytes(StandardCharsets.UTF_8);
        bytes[6] = (byte) 0xff;

        assertThat(JsonLine.read(bytes, 0, bytes.length)).isEmpty();
    }

    @Test
    void nestedTooDeep_isRefusedAndEndsNothing() {
        byte[] deep = ("{\"a\":" + "[".repeat(100_000)).getBytes(StandardCharsets.UTF_8);

        assertThat(JsonLine.read(deep, 0, deep.length)).isEmpty();
    }

    /** Whether both took it. */
    private static boolean assertSame(byte[] bytes) throws IOException {
        Optional<JsonLine.Members> ours = JsonLine.read(bytes, 0, bytes.length);
        JsonNode theirs;
        try {
            theirs = JACKSON.readTree(bytes);
        } catch (JsonProcessingException e) {
            theirs = JACKSON.nullNode();
        }
        String line = new String(bytes, StandardCharsets.UTF_8);
        assertThat(ours.isPresent()).as(line).isEqualTo(theirs.isObject());
        if (ours.isPresent()) {
            assertThat(ours.get().isEmpty()).isEqualTo(theirs.isEmpty());
            for (var field : theirs.properties()) {
                String key = field.getKey();
                JsonNode value = field.getValue();
                assertThat(ours.get().has(key)).as(line).isTrue();
                assertThat(ours.get().text(key).isPresent()).as(line).isEqualTo(value.isTextual());
                ours.get().text(key).ifPresent(text -> assertThat(text).isEqualTo(value.textValue()));
                assertThat(ours.get().whole(key).isPresent())
                        .as(line)
                        .isEqualTo(value.isIntegralNumber() && value.canConvertToLong());
                ours.get().whole(key).ifPresent(number -> assertThat(number).isEqualTo(value.longValue()));
                assertThat(ours.get().truth(key).isPresent()).as(line).isEqualTo(value.isBoolean());
                ours.get().truth(key).ifPresent(holds -> assertThat(holds).isEqualTo(value.booleanValue()));
            }
        }
        return ours.isPresent();
    }

    private ObjectNode object(int depth) {
        ObjectNode object = JACKSON.createObjectNode();
        for (int i = random.nextInt(5); i > 0; i--) {
            object.set("k" + i, value(depth));
        }
        return object;
    }

    private JsonNode value(int depth) {
        return switch (random.nextInt(depth < 3 ? 8 : 6)) {
            case 0 -> JACKSON.getNodeFactory().textNode(text());
            case 1 -> JACKSON.getNodeFactory().numberNode(random.nextLong() >> random.nextInt(64));
            case 2 -> JACKSON.getNodeFactory().booleanNode(random.nextBoolean());
            case 3 -> JACKSON.nullNode();
            case 4 -> JACKSON.getNodeFactory().numberNode(random.nextGaussian());
            case 5 -> JACKSON.getNodeFactory().numberNode(new BigInteger(80, random));
            case 6 -> object(depth + 1);
            default -> {
                ArrayNode array = JACKSON.createArrayNode();
                for (int i = random.nextInt(3); i > 0; i--) {
                    array.add(value(depth + 1));
                }
                yield array;
            }
        };
    }

    private String text() {
        int[] points = random.ints(random.nextInt(8), 0, 300).toArray();
        String plain = new String(points, 0, points.length);
        return random.nextInt(4) == 0 ? plain + "\u2028\ud83d\ude80/" : plain;
    }
}
