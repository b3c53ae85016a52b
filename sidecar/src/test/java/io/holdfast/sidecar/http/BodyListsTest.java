package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonParser;
import io.holdfast.sidecar.config.ApiError;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whatever a body is, reading its lists from the bytes says the same of it as the parser alone, place for place. */
class BodyListsTest {
    private static final List<String> FIELDS =
            List.of("tokens", "token_ids", "hashes", "block_hashes", "model", "text", "to\\u006bens", "tökens", "");
    private static final List<String> SPACES = List.of("", "", "", " ", "\n", "\r\n", "\r", "\t", "  \n ");
    private static final String PALETTE = "0123456789,,[]{}\":-+.eE \n\r\t\\truefalsn\u0000\u00ff";
    private static final int MOST_BLOCKS = 30;

    @Test
    void bodies_areReadAsTheParserAloneReadsThem() {
        Random random = new Random(37);
        int taken = 0;
        int refused = 0;
        for (int i = 0; i < 200_000; i++) {
            byte[] body = body(random);
            if (i % 3 > 0) {
                mutate(body, random);
            }
            String alone = said(new BodyLists(body));
            BodyLists lists = BodyLists.of(body);
            assertThat(said(lists)).as("body %d: %s", i, text(body)).isEqualTo(alone);
            taken += lists.isEmpty() ? 0 : 1;
            refused += alone.startsWith("4") ? 1 : 0;
        }
        assertThat(taken).isGreaterThan(30_000);
        assertThat(refused).isBetween(30_000, 170_000);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {"token_ids":[1,2,x]}            | The body is not valid JSON at line 1, column 19
        {"token_ids":[1,2,]}             | The body is not valid JSON at line 1, column 19
        {"token_ids":[1 2]}              | The body is not valid JSON at line 1, column 17
        {"token_ids":[1,2}               | The body is not valid JSON at line 1, column 18
        {"token_ids":[01]}               | The body is not valid JSON at line 1, column 16
        {"token_ids":[1,-]}              | The body is not valid JSON at line 1, column 18
        {"token_ids":[1,2],"model":x}    | The body is not valid JSON at line 1, column 28
        {"token_ids":[1,2,3,4,5],}       | The body is not valid JSON at line 1, column 26
        {"token_ids":[1],"token_ids":[2]} | The body is not valid JSON at line 1, column 29
        {"token_ids":[1,2]               | The body is not valid JSON at line 1
        {"token_ids":[1,2.0]}            | token_ids[1] is not a whole number; tokens are the engine's token ids.
        {"token_ids":[1,1e2]}            | token_ids[1] is not a whole number; tokens are the engine's token ids.
        {"token_ids":[1,"2"]}            | token_ids[1] is not a whole number; tokens are the engine's token ids.
        {"token_ids":[1,[2]]}            | token_ids[1] is not a whole number; tokens are the engine's token ids.
        {"token_ids":[1,{}]}             | token_ids[1] is not a whole number; tokens are the engine's token ids.
        {"token_ids":[1,null]}           | token_ids[1] is not a whole number; tokens are the engine's token ids.
        {"token_ids":[1,-2]}             | token_ids[1] is '-2'; a token id is between 0 and 4294967295.
        {"token_ids":[1,4294967296]}     | token_ids[1] is '4294967296'; a token id is between 0 and 4294967295.
        {"token_ids":[1,99999999999999999999]} | token_ids[1] is '99999999999999999999'; a token id is between 0
        {"token_ids":[ ]}                | token_ids is empty; a hold needs at least one full block.
        {"block_hashes":[1,true]}        | block_hashes[1] is neither a whole number nor a string of decimal digits.
        {"block_hashes":["1","-"]}       | block_hashes[1] is '-'; a hash is a decimal number of 64 bits, signed or
        {"block_hashes":["1"," 2"]}      | block_hashes[1] is ' 2'; a hash is a decimal number of 64 bits, signed or
        {"block_hashes":[18446744073709551616]} | block_hashes[0] is '18446744073709551616'; a hash is a decimal number
        {"block_hashes":[-9223372036854775809]} | block_hashes[0] is '-9223372036854775809'; a hash is a decimal number
        """)
    void malformedList_isRefusedWhereItIs(String body, String sentence) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        assertThatThrownBy(() -> read(BodyLists.of(bytes)))
                .isInstanceOf(ApiError.class)
                .hasMessageStartingWith(sentence);
        assertThat(said(BodyLists.of(bytes))).isEqualTo(said(new BodyLists(bytes)));
    }

    @Test
    void numbersOfAllLengths_areRead() {
        String tokens = "0,9,10,99,100,999,1000,9999,10000,99999,100000,999999,1000000,9999999,10000000,99999999,"
                + "100000000,999999999,1000000000,4294967295";
        String hashes =
                "0,-1,\"-9223372036854775807\",-9223372036854775808,18446744073709551615,\"9223372036854775808\","
                        + "999999999999999999,\"9999999999999999999\",18446744073709551609";
        String body = "{\"tokens\":[" + tokens + "],\"hashes\":[" + hashes + "]}";

        Map<String, String> read = read(BodyLists.of(body.getBytes(StandardCharsets.UTF_8)));

        assertThat(read.get("tokens"))
                .isEqualTo(Arrays.stream(tokens.split(","))
                        .map(each -> Integer.toString(Integer.parseUnsignedInt(each)))
                        .collect(Collectors.joining(", ", "[", "]")));
        assertThat(read.get("hashes"))
                .isEqualTo("[0, -1, -9223372036854775807, -9223372036854775808, -1, -9223372036854775808,"
                        + " 999999999999999999, -8446744073709551617, -7]");
    }

    @Test
    void longPrompt_isReadWithoutItsParser() {
        int[] tokens = new Random(1).ints(100_000, 0, 150_000).toArray();
        String list = IntStream.of(tokens).mapToObj(Integer::toString).collect(Collectors.joining(", "));
        BodyLists lists =
                BodyLists.of(("{\"model\": \"m\", \"tokens\": [" + list + "]}").getBytes(StandardCharsets.UTF_8));

        assertThat(lists.isEmpty()).isFalse();
        assertThat(read(lists)).containsEntry("tokens", Arrays.toString(tokens)).containsEntry("model", "m");
    }

    @Test
    void listsWithinLists_areLeftToTheParser() {
        String body = "{\"touches\":[{\"tokens\":[1,2]},{\"hashes\":[]}],\"tokens\":[3]}";

        assertThat(BodyLists.of(body.getBytes(StandardCharsets.UTF_8)).isEmpty())
                .isTrue();
        String nested = "{\"tokens\":[3],\"model\":{\"tokens\":[]}}";
        assertThat(said(BodyLists.of(nested.getBytes(StandardCharsets.UTF_8))))
                .isEqualTo(said(new BodyLists(nested.getBytes(StandardCharsets.UTF_8))))
                .endsWith("tokens is empty; a hold needs at least one full block.");
    }

    private static String said(BodyLists lists) {
        try {
            return read(lists).toString();
        } catch (ApiError refusal) {
            return refusal.status() + " " + refusal.sentence();
        }
    }

    private static Map<String, String> read(BodyLists lists) {
        Map<String, String> read = new TreeMap<>();
        PrefixFields.each(lists, "{}", (field, json) -> read.put(field, value(field, json)));
        return read;
    }

    private static String value(String field, JsonParser json) throws IOException {
        switch (field) {
            case "tokens", "token_ids" -> {
                return Arrays.toString(PrefixFields.tokens(json, field));
            }
            case "hashes", "block_hashes" -> {
                return Arrays.toString(PrefixFields.hashes(json, field, MOST_BLOCKS));
            }
            default -> {
                if (!json.currentToken().isStructStart()) {
                    return json.getText();
                }
                for (String inner = json.nextFieldName(); inner != null; inner = json.nextFieldName()) {
                    json.nextToken();
                    value(inner, json);
                }
                json.skipChildren();
                return "parts";
            }
        }
    }

    private static byte[] body(Random random) {
        StringBuilder body = new StringBuilder(space(random)).append('{');
        for (int left = random.nextInt(4); left >= 0; left--) {
            String field = FIELDS.get(random.nextInt(FIELDS.size()));
            body.append(space(random))
                    .append('"')
                    .append(field)
                    .append('"')
                    .append(space(random))
                    .append(':')
                    .append(space(random))
                    .append(value(field, random))
                    .append(space(random))
                    .append(left > 0 ? "," : "}");
        }
        return body.append(space(random)).toString().getBytes(StandardCharsets.UTF_8);
    }

    private static String value(String field, Random random) {
        boolean list = field.contains("tokens") || field.contains("hashes") || field.equals("token_ids");
        if (!list || random.nextInt(40) == 0) {
            return List.of(
                            "\"a\"",
                            "\"\\u0041\"",
                            "\"ä\"",
                            "null",
                            "1.5",
                            "{\"tokens\":[]}",
                            "{\"tokens\":[1]}",
                            "true")
                    .get(random.nextInt(8));
        }
        return IntStream.range(0, random.nextInt(random.nextInt(50) == 0 ? 40 : 8))
                .mapToObj(i -> space(random) + number(field.contains("hashes"), random) + space(random))
                .collect(Collectors.joining(",", "[", "]"));
    }

    private static String number(boolean hash, Random random) {
        long bits = random.nextLong() >>> random.nextInt(Long.SIZE);
        if (!hash) {
            return Long.toString(bits >>> Integer.SIZE);
        }
        String digits = random.nextBoolean() ? Long.toString(bits) : Long.toUnsignedString(bits);
        return random.nextInt(3) == 0 ? '"' + digits + '"' : digits;
    }

    private static String space(Random random) {
        return random.nextInt(4) == 0 ? SPACES.get(random.nextInt(SPACES.size())) : "";
    }

    private static void mutate(byte[] body, Random random) {
        for (int left = random.nextInt(3); left >= 0; left--) {
            body[random.nextInt(body.length)] = (byte) PALETTE.charAt(random.nextInt(PALETTE.length()));
        }
    }

    private static String text(byte[] body) {
        return new String(body, StandardCharsets.ISO_8859_1);
    }
}
