package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.loadtest.trace.TraceFile;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Lever;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Traces that are made of what engines published. */
final class RecordingTest {
    private static final String BEGIN =
            "{\"at\":\"2026-08-01T12:00:00Z\",\"recording\":1,\"engine\":\"x\",\"type\":\"sglang\",\"version\":\"\"}";

    @TempDir
    Path folder;

    /** Of real servers, which were sent many prompts that begin alike, lost and repeated: none differs early. */
    @ParameterizedTest
    @CsvSource({
        "sglang_server_p16_lru.jsonl.gz, 16",
        "sglang_server_p1_lru.jsonl.gz, 1",
        "sglang_long_p16_lru.jsonl.gz, 16",
        "sglang_long_p16_lru_hicache.jsonl.gz, 16",
        "sglang_long_p16_sessions.jsonl.gz, 16",
        "sglang_long_p1_lru.jsonl.gz, 1",
        "vllm_v0.22.1_array_sha256_cbor_int_seed0.jsonl.gz, 32",
        "vllm_sha256_cbor_bytes_seed0.jsonl.gz, 32",
        "vllm_long_sha256_cbor_int_seed0.jsonl.gz, 32"
    })
    void sessionsWithRealServers_areRequestsInTheirBlocks(String name, int blockTokens) throws IOException {
        Path file = folder.resolve(name);
        try (InputStream bytes = Objects.requireNonNull(
                RecordingTest.class.getResourceAsStream("/io/holdfast/rules/recordings/" + name))) {
            Files.copy(bytes, file);
        }
        Trace trace = TraceFile.at(file).read();

        Trace again = trace.asKeptByEngines();
        assertThat(again.requests()).isEqualTo(trace.requests());
        int all = 2 * again.references();
        for (Announced announced : List.of(
                new Announced(Form.SGLANG, false),
                new Announced(Form.VLLM, false),
                new Announced(Form.SGLANG, Optional.of(Lever.PIN), true))) {
            ReplayResult told =
                    Replay.run(again, ReplaySettings.of(Policy.HOLDFAST).announcing(announced), all);
            assertThat(told.hits()).as("%s", announced).isBetween(1L, (long) again.references());
        }
        assertThat(trace.blockTokens()).isEqualTo(blockTokens);
        assertThat(trace.requests()).isGreaterThan(8);
        int[] parents = new int[trace.uniqueBlocks()];
        Arrays.fill(parents, -2);
        for (int request = 0; request < trace.requests(); request++) {
            assertThat(trace.nanos(request)).isGreaterThanOrEqualTo(trace.nanos(Math.max(0, request - 1)));
            for (int depth = 0; depth < trace.length(request); depth++) {
                int block = trace.block(request, depth);
                int parent = depth == 0 ? -1 : trace.block(request, depth - 1);
                assertThat(parents[block]).isIn(-2, parent);
                parents[block] = parent;
            }
        }
        assertThat(trace.recorded()).hasValueSatisfying(recorded -> {
            assertThat(recorded.heads()).isEmpty();
            assertThat(recorded.headless()).isZero();
        });
    }

    /** The engine told the second observer what it had told the first. */
    @Test
    void aRecordingThatWasBegunAgain_countsNoRequestTwice() throws IOException {
        Path file = folder.resolve("once.jsonl");
        byte[] once;
        try (InputStream bytes = new GZIPInputStream(Objects.requireNonNull(RecordingTest.class.getResourceAsStream(
                "/io/holdfast/rules/recordings/sglang_server_p16_lru.jsonl.gz")))) {
            once = bytes.readAllBytes();
        }
        Files.write(file, once);
        int requests = TraceFile.at(file).read().requests();
        Files.write(file, once, StandardOpenOption.APPEND);
        assertThat(TraceFile.at(file).read().requests()).isEqualTo(requests);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'at':'2026-08-01T12:00:00Z','rank':0,'sequence':0,'payload':'k8s='}|Line 2 % has a payload that is no"
                        + " batch of events: *",
                "{'at':'2026-08-01T12:00:00Z','rank':0,'sequence':0,'payload':'?'}|Line 2 % has no base64 in"
                        + " 'payload'.",
                "{'at':'2026-08-01T12:00:00Z','rank':0,'sequence':-1,'payload':''}|Line 2 % has no number from 0 on in"
                        + " 'sequence'.",
                "{'at':'2026-08-01T12:00:00Z','rank':5000,'sequence':1,'payload':''}|Line 2 % has no number from 0 on"
                        + " in 'rank' up to 1023.",
                "{'at':'noon','rank':0,'sequence':0,'payload':''}|Line 2 % has no time in 'at', such as"
                        + " 2026-08-01T12:00:00Z.",
                "{'recording':2,'type':'sglang'}|Line 2 % begins a recording of form 2, and this version reads form 1.",
                "{'recording':1,'type':'other'}|Line 2 % begins a recording of the engine \"other\", which is neither"
                        + " sglang nor vllm.",
                "{'timestamp':1}|Line 2 % is no line of a recording: it has neither 'recording' nor 'payload' nor"
                        + " 'readings'.",
                "[1]|Line 2 % is no JSON object.",
                "{'frames':[{'seq_hex':'00','payload_hex':''}]}|Line 2 % has a frame without its number.",
                "{'type':'frame','frames':['','0000000000000000','xy']}|Line 2 % has a frame that is not written in"
                        + " hexadecimal."
            },
            quoteCharacter = '`')
    void aBrokenLine_isToldWithItsNumber(String line, String why) throws IOException {
        Path file = folder.resolve("bad.jsonl");
        Files.writeString(file, BEGIN + "\n" + line.replace('\'', '"') + "\n");
        String begin = why.replace("%", "of the trace " + file);
        assertThatThrownBy(() -> TraceFile.at(file).read())
                .isInstanceOf(LoadTestException.class)
                .satisfies(thrown -> {
                    if (begin.endsWith("*")) {
                        assertThat(thrown).hasMessageStartingWith(begin.substring(0, begin.length() - 1));
                    } else {
                        assertThat(thrown).hasMessage(begin);
                    }
                });
    }

    @Test
    void eventsOfNobodyKnowsWhichEngine_andBlocksOfAnotherSize_areRefused() throws IOException {
        Path file = folder.resolve("headless.jsonl");
        Files.writeString(file, "{\"at\":\"2026-08-01T12:00:00Z\",\"rank\":0,\"sequence\":0,\"payload\":\"k8s=\"}\n");
        assertThatThrownBy(() -> TraceFile.at(file).read())
                .hasMessage("Line 1 of the trace " + file + " has a batch of events before any line that begins a"
                        + " recording, so that its engine is not known.");
        assertThatThrownBy(() -> TraceFile.at(file).inBlocksOf(16).read())
                .hasMessage("A recording, such as " + file
                        + ", tells the size of its blocks itself; leave the blocks' size out.");
        Files.writeString(file, BEGIN + "\n");
        assertThatThrownBy(() -> TraceFile.at(file).read()).hasMessage("The trace " + file + " has no requests.");
    }
}
