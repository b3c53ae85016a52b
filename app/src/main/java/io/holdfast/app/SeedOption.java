package io.holdfast.app;

import picocli.CommandLine.Option;

/** What a preset draws by. */
final class SeedOption {
    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "42",
            description =
                    "Draws texts, and lengths, times and orders where they are drawn (default: ${DEFAULT-VALUE}).")
    private long seed;

    SeedOption() {}

    long seed() {
        return seed;
    }
}
