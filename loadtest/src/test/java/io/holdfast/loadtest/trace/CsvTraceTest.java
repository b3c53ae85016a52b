package io.holdfast.loadtest.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.trace.TraceFile.Format;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class CsvTraceTest {
    private static final String HEADER = "time,prefix,tokens\n";

    @TempDir
    Path folder;

    @Test
    void conversationThatGrows_keepsItsBlocks() throws IOException {
        Trace trace = read(HEADER + "1767225600.25,system/chat-1,40/20\n1767225601.5,system/chat-1,40/60\n");
        assertThat(trace.blockTokens()).isEqualTo(16);
        assertThat(trace.nanos(0)).isZero();
        assertThat(trace.nanos(1)).isEqualTo(1_250_000_000);
        assertThat(trace.inputTokens(1)).isEqualTo(100);
        assertThat(trace.outputTokens(1)).isZero();
        assertThat(trace.length(0)).isEqualTo(4);
        assertThat(trace.length(1)).isEqualTo(7);
        assertThat(shared(trace, 0, 1)).isEqualTo(3);
        assertThat(trace.uniqueBlocks()).isEqualTo(8);
    }

    @Test
    void sameNameBehindAnotherText_isAnotherBlock() throws IOException {
        Trace trace = read(HEADER + "0,a/x,16/16\n1,b/x,16/16\n2,a/x,12/16\n");
        assertThat(shared(trace, 0, 1)).isZero();
        assertThat(shared(trace, 0, 2)).isZero();
        assertThat(trace.uniqueBlocks()).isEqualTo(6);
    }

    @Test
    void sameNameTwice_isTheTextTwice() throws IOException {
        Trace trace = read(HEADER + "0,a/a,16/16\n1,a,32\n");
        assertThat(shared(trace, 0, 1)).isEqualTo(1);
    }

    @Test
    void oneLengthForSeveralParts_makesEachABlock() throws IOException {
        Trace trace = read(HEADER + "0,a/b/c,40\n\n0,a/b/d,48\n0,a/e,16/3\n");
        assertThat(trace.length(0)).isEqualTo(3);
        assertThat(trace.fullBlocks(0)).isEqualTo(2);
        assertThat(shared(trace, 0, 1)).isEqualTo(2);
        assertThat(shared(trace, 0, 2)).isEqualTo(1);
    }

    @Test
    void answersAndBlockSize_areTakenWhereTheyAreTold() throws IOException {
        Path file = file("\uFEFFTime,Prefix,Tokens,Output\r\n 0.5 , a , 100 , 7 \r\n");
        Trace trace = TraceFile.at(file).inBlocksOf(64).read();
        assertThat(trace.outputTokens(0)).isEqualTo(7);
        assertThat(trace.length(0)).isEqualTo(2);
        assertThat(trace.fullBlocks(0)).isEqualTo(1);
    }

    /** Two prompts share just as many full blocks as their texts have tokens in common. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void sharedBlocks_areThoseOfTheTokens(long seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        StringBuilder lines = new StringBuilder(HEADER);
        List<List<String>> prompts = new ArrayList<>();
        Map<Integer, Integer> usual = new HashMap<>();
        for (int request = 0; request < 60; request++) {
            List<String> tokens = new ArrayList<>();
            List<String> names = new ArrayList<>();
            List<String> lengths = new ArrayList<>();
            int parts = 1 + random.nextInt(3);
            for (int part = 0; part < parts; part++) {
                int name = random.nextInt(2);
                int length = part + 1 < parts && random.nextInt(4) > 0
                        ? usual.computeIfAbsent(name, any -> 1 + random.nextInt(40))
                        : 1 + random.nextInt(40);
                names.add("s" + name);
                lengths.add(String.valueOf(length));
                for (int at = 0; at < length; at++) {
                    tokens.add(part + ":" + name + ":" + at);
                }
            }
            prompts.add(tokens);
            lines.append(request)
                    .append(',')
                    .append(String.join("/", names))
                    .append(',')
                    .append(String.join("/", lengths))
                    .append('\n');
        }
        Trace trace = read(lines.toString());
        for (int one = 0; one < prompts.size(); one++) {
            for (int other = 0; other < one; other++) {
                int common = 0;
                int shorter =
                        Math.min(prompts.get(one).size(), prompts.get(other).size());
                while (common < shorter
                        && prompts.get(one)
                                .get(common)
                                .equals(prompts.get(other).get(common))) {
                    common++;
                }
                int full =
                        Math.min(shared(trace, one, other), Math.min(trace.fullBlocks(one), trace.fullBlocks(other)));
                assertThat(full).as("requests %d and %d", one, other).isEqualTo(common / 16);
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "1,a|has 2 fields, where the header has 3",
                "1,a,2,3|has 4 fields, where the header has 3",
                "1,\"a\",2|has quotes",
                "yesterday,a,2|has no seconds in 'time'",
                "-1,a,2|has no seconds in 'time'",
                "1e999999999,a,2|has no seconds in 'time'",
                "9999999999,a,2|has no seconds in 'time'",
                "0.4,a,2|is of 0.4 s, after one of 0.5 s; sort the lines by time",
                "1,a,0|has no whole number from 1 on in 'tokens'",
                "1,a,1.5|has no whole number from 1 on in 'tokens'",
                "1,a,9999999999|has no whole number from 1 on in 'tokens'",
                "1,a/b,7/0|has no whole number from 1 on in 'tokens'",
                "1,a/b/c,7/8|has 2 lengths in 'tokens' for 3 parts",
                "1,a,7/8|has 2 lengths in 'tokens' for 1 part of",
                "1,a/b/c,100|has 100 tokens, which are 7 blocks of 16, and 3 parts",
                "1,a/b,10000000/1|has more than 10,000,000 tokens",
                "1,a//b,7/8/9|has an empty part in its prefix",
                "1,,7|has an empty part in its prefix"
            })
    void badLine_isNamed(String line, String why) throws IOException {
        Path bad = file(HEADER + "0.5,a,3\n" + line + "\n");
        assertThatThrownBy(() -> TraceFile.at(bad).read())
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 3 of the trace " + bad + " ")
                .hasMessageContaining(why)
                .hasMessageEndingWith(".");
    }

    @Test
    void form_isToldByTheFirstLine_orForced() throws IOException {
        Path neither = file("when;what\n");
        assertThatThrownBy(() -> TraceFile.at(neither).read())
                .hasMessage("Line 1 of the trace " + neither + " is neither a JSON object, as in Mooncake's traces, nor"
                        + " the header 'time,prefix,tokens' of a CSV file.");
        assertThatThrownBy(() -> TraceFile.at(neither).as(Format.CSV).read()).hasMessageContaining("is no header");
        assertThatThrownBy(() -> TraceFile.at(neither).as(Format.MOONCAKE).read())
                .hasMessageContaining("is no whole JSON object");
        Path further = file("time,prefix,tokens,cost\n0,a,1,1\n");
        assertThatThrownBy(() -> TraceFile.at(further).read()).hasMessageContaining("is no header");
        Path empty = file(HEADER);
        assertThatThrownBy(() -> TraceFile.at(empty).read()).hasMessage("The trace " + empty + " has no requests.");
    }

    @Test
    void blockSizeOfMooncakesTraces_isFixed() throws IOException {
        Path mooncake = file("{\"timestamp\": 5, \"input_length\": 1, \"output_length\": 7, \"hash_ids\": [0]}\n");
        assertThatThrownBy(() -> TraceFile.at(mooncake).inBlocksOf(16).read())
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("have blocks of 512 tokens");
    }

    private static int shared(Trace trace, int one, int other) {
        int shared = 0;
        while (shared < Math.min(trace.length(one), trace.length(other))
                && trace.block(one, shared) == trace.block(other, shared)) {
            shared++;
        }
        return shared;
    }

    private Trace read(String content) throws IOException {
        return TraceFile.at(file(content)).read();
    }

    private Path file(String content) throws IOException {
        return Files.writeString(Files.createTempFile(folder, "trace", ".csv"), content);
    }
}
