package io.holdfast.benchmarks.index;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.GZIPInputStream;

/**
 * The requests of a Mooncake trace, one JSON object a line, whose {@code hash_ids} name blocks of 512 tokens: each becomes 32
 * blocks of 16. A conversation stays on one engine; the second id tells conversations apart, as all share the first. A router
 * then asks for prompts of the trace's second half, whole or cut off.
 */
final class TraceTraffic {
    private static final int BLOCKS_PER_ID = 32;

    private final Path trace;
    private final SplittableRandom random;

    TraceTraffic(Path trace, long seed) {
        this.trace = trace;
        random = new SplittableRandom(seed);
    }

    void write(Engines caches, WorkloadWriter out, int engines, int queries) throws IOException {
        List<long[]> requests = requests();
        for (long[] ids : requests) {
            int engine = (int) Long.remainderUnsigned(Mix.of(ids[Math.min(1, ids.length - 1)]), engines);
            caches.request(engine, path(ids, ids.length), 0);
        }
        int half = requests.size() / 2;
        for (int i = 0; i < queries; i++) {
            long[] ids = requests.get(random.nextInt(half, requests.size()));
            out.query(path(ids, random.nextBoolean() ? ids.length : random.nextInt(1, ids.length + 1)));
        }
    }

    private List<long[]> requests() {
        ObjectMapper json = new ObjectMapper();
        List<long[]> requests = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(unpacked(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode ids = json.readTree(line).path("hash_ids");
                long[] request = new long[ids.size()];
                for (int i = 0; i < request.length; i++) {
                    request[i] = ids.get(i).asLong();
                }
                if (request.length > 0) {
                    requests.add(request);
                }
            }
        } catch (IOException e) {
            throw new BenchException(trace + " cannot be read: " + e.getMessage() + ".", e);
        }
        if (requests.isEmpty()) {
            throw new BenchException(trace + " has no hash_ids; name a trace in Mooncake's format.");
        }
        return requests;
    }

    private InputStream unpacked() throws IOException {
        InputStream bytes = Files.newInputStream(trace);
        return trace.toString().endsWith(".gz") ? new GZIPInputStream(bytes) : bytes;
    }

    private static PromptPath path(long[] ids, int count) {
        PromptPath path = new PromptPath();
        for (int i = 0; i < count; i++) {
            for (int block = 0; block < BLOCKS_PER_ID; block++) {
                path.add(ids[i] * BLOCKS_PER_ID + block);
            }
        }
        return path;
    }
}
