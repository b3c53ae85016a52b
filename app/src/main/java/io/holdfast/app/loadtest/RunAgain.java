package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a journal keeps of the command that began it, so that the run can be resumed: addresses, sizes and the arm's name. Keys
 * are never among it, nor commands: a journal may come from elsewhere, and reading one must not run anything.
 *
 * @param engines those behind the address, where it is a router's
 * @param arrivals when the requests of a flood come
 * @param ca the file of the certificates that are trusted
 * @param arm the options of the arm
 */
public record RunAgain(
        URI url,
        List<URI> engines,
        FloodShape shape,
        Arrivals arrivals,
        Optional<String> flushPath,
        Optional<Path> ca,
        Map<String, String> arm) {
    private static final String URL = "url";
    private static final String ENGINES = "engine";
    private static final String FLUSH_PATH = "flush-path";
    private static final String CA = "ca";
    private static final String ARRIVALS = "arrivals";
    private static final String LEARN_CYCLES = "learn-cycles";
    private static final String LEARN_TEXTS = "learn-texts";

    Map<String, String> options() {
        Map<String, String> options = new TreeMap<>(arm);
        options.put(URL, url.toString());
        if (!engines.isEmpty()) {
            options.put(ENGINES, engines.stream().map(URI::toString).collect(Collectors.joining(" ")));
        }
        flushPath.ifPresent(path -> options.put(FLUSH_PATH, path));
        ca.ifPresent(file -> options.put(CA, file.toString()));
        options.put("prefix-tokens", Integer.toString(shape.prefixTokens()));
        options.put("suffix-tokens", Integer.toString(shape.suffixTokens()));
        options.put("flood-requests", Integer.toString(shape.floodRequests()));
        options.put("flood-tokens", Integer.toString(shape.floodTokens()));
        options.put("cycles", Integer.toString(shape.cycles()));
        options.put("output-tokens", Integer.toString(shape.probeOutputTokens()));
        if (!arrivals.isClosed()) {
            options.put(ARRIVALS, arrivals.text());
        }
        if (shape.learnCycles() > 0) {
            options.put(LEARN_CYCLES, Integer.toString(shape.learnCycles()));
            options.put(LEARN_TEXTS, Integer.toString(shape.learnTexts()));
        }
        return options;
    }

    public static RunAgain of(RunHeader header) {
        Map<String, String> options = new TreeMap<>(header.options());
        if (!options.containsKey(URL)) {
            throw new CommandException("The journal's run was not begun by 'loadtest run' or 'loadtest aa', so it says"
                    + " too little to be resumed; begin a new run.");
        }
        options.remove(RunHeader.ALSO_JUDGE);
        options.remove(RunHeader.RESTART_PER);
        options.remove("max-duration-ms");
        options.remove(RunHeader.PROFILER);
        options.keySet().removeIf(name -> name.startsWith(RunHeader.ENVIRONMENT));
        try {
            FloodShape shape = FloodShape.of(
                            take(options, "prefix-tokens"),
                            take(options, "suffix-tokens"),
                            take(options, "flood-requests"),
                            take(options, "flood-tokens"),
                            take(options, "cycles"))
                    .withOutputTokens(1, take(options, "output-tokens"));
            if (options.containsKey(LEARN_CYCLES)) {
                shape = shape.withLearning(take(options, LEARN_CYCLES), take(options, LEARN_TEXTS));
            }
            Arrivals arrivals = Optional.ofNullable(options.remove(ARRIVALS))
                    .map(Arrivals::of)
                    .orElseGet(Arrivals.Closed::new);
            URI url = URI.create(Optional.ofNullable(options.remove(URL)).orElse(""));
            List<URI> engines = Stream.of(Optional.ofNullable(options.remove(ENGINES))
                            .orElse("")
                            .split(" ", -1))
                    .filter(address -> !address.isEmpty())
                    .map(URI::create)
                    .toList();
            Optional<String> flushPath = Optional.ofNullable(options.remove(FLUSH_PATH));
            Optional<Path> ca = Optional.ofNullable(options.remove(CA)).map(Path::of);
            return new RunAgain(url, engines, shape, arrivals, flushPath, ca, options);
        } catch (IllegalArgumentException e) {
            throw new CommandException("The first line of the journal has an option that cannot be read ("
                    + e.getMessage() + "); begin a new run.");
        }
    }

    private static int take(Map<String, String> options, String name) {
        return Integer.parseInt(Optional.ofNullable(options.remove(name)).orElse(name + " is missing"));
    }
}
