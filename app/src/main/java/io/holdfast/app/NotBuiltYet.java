package io.holdfast.app;

import java.util.Map;
import java.util.Optional;

/** Subcommands whose names are taken and whose work is not built yet: not in any help, answered by one sentence. */
final class NotBuiltYet {
    private static final Map<String, String> LOAD_TEST = Map.of(
            "ab", "one order alone",
            "sweep", "dose-response over memory",
            "compare", "two runs side by side",
            "doctor", "readiness of the test bench",
            "bundle", "everything needed to share a run");

    private NotBuiltYet() {}

    static Optional<String> loadTest(String name) {
        return sentence(
                LOAD_TEST,
                "loadtest ",
                name,
                "'loadtest aa', 'run', 'resume', 'status', 'calibrate', 'analyze' and 'report'");
    }

    private static Optional<String> sentence(Map<String, String> planned, String before, String name, String built) {
        return Optional.ofNullable(planned.get(name))
                .map(what -> "'%s%s' (%s) is not built yet; built are %s.".formatted(before, name, what, built));
    }
}
