package io.holdfast.rules.kvcached;

import java.nio.file.Path;
import java.util.Optional;

/**
 * The memory that an engine starts with, and where it says so.
 *
 * @param directory of the segment
 * @param ipcName of the segment as {@code KVCACHED_IPC_NAME} gives it; without it, or empty, a name of engine and
 *     process group
 * @param engine goes into the name
 * @param blocks in the pool, of which the first is never used
 * @param blockTokens tokens in a block
 * @param geometry bytes of blocks and pages
 * @param preallocates {@code KVCACHED_PAGE_PREALLOC_ENABLED}; without it there is no reserve, and limits are never
 *     looked at
 * @param maxCachedTokens {@code KVCACHED_MAX_CACHED_TOKENS}, -1 for as many as there is room for
 */
public record KvcachedSettings(
        Path directory,
        Optional<String> ipcName,
        EngineTag engine,
        int blocks,
        int blockTokens,
        Geometry geometry,
        boolean preallocates,
        int maxCachedTokens) {

    /** Engine, by kvcached's own name. */
    public enum EngineTag {
        SGLANG("SGLang"),
        VLLM("vLLM");

        private final String text;

        EngineTag(String text) {
            this.text = text;
        }
    }

    /**
     * Bytes of blocks and pages.
     *
     * @param blockBytes of one block in one layer's keys or values
     * @param pageBytes of a page in one layer's keys or values, whole blocks
     * @param layers of the model
     * @param kvBuffers 2 for keys and values, 1 where they share one
     */
    public record Geometry(long blockBytes, long pageBytes, int layers, int kvBuffers) {
        public Geometry {
            check(blockBytes >= 1, "blockBytes must be at least 1, not " + blockBytes + ".");
            check(
                    pageBytes >= blockBytes && pageBytes % blockBytes == 0,
                    "pageBytes must be whole blocks of " + blockBytes + " bytes, not " + pageBytes + ".");
            check(layers >= 1, "layers must be at least 1, not " + layers + ".");
            check(kvBuffers == 1 || kvBuffers == 2, "kvBuffers must be 1 or 2, not " + kvBuffers + ".");
        }

        /** Returns the number of blocks in a page. */
        int perPage() {
            return Math.toIntExact(pageBytes / blockBytes);
        }

        /** Returns the number of the model's parts in which a page and a limit are counted. */
        long slices() {
            return (long) layers * kvBuffers;
        }
    }

    private static final int LONGEST_NAME = 64;

    public KvcachedSettings {
        check(blocks >= 2, "blocks must be at least 2, of which one is never used, not " + blocks + ".");
        check(blockTokens >= 1, "blockTokens must be at least 1, not " + blockTokens + ".");
        check(
                blocks >= geometry.perPage(),
                "blocks must fill at least one page, which has " + geometry.perPage() + ", not " + blocks + ".");
        check(
                maxCachedTokens >= -1,
                "maxCachedTokens must be -1 (no cap), 0 (none) or more, not " + maxCachedTokens + ".");
    }

    /**
     * Returns kvcached's defaults for a small model: pages of 2 MiB in 4 layers of keys and values, so that a page
     * takes 16 MiB, with 8 blocks in a page.
     */
    public static KvcachedSettings of(EngineTag engine, int blocks, int blockTokens) {
        return new KvcachedSettings(
                Path.of("/dev/shm"),
                Optional.empty(),
                engine,
                blocks,
                blockTokens,
                new Geometry(1 << 18, 1 << 21, 4, 2),
                true,
                16_000);
    }

    public KvcachedSettings withDirectory(Path value) {
        return new KvcachedSettings(
                value, ipcName, engine, blocks, blockTokens, geometry, preallocates, maxCachedTokens);
    }

    public KvcachedSettings withIpcName(String value) {
        return new KvcachedSettings(
                directory, Optional.of(value), engine, blocks, blockTokens, geometry, preallocates, maxCachedTokens);
    }

    public KvcachedSettings withGeometry(long block, long page, int layers, int buffers) {
        Geometry value = new Geometry(block, page, layers, buffers);
        return new KvcachedSettings(
                directory, ipcName, engine, blocks, blockTokens, value, preallocates, maxCachedTokens);
    }

    public KvcachedSettings withPreallocates(boolean value) {
        return new KvcachedSettings(directory, ipcName, engine, blocks, blockTokens, geometry, value, maxCachedTokens);
    }

    public KvcachedSettings withMaxCachedTokens(int value) {
        return new KvcachedSettings(directory, ipcName, engine, blocks, blockTokens, geometry, preallocates, value);
    }

    /** Bytes of one page over all layers; all numbers of a segment but its limit are multiples of it. */
    public long bundleBytes() {
        return geometry.pageBytes() * geometry.slices();
    }

    /** The limit that a segment begins with. */
    public long startupBytes() {
        return perLayerBytes() * geometry.slices();
    }

    /** The segment of an engine in a process group. */
    public Path file(long processGroup) {
        String name = ipcName.filter(given -> !given.isEmpty())
                .map(given -> given.replaceAll("[^A-Za-z0-9_-]", "-"))
                .map(given -> given.substring(0, Math.min(given.length(), LONGEST_NAME)))
                .orElseGet(() -> "kvcached_" + engine.text + "_" + processGroup);
        return directory.resolve(name);
    }

    int cachedBlocks() {
        return switch (maxCachedTokens) {
            case -1 -> Integer.MAX_VALUE;
            case 0 -> 0;
            default -> Math.max(1, maxCachedTokens / blockTokens);
        };
    }

    long perLayerBytes() {
        return blocks * geometry.blockBytes();
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
