package io.holdfast.app.cli;

import picocli.CommandLine.Option;

/** What a preset draws by. */
public final class SeedOption {
    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "42",
            description = "Seed of texts, lengths, times and orders (default: ${DEFAULT-VALUE}).")
    private long seed;

    public SeedOption() {}

    public long seed() {
        return seed;
    }
}
