package io.holdfast.events;

import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Way in which a vLLM server makes its block hashes.
 *
 * @param algorithm its {@code --prefix-caching-hash-algo}
 * @param seed the text that stands for the parent of a first block: its {@code PYTHONHASHSEED}, or {@link #UNSET_SEED}
 * @param form how its version writes extras into a hash; without extras all forms are one
 */
public record VllmHashing(Algorithm algorithm, String seed, Form form) {
    /**
     * The seed of versions that need none to be set, under the SHA-256 algorithms; elsewhere it is drawn at every
     * start.
     */
    public static final String UNSET_SEED = "vllm-none-hash";

    /** Seeds that are tried where the seed is not configured. */
    public static final List<String> COMMON_SEEDS = List.of(UNSET_SEED, "0", "42");

    /** A digest of serialised Python objects. */
    public enum Algorithm {
        SHA256("sha256", Sha256.BYTES),
        SHA256_CBOR("sha256_cbor", Sha256.BYTES),
        XXHASH("xxhash", 16),
        XXHASH_CBOR("xxhash_cbor", 16);

        private final String option;
        private final int digestBytes;

        Algorithm(String option, int digestBytes) {
            this.option = option;
            this.digestBytes = digestBytes;
        }

        /** Its name on vLLM's command line. */
        public String option() {
            return option;
        }

        int digestBytes() {
            return digestBytes;
        }

        boolean pickles() {
            return this == SHA256 || this == XXHASH;
        }

        /** Finds an algorithm by its name on vLLM's command line. */
        public static Optional<Algorithm> of(String option) {
            return Arrays.stream(values())
                    .filter(algorithm -> algorithm.option.equals(option))
                    .findFirst();
        }
    }

    /** Form of the extras in a hash. */
    public enum Form {
        /** Each with the name of its kind: the versions that send events as maps. */
        TAGGED,
        /** The extras unchanged: the versions that send events as arrays. */
        PLAIN
    }

    /** For people, as a part of a sentence. */
    public String shown() {
        String line = seed.replaceAll("\\p{Cntrl}", "?");
        return algorithm.option() + " with the seed " + (line.isEmpty() ? "empty" : "'" + line + "'");
    }

    /**
     * The hashing under which the first block of a prompt has a name, if it is one that can be recomputed.
     *
     * @param tokens the block's
     * @param name the block's 64-bit hash
     * @param seeds tried before the common ones
     */
    public static Optional<VllmHashing> detect(int[] tokens, VllmExtras extras, long name, Collection<String> seeds) {
        return detect(tokens, extras, seeds, digest -> VllmBlockNames.name(digest) == name);
    }

    /** Detects the hashing by the block's whole digest. */
    public static Optional<VllmHashing> detect(
            int[] tokens, VllmExtras extras, byte[] digest, Collection<String> seeds) {
        return detect(tokens, extras, seeds, candidate -> Arrays.equals(candidate, digest));
    }

    private static Optional<VllmHashing> detect(
            int[] tokens, VllmExtras extras, Collection<String> seeds, Predicate<byte[]> named) {
        Set<String> all = new LinkedHashSet<>(seeds);
        all.addAll(COMMON_SEEDS);
        for (String seed : all) {
            for (Algorithm algorithm : Algorithm.values()) {
                for (Form form : Form.values()) {
                    VllmHashing hashing = new VllmHashing(algorithm, seed, form);
                    VllmBlockNames names = new VllmBlockNames(hashing);
                    if (names.digest(names.root(), tokens, 0, tokens.length, extras)
                            .filter(named)
                            .isPresent()) {
                        return Optional.of(hashing);
                    }
                }
            }
        }
        return Optional.empty();
    }
}
