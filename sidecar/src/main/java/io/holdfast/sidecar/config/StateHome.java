package io.holdfast.sidecar.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Directory for the state where the configuration names none.
 *
 * <p>There are several usual places, and which of them can be written changes with the user and the machine. A place that has
 * ledgers is taken before one that has none, so that a later start finds what an earlier one pinned; the other places are
 * named, and what a ledger there still lists is looked for.
 *
 * @param taken the one that is taken; absent where none of them can be had
 * @param why the reason for that, in a clause
 * @param others the usual places that were not taken and have ledgers
 */
public record StateHome(Optional<Path> taken, String why, List<Path> others) {
    /** Ending of a ledger's file, behind the engine's id. */
    public static final String LEDGER = ".ledger";

    private static final Path SYSTEM = Path.of("/var/lib/holdfast");

    public StateHome {
        others = List.copyOf(others);
    }

    public static StateHome of(Map<String, String> environment) {
        return of(environment, SYSTEM, System.getProperty("user.home"));
    }

    /**
     * Finds it among other places, for tests.
     *
     * @param system the place of this machine, which only some users can write
     * @param listed the home that the list of users gives, as Java tells it: "?" where this user is in no list
     */
    static StateHome of(Map<String, String> environment, Path system, String listed) {
        Optional<Path> given =
                directory(environment.getOrDefault("STATE_DIRECTORY", "").split(":", -1)[0]);
        Optional<Path> users = directory(environment.getOrDefault("XDG_STATE_HOME", ""))
                .filter(Path::isAbsolute)
                .or(() -> directory(environment.getOrDefault("HOME", listed))
                        .filter(Path::isAbsolute)
                        .map(home -> home.resolve(Path.of(".local", "state"))))
                .map(state -> state.resolve("holdfast"));
        List<Path> usual = Stream.of(given, Optional.of(system), users)
                .flatMap(Optional::stream)
                .distinct()
                .toList();
        Optional<Path> taken = given.or(() -> usual.stream()
                        .filter(each -> hasLedgers(each) && Files.isWritable(each))
                        .findFirst())
                .or(() -> Optional.of(system).filter(StateHome::canBeMade))
                .or(() -> users.filter(its -> canBeMade(its) || hasLedgers(its)));
        return new StateHome(
                taken,
                taken.isPresent() ? why(taken.get(), given.isPresent(), system) : nowhere(system, users),
                usual.stream()
                        .filter(each -> !taken.equals(Optional.of(each)) && hasLedgers(each))
                        .toList());
    }

    private static String why(Path taken, boolean given, Path system) {
        if (given) {
            return "STATE_DIRECTORY says so";
        }
        if (hasLedgers(taken)) {
            return "its ledgers are there";
        }
        return taken.equals(system) ? "it can be written" : system + " cannot be written";
    }

    private static String nowhere(Path system, Optional<Path> users) {
        return users.map(its -> "neither " + system + " nor " + its + " can be written by this user")
                .orElse(system + " cannot be written by this user, who has no home directory");
    }

    /**
     * Returns the directory that is taken.
     *
     * @throws ConfigException where none can be had
     */
    Path directory() {
        return taken.orElseThrow(() -> new ConfigException(
                "stateDirectory",
                "is not written, and " + why
                        + "; set it, or the variable HOLDFAST_STATE_DIRECTORY, to a directory that outlives this"
                        + " process"));
    }

    private static Optional<Path> directory(String written) {
        try {
            return written.isBlank() ? Optional.empty() : Optional.of(Path.of(written));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    private static boolean hasLedgers(Path directory) {
        return !ledgers(directory).isEmpty();
    }

    /** Returns the ids of engines that have a ledger in a directory. */
    public static List<String> ledgers(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> String.valueOf(file.getFileName()))
                    .filter(name -> name.endsWith(LEDGER))
                    .map(name -> name.substring(0, name.length() - LEDGER.length()))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            // There is none yet, or opening a ledger in it says what is wrong.
            return List.of();
        }
    }

    /** Tells whether state can be kept there: it is writable, or can be made. */
    static boolean canBeMade(Path directory) {
        for (Path at = directory.toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.exists(at)) {
                return Files.isDirectory(at) && Files.isWritable(at);
            }
        }
        return false;
    }
}
