package io.holdfast.storm;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/** Digest of all that was done in a storm, and apart from it of what its sidecars said of themselves. */
final class StormDigest {
    private final CRC32C acts = new CRC32C();
    private final CRC32C views = new CRC32C();
    private long steps;

    void act(String line) {
        steps++;
        acts.update(line.getBytes(StandardCharsets.UTF_8));
    }

    void view(String line) {
        views.update(line.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String toString() {
        return "%d steps %08x views %08x".formatted(steps, acts.getValue(), views.getValue());
    }
}
