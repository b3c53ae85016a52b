package io.holdfast.benchmarks.index;

import io.holdfast.core.index.CacheTraits;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.GZIPInputStream;

/**
 * Payloads that one engine published, one by one, from an empty cache on.
 *
 * @param traits how to read that engine's events
 */
record Frames(String name, CacheTraits traits, List<byte[]> payloads) {
    private static final List<String> RECORDED = List.of(
            "vllm-0.32.0-maps",
            "vllm-0.22.1-arrays",
            "sglang-0.5.23-page16",
            "sglang-0.5.23-page16-host",
            "sglang-0.5.23-page1");

    Frames {
        payloads = List.copyOf(payloads);
    }

    /** The recordings of real engines that lie beside this class. */
    static List<Frames> recorded() {
        return RECORDED.stream().map(Frames::read).toList();
    }

    long bytes() {
        return payloads.stream().mapToLong(payload -> payload.length).sum();
    }

    /** Reads payloads that lie end to end, each after its length. */
    private static Frames read(String name) {
        List<byte[]> payloads = new ArrayList<>();
        String resource = name + ".frames.gz";
        try (InputStream stream = Optional.ofNullable(Frames.class.getResourceAsStream(resource))
                        .orElseThrow(() -> new IllegalStateException(resource + " is missing."));
                DataInputStream in = new DataInputStream(new BufferedInputStream(new GZIPInputStream(stream)))) {
            for (int left = in.readInt(); left > 0; left--) {
                byte[] payload = new byte[in.readInt()];
                in.readFully(payload);
                payloads.add(payload);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Frames(name, name.startsWith("vllm") ? CacheTraits.vllm() : CacheTraits.sglang(), payloads);
    }
}
