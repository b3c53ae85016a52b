package io.holdfast.app.workbench;

import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How many requests of a load that has a size of its own are sent. */
final class MostRequests {
    @FormerName("--num-requests")
    @Option(
            names = "--requests",
            paramLabel = "N",
            description =
                    "No more than so many of each load, where a slow server would take hours for all (default: all"
                            + " of them).")
    private @Nullable Integer requests;

    MostRequests() {}

    int most() {
        return requests == null ? Integer.MAX_VALUE : OptionValues.atLeastOne("--requests", requests);
    }
}
