package io.holdfast.loadtest.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class TraceFileTest {
    private static final String GOOD =
            "{\"timestamp\": 5, \"input_length\": 1100, \"output_length\": 7, \"hash_ids\": [0, 1, 2]}\n";

    @TempDir
    Path folder;

    @Test
    void requests_areReadWithTimesAndPaths() throws IOException {
        Trace trace = read(file((GOOD
                        + "\n"
                        + "{\"hash_ids\": [0, 1, 9], \"timestamp\": 6, \"other\": {\"a\": [1]}, \"input_length\":"
                        + " 1536, \"output_length\": 0}\n")
                .getBytes(StandardCharsets.UTF_8)));
        assertThat(trace.requests()).isEqualTo(2);
        assertThat(trace.references()).isEqualTo(6);
        assertThat(trace.uniqueBlocks()).isEqualTo(4);
        assertThat(trace.nanos(1)).isEqualTo(6_000_000);
        assertThat(trace.fullBlocks(0)).isEqualTo(2);
        assertThat(trace.fullBlocks(1)).isEqualTo(3);
        assertThat(trace.block(1, 1)).isEqualTo(trace.block(0, 1));
        assertThat(trace.block(1, 2)).isNotEqualTo(trace.block(0, 2));
    }

    @Test
    void idBelowAnotherParent_isAnotherBlock() throws IOException {
        Trace trace = read(
                file((GOOD + "{\"timestamp\": 6, \"input_length\": 1024, \"output_length\": 0, \"hash_ids\": [3, 1]}\n")
                        .getBytes(StandardCharsets.UTF_8)));
        assertThat(trace.uniqueBlocks()).isEqualTo(5);
    }

    @Test
    void packedTrace_isTheSame_andABrokenOneIsSaid() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream packed = new GZIPOutputStream(bytes)) {
            packed.write(GOOD.repeat(1_000).getBytes(StandardCharsets.UTF_8));
        }
        assertThat(read(file(bytes.toByteArray())).requests()).isEqualTo(1_000);
        Path cut = file(Arrays.copyOf(bytes.toByteArray(), bytes.size() / 2));
        assertThatThrownBy(() -> read(cut))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("The packed trace " + cut + " is broken after line ");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"timestamp\": 0, \"input_le|is no whole JSON object",
                "[1, 2]|is no JSON object",
                "hello|is no whole JSON object",
                "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}|lacks one of",
                "{\"timestamp\": 4, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [1]}|is of 4 ms, after"
                        + " one of 5 ms",
                "{\"timestamp\": 9, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": []}|has no block",
                "{\"timestamp\": 9, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [\"a\"]}|has no number",
                "{\"timestamp\": 9, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [-1]}|has no number",
                "{\"timestamp\": 9, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": 7}|has no list",
                "{\"timestamp\": 9, \"input_length\": 1.5, \"output_length\": 1, \"hash_ids\": [1]}|has no number",
                "{\"timestamp\": 99999999999999999999, \"input_length\": 1, \"output_length\": 1}|too large"
            })
    void badLine_isNamed(String line, String why) throws IOException {
        Path bad = file((GOOD + line + "\n").getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(() -> read(bad))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 2 of the trace " + bad + " ")
                .hasMessageContaining(why);
    }

    @Test
    void whatIsNoTrace_isOneSentence() throws IOException {
        byte[] binary = new byte[4_096];
        Arrays.fill(binary, (byte) 0xfe);
        Path noText = file(binary);
        assertThatThrownBy(() -> read(noText)).hasMessage("Line 1 of the trace " + noText + " is no text.");
        Path empty = file(new byte[0]);
        assertThatThrownBy(() -> read(empty)).hasMessage("The trace " + empty + " has no requests.");
        Path absent = folder.resolve("absent");
        assertThatThrownBy(() -> read(absent)).hasMessage("There is no trace " + absent + ".");
    }

    @Test
    void traceOfTooManyBlocks_isNotCutIntoAnEngines_andSaysSo() {
        Trace.Builder builder = new Trace.Builder("huge", 1 << 29);
        builder.begin(0, Integer.MAX_VALUE, 1);
        for (int block = 0; block < 40; block++) {
            builder.block(block);
        }
        Trace huge = builder.build();
        assertThatThrownBy(huge::asKeptByEngines)
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith(
                        "The trace huge has 40 blocks of 536,870,912 tokens, 40 of them different, and a")
                .hasMessageContaining("leave out requests by --thin");
    }

    private static Trace read(Path file) {
        return TraceFile.at(file).read();
    }

    private Path file(byte[] content) throws IOException {
        return Files.write(Files.createTempFile(folder, "trace", ".jsonl"), content);
    }
}
