package io.holdfast.app.demo;

import io.holdfast.app.cli.SglangOptions;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.vllm.VllmSettings;
import java.util.Optional;
import picocli.CommandLine.Option;

/** What {@code emulate} takes for vLLM alone. */
final class VllmOptions {
    @Option(
            names = "--blocks",
            paramLabel = "N",
            defaultValue = "1537",
            description = "Blocks in the pool; the first is never used (default: ${DEFAULT-VALUE}).")
    private int blocks;

    @Option(
            names = "--hash-algo",
            paramLabel = "NAME",
            defaultValue = "sha256",
            description = "sha256, sha256_cbor, xxhash or xxhash_cbor (default: ${DEFAULT-VALUE}).")
    private String algorithm = "sha256";

    @Option(
            names = "--hash-seed",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "The engine's PYTHONHASHSEED (default: as if unset).")
    private String seed = "";

    @Option(names = "--byte-hashes", description = "Send whole digests in events, not 64-bit numbers.")
    private boolean byteHashes;

    @Option(
            names = "--max-batched-tokens",
            paramLabel = "N",
            defaultValue = "2048",
            description = "Tokens that one pass computes at most (default: ${DEFAULT-VALUE}).")
    private int maxBatchedTokens;

    @Option(
            names = "--scheduling-policy",
            paramLabel = "NAME",
            defaultValue = "fcfs",
            description = "fcfs, or priority: a request's smaller number goes first (default: ${DEFAULT-VALUE}).")
    private String policy = "fcfs";

    VllmOptions() {}

    EmulatorSettings.Kind kind(int blockTokens, Optional<Integer> contextTokens, int maxRunning, boolean arrayEvents) {
        return new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()
                .withSizes(
                        blocks, blockTokens, contextTokens.orElseGet(() -> SglangOptions.quarter(blocks * blockTokens)))
                .withBatch(maxRunning, maxBatchedTokens)
                .withRelease(arrayEvents ? VllmSettings.Release.V0_22 : VllmSettings.Release.V0_32)
                .withPolicy(SglangOptions.choice("--scheduling-policy", policy, VllmSettings.Policy.values()))
                .withHashes(algorithm, seed, byteHashes));
    }
}
