package io.holdfast.storm;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/** Digest of all that was done in a storm, and apart from it of what its sidecars decided and said of themselves. */
final class StormDigest {
    private final CRC32C acts = new CRC32C();
    private final CRC32C views = new CRC32C();
    private final CRC32C plans = new CRC32C();
    private long steps;
    private long decisions;

    void act(String line) {
        steps++;
        acts.update(line.getBytes(StandardCharsets.UTF_8));
    }

    void view(String line) {
        views.update(line.getBytes(StandardCharsets.UTF_8));
    }

    void decision(String line) {
        decisions++;
        plans.update(line.getBytes(StandardCharsets.UTF_8));
    }

    /** What was decided and what was done, and not how sidecars told it. */
    String decided() {
        return "%d plans %08x, %d steps %08x".formatted(decisions, plans.getValue(), steps, acts.getValue());
    }

    @Override
    public String toString() {
        return "%d steps %08x views %08x".formatted(steps, acts.getValue(), views.getValue());
    }
}
