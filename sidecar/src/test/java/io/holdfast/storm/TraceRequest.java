package io.holdfast.storm;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;

/**
 * One request of a public trace as Mooncake writes them, with tokens made up for the blocks that it names.
 *
 * @param millis when it was made, from the begin of the trace
 */
public record TraceRequest(long millis, int promptTokens, int answerTokens, List<Integer> blocks) {
    private static final int TRACE_BLOCK = 512;
    /** Every emulated vocabulary has as many, and a page of 16 is still like no other. */
    private static final int TOKENS = 1 << 15;

    public TraceRequest {
        blocks = List.copyOf(blocks);
    }

    /** The tokens of its prompt: those of a block are the same wherever it is named. */
    public int[] prompt() {
        int[] tokens = new int[promptTokens];
        for (int i = 0; i < promptTokens; i++) {
            tokens[i] = token((long) blocks.get(i / TRACE_BLOCK) * TRACE_BLOCK + i % TRACE_BLOCK);
        }
        return tokens;
    }

    private static int token(long number) {
        long mixed = (number + 1) * 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ (mixed >>> 32)) * 0xD6E8FEB86659FD93L;
        return (int) ((mixed ^ (mixed >>> 32)) & (TOKENS - 1));
    }

    /** The requests of the first so many minutes of a trace, packed by gzip or not. */
    public static List<TraceRequest> read(Path trace, double minutes) throws IOException {
        List<TraceRequest> requests = new ArrayList<>();
        try (InputStream file = Files.newInputStream(trace);
                BufferedReader lines = new BufferedReader(new InputStreamReader(
                        trace.toString().endsWith(".gz") ? new GZIPInputStream(file) : file, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonObject json = new JsonObject(line);
                if (json.getLong("timestamp") >= minutes * 60_000) {
                    break;
                }
                requests.add(new TraceRequest(
                        json.getLong("timestamp"),
                        json.getInteger("input_length"),
                        json.getInteger("output_length"),
                        blocks(json.getJsonArray("hash_ids"))));
            }
        }
        return requests;
    }

    private static List<Integer> blocks(JsonArray ids) {
        return ids.stream().map(id -> ((Number) id).intValue()).toList();
    }
}
