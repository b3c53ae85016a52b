package io.holdfast.sidecar.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HoldBodyTest {
    @Test
    void tokens_areReadAsUnsigned32Bits() {
        HoldBody body = parse("{\"tokens\":[0, 7, 4294967295],\"leaseSeconds\":60}");

        assertThat(((PrefixSource.Tokens) body.source()).ids()).containsExactly(0, 7, -1);
        assertThat(body.lease()).isEqualTo(Lease.absolute(Duration.ofSeconds(60)));
    }

    @Test
    void tokenIds_areAnotherNameOfTokens() {
        HoldBody body = parse("{\"token_ids\":[0, 7],\"leaseSeconds\":60}");

        assertThat(((PrefixSource.Tokens) body.source()).ids()).containsExactly(0, 7);
    }

    @Test
    void hashes_areTakenAsNumbersOrStrings_signedOrUnsigned() {
        HoldBody body = parse("{\"leaseSeconds\":0.25,\"hashes\":"
                + "[\"-3488128144981237669\",5674439469042975057,18446744073709551615,\"14958615928728313947\",0]}");

        assertThat(((PrefixSource.Hashes) body.source()).blocks())
                .containsExactly(-3488128144981237669L, 5674439469042975057L, -1L, -3488128144981237669L, 0L);
        assertThat(body.lease()).isEqualTo(Lease.absolute(Duration.ofMillis(250)));
    }

    @Test
    void longPrompt_isReadWhole() {
        int[] tokens = IntStream.range(0, 100_000).toArray();
        String list = IntStream.of(tokens).mapToObj(Integer::toString).collect(Collectors.joining(","));

        HoldBody body = parse("{\"tokens\":[" + list + "],\"leaseSeconds\":1}");

        assertThat(((PrefixSource.Tokens) body.source()).ids()).isEqualTo(tokens);
    }

    @Test
    void tooManyTokens_areRefused() {
        String list = "1,".repeat(PrefixSource.MOST_TOKENS) + "1";

        assertThatThrownBy(() -> parse("{\"tokens\":[" + list + "],\"leaseSeconds\":1}"))
                .hasMessage("tokens has more than 1048576 elements; no prefix is that long.");
    }

    /** A tree of them can take fifty times the room of the body. */
    @ParameterizedTest
    @ValueSource(strings = {"[%s]", "[{\"content\":[%s]}]"})
    void messagesOfTooManyParts_areRefused(String messages) {
        String list = messages.formatted("{},".repeat(100_000) + "{}");

        assertThatThrownBy(() -> parse("{\"messages\":" + list + ",\"leaseSeconds\":1}"))
                .hasMessage(
                        "messages have more than 200000 values and names together; send fewer, or the tokens that they"
                                + " become.");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        ``                                              | The body must be a JSON object
        []                                              | The body must be a JSON object
        7                                               | The body must be a JSON object
        {                                               | The body is not valid JSON at line 1
        {"tokens":[1,2                                  | The body is not valid JSON at line 1
        {"tokens":[1,],"leaseSeconds":1}                | The body is not valid JSON at line 1
        {'tokens':[1]}                                  | The body is not valid JSON at line 1
        {"tokens":[1],"leaseSeconds":1} x               | The body is not valid JSON at line 1
        {"tokens":[1],"leaseSeconds":1}{}               | Something follows the JSON object; send one object only.
        {"tokens":[1],"tokens":[2],"leaseSeconds":1}    | The body is not valid JSON at line 1
        {"leaseSeconds":1}                              | The body has none of tokens, hashes, text, messages
        {"tokens":[1],"hashes":[1],"leaseSeconds":1}    | The body has tokens and hashes; send one of them.
        {"tokens":[1],"token_ids":[1],"leaseSeconds":1} | The body has tokens and token_ids; send one of them.
        {"token_ids":[-1],"leaseSeconds":1}             | token_ids[0] is '-1'; a token id is between 0 and 4294967295.
        {"tokens":[1]}                                  | leaseSeconds is missing; every hold ages
        {"tokens":[1],"leaseSeconds":1,"requester":"a\\u202eb"} | requester is 'a?b'; write 1 to 64 printable characters.
        {"tokens":[1],"leaseSeconds":NaN}               | The body is not valid JSON at line 1, column 33 ('Non-standard token 'NaN'').
        {"token":[1],"leaseSeconds":1}                  | The field 'token' is unknown; a hold has tokens, hashes
        {"tokens":1,"leaseSeconds":1}                   | tokens is not an array.
        {"tokens":null,"leaseSeconds":1}                | tokens is not an array.
        {"tokens":"1,2","leaseSeconds":1}               | tokens is not an array.
        {"tokens":[],"leaseSeconds":1}                  | tokens is empty; a hold needs at least one full block.
        {"tokens":["1"],"leaseSeconds":1}               | tokens[0] is not a whole number
        {"tokens":[1,1.5],"leaseSeconds":1}             | tokens[1] is not a whole number
        {"tokens":[[1]],"leaseSeconds":1}               | tokens[0] is not a whole number
        {"tokens":[null],"leaseSeconds":1}              | tokens[0] is not a whole number
        {"tokens":[-1],"leaseSeconds":1}                | tokens[0] is '-1'; a token id is between 0 and 4294967295.
        {"tokens":[4294967296],"leaseSeconds":1}        | tokens[0] is '4294967296'; a token id is between
        {"tokens":[99999999999999999999],"leaseSeconds":1} | tokens[0] is '99999999999999999999'; a token id is
        {"text":"","leaseSeconds":1}                    | text is empty; a hold needs at least one full block.
        {"text":["a"],"leaseSeconds":1}                 | text is not a string; messages are what a conversation
        {"text":"a","tokens":[1],"leaseSeconds":1}      | The body has text and tokens; send one of them.
        {"text":"a","tools":[{}],"leaseSeconds":1}      | tools are a part of a conversation; send messages with
        {"tools":[{}],"leaseSeconds":1}                 | The body has none of tokens, hashes, text, messages
        {"messages":[],"leaseSeconds":1}                | messages is empty; leave it out, or send what the chat
        {"messages":"hi","leaseSeconds":1}              | messages is not an array.
        {"messages":["hi"],"leaseSeconds":1}            | messages[0] is not an object; send messages as the chat
        {"messages":[{}],"tools":[1],"leaseSeconds":1}  | tools[0] is not an object; send tools as the chat
        {"messages":[{"a":1,"a":2}],"leaseSeconds":1}   | The body is not valid JSON at line 1
        {"example":"x","leaseSeconds":1}                | example is not a number; write it as the answer of
        {"tokens":[1],"prefix":1,"leaseSeconds":1}      | prefix is the number of one that an example saw; send
        {"hashes":[],"leaseSeconds":1}                  | hashes is empty; a hold needs at least one full block.
        {"hashes":{"a":1},"leaseSeconds":1}             | hashes is not an array.
        {"hashes":[true],"leaseSeconds":1}              | hashes[0] is neither a whole number nor a string
        {"hashes":[1e3],"leaseSeconds":1}               | hashes[0] is neither a whole number nor a string
        {"hashes":["0x1f"],"leaseSeconds":1}            | hashes[0] is '0x1f'; a hash is a decimal number
        {"hashes":["1",""],"leaseSeconds":1}            | hashes[1] is empty; a hash is a decimal number
        {"hashes":["+1"],"leaseSeconds":1}              | hashes[0] is '+1'; a hash is a decimal number
        {"hashes":[18446744073709551616],"leaseSeconds":1} | hashes[0] is '18446744073709551616'; a hash is
        {"hashes":[-9223372036854775809],"leaseSeconds":1} | hashes[0] is '-9223372036854775809'; a hash is
        {"tokens":[1],"leaseSeconds":-1}                | leaseSeconds is '-1'; write 0.001 to 86400.
        {"tokens":[1],"leaseSeconds":0}                 | leaseSeconds is '0'; write 0.001 to 86400.
        {"tokens":[1],"leaseSeconds":0.0001}            | leaseSeconds is '0.0001'; write 0.001 to 86400.
        {"tokens":[1],"leaseSeconds":86400.5}           | leaseSeconds is '86400.5'; write 0.001 to 86400.
        {"tokens":[1],"leaseSeconds":1e999999999}       | leaseSeconds is '1e999999999'; write 0.001 to 86400.
        {"tokens":[1],"leaseSeconds":1e-999999999}      | leaseSeconds is '1e-999999999'; write 0.001 to 86400.
        {"tokens":[1],"leaseSeconds":"60"}              | leaseSeconds is not a number; write seconds, such as 60.
        {"tokens":[1],"leaseSeconds":null}              | leaseSeconds is not a number; write seconds, such as 60.
        {"tokens":[1],"leaseSeconds":1,"refreshOnHit":1}| refreshOnHit is neither true nor false.
        {"tokens":[1],"leaseSeconds":9,"atMostSeconds":8} | atMostSeconds is less than leaseSeconds; it is how long the
        {"tokens":[1],"leaseSeconds":1,"atMostSeconds":31536001} | atMostSeconds is '31536001'; write 0.001 to 31536000.
        {"tokens":[1],"leaseSeconds":1,"atMostSeconds":"9"} | atMostSeconds is not a number; write seconds, such as 60.
        {"tokens":[1],"leaseSeconds":1,"measure":1}     | measure is neither true nor false.
        {"tokens":[1],"leaseSeconds":1,"weight":0}      | weight is no whole number of 1 to 100; what is heavier is held
        {"tokens":[1],"leaseSeconds":1,"weight":101}    | weight is no whole number of 1 to 100; what is heavier is held
        {"tokens":[1],"leaseSeconds":1,"weight":1.5}    | weight is no whole number of 1 to 100; what is heavier is held
        {"tokens":[1],"leaseSeconds":1,"requester":7}   | requester is not a string; write 1 to 64 printable characters.
        {"tokens":[1],"leaseSeconds":1,"requester":""}  | requester is empty; write 1 to 64 printable characters.
        {"tokens":[1],"leaseSeconds":1,"requester":"\\n"} | requester is '?'; write 1 to 64 printable characters.
        {"tokens":[1],"leaseSeconds":1,"says":"used"}   | The field 'says' is unknown; a hold has tokens, hashes
        {"tokens":[1],"leaseSeconds":NaN}               | The body is not valid JSON at line 1
        """)
    void fault_isOneSentence(String body, String sentence) {
        assertThatThrownBy(() -> parse(body))
                .isInstanceOfSatisfying(
                        ApiError.class, error -> assertThat(error.status()).isEqualTo(400))
                .hasMessageStartingWith(sentence)
                .hasMessageMatching("[^\\n]+\\.");
    }

    @Test
    void leaseOfEachKind_isRead() {
        HoldBody body = parse("{\"tokens\":[1],\"leaseSeconds\":300,\"refreshOnHit\":true,\"atMostSeconds\":7200,"
                + "\"weight\":7,\"measure\":true,\"requester\":\"router-a\"}");

        assertThat(body.lease()).isEqualTo(new Lease(Duration.ofMinutes(5), true, Duration.ofHours(2)));
        assertThat(body.asked(new HoldRequest(new long[] {1}, body.lease()))).satisfies(asked -> {
            assertThat(asked.weight()).isEqualTo(7);
            assertThat(asked.requester()).isEqualTo("router-a");
            assertThat(asked.measured()).isTrue();
        });
        HoldBody plain = parse("{\"tokens\":[1],\"leaseSeconds\":300,\"measure\":false}");
        assertThat(plain.asked(new HoldRequest(new long[] {1}, plain.lease())).measured())
                .isFalse();
        assertThat(parse("{\"tokens\":[1],\"leaseSeconds\":300,\"refreshOnHit\":true}")
                        .lease())
                .isEqualTo(Lease.refreshed(Duration.ofMinutes(5)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {"tokens":[1]}                            | says is missing; write used, goes_on or over.
        {"tokens":[1],"says":7}                   | says is empty; write used, goes_on or over.
        {"tokens":[1],"says":"USED"}              | says is 'USED'; write used, goes_on or over.
        {"tokens":[1],"says":"over"}              | requester is missing; "over" ends what its requester requested
        {"tokens":[1],"says":"used","leaseSeconds":1} | The field 'leaseSeconds' is unknown; a hint has tokens, hashes
        {"says":"used"}                           | The body has none of tokens, hashes, text, messages
        []                                        | The body must be a JSON object such as {"tokens":[1,2,3],"says"
        """)
    void faultOfAHint_isOneSentence(String body, String sentence) {
        assertThatThrownBy(() -> HintBody.parse(body.getBytes(StandardCharsets.UTF_8), 65_536))
                .isInstanceOfSatisfying(
                        ApiError.class, error -> assertThat(error.status()).isEqualTo(400))
                .hasMessageStartingWith(sentence)
                .hasMessageMatching("[^\\n]+\\.");
    }

    private static HoldBody parse(String json) {
        return HoldBody.parse(json.getBytes(StandardCharsets.UTF_8), 65_536);
    }
}
