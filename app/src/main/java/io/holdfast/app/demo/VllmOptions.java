package io.holdfast.app.demo;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.vllm.Connector;
import io.holdfast.rules.vllm.VllmSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
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

    @Option(
            names = "--connector-secret-file",
            paramLabel = "FILE",
            description = "Load Holdfast's connector, which holds blocks for requests that prove the secret in FILE.")
    private @Nullable Path secretFile;

    @Option(
            names = "--connector-share",
            paramLabel = "SHARE",
            description = "Share of the blocks that all holds of the connector may take (default: 0.25).")
    private @Nullable Double share;

    @Option(
            names = "--connector-max-ttl",
            paramLabel = "SECONDS",
            description = "The longest that a hold of the connector lasts without renewal (default: 900).")
    private @Nullable Integer maxTtl;

    @Option(
            names = "--connector-give-way-after",
            paramLabel = "SECONDS",
            description = "Time without anything scheduled after which holds of the connector give way to a request"
                    + " that waits (default: 0.5).")
    private @Nullable Double giveWayAfter;

    @Option(
            names = "--nixl-lease",
            paramLabel = "SECONDS",
            description = "Load NIXL, which keeps the blocks of requests with do_remote_decode for so long.")
    private @Nullable Integer nixlLease;

    VllmOptions() {}

    EmulatorSettings.Kind kind(int blockTokens, Optional<Integer> contextTokens, int maxRunning, boolean arrayEvents) {
        VllmSettings settings = settings(blockTokens, contextTokens, maxRunning)
                .withRelease(arrayEvents ? VllmSettings.Release.V0_22 : VllmSettings.Release.V0_32)
                .withHashes(algorithm, seed, byteHashes);
        VllmSettings loaded = connector().map(settings::withConnector).orElse(settings);
        return new EmulatorSettings.Kind.Vllm(
                nixlLease == null ? loaded : loaded.withNixlLease(Duration.ofSeconds(nixlLease)));
    }

    /** Returns these settings with the names, routes and events of a TensorRT-LLM. */
    EmulatorSettings.Kind tensorRt(int blockTokens, Optional<Integer> contextTokens, int maxRunning) {
        return new EmulatorSettings.Kind.Vllm(
                settings(blockTokens, contextTokens, maxRunning).withRelease(VllmSettings.Release.TENSORRT_LLM));
    }

    private VllmSettings settings(int blockTokens, Optional<Integer> contextTokens, int maxRunning) {
        return VllmSettings.defaults()
                .withSizes(
                        blocks, blockTokens, contextTokens.orElseGet(() -> SglangOptions.quarter(blocks * blockTokens)))
                .withBatch(maxRunning, maxBatchedTokens)
                .withPolicy(SglangOptions.choice("--scheduling-policy", policy, VllmSettings.Policy.values()));
    }

    private Optional<Connector> connector() {
        if (secretFile == null) {
            if (share != null || maxTtl != null || giveWayAfter != null) {
                throw new CommandException(
                        "The other options of the connector do nothing without it; give --connector-secret-file too.");
            }
            return Optional.empty();
        }
        Connector loaded = Connector.of(secret(secretFile));
        return Optional.of(new Connector(
                loaded.secret(),
                share == null ? loaded.maxShare() : share,
                maxTtl == null ? loaded.maxTtlSeconds() : maxTtl,
                giveWayAfter == null ? loaded.giveWayAfter() : Duration.ofNanos(Math.round(giveWayAfter * 1e9))));
    }

    private static String secret(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new CommandException(
                    "The connector's secret " + file + " cannot be read as text: " + e.getMessage() + ".");
        }
    }
}
