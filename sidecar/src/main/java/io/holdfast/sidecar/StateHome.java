package io.holdfast.sidecar;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Where state is kept when nobody says where.
 *
 * <p>There are several usual places, and which of them can be written changes with the user and the machine. A place that has
 * ledgers is taken before one that has none, so that a later start finds what an earlier one pinned; the other places are
 * named, and what a ledger there still lists is looked for.
 *
 * @param directory the one that is taken
 * @param why it is, in a clause
 * @param others the usual places that were not taken and have ledgers
 */
record StateHome(Path directory, String why, List<Path> others) {
    private static final Path SYSTEM = Path.of("/var/lib/holdfast");

    StateHome {
        others = List.copyOf(others);
    }

    static StateHome of(Map<String, String> environment) {
        return of(environment, SYSTEM);
    }

    /** @param system the place of this machine, which only some users can write */
    static StateHome of(Map<String, String> environment, Path system) {
        Optional<Path> given =
                directory(environment.getOrDefault("STATE_DIRECTORY", "").split(":", -1)[0]);
        Path users = directory(environment.getOrDefault("XDG_STATE_HOME", ""))
                .filter(Path::isAbsolute)
                .orElseGet(() -> Path.of(environment.getOrDefault("HOME", System.getProperty("user.home")))
                        .resolve(Path.of(".local", "state")))
                .resolve("holdfast");
        List<Path> usual = new ArrayList<>();
        given.ifPresent(usual::add);
        if (!usual.contains(system)) {
            usual.add(system);
        }
        if (!usual.contains(users)) {
            usual.add(users);
        }
        Path taken = given.orElseGet(() -> usual.stream()
                .filter(each -> hasLedgers(each) && Files.isWritable(each))
                .findFirst()
                .orElseGet(() -> canBeMade(system) ? system : users));
        String why = given.isPresent()
                ? "STATE_DIRECTORY says so"
                : hasLedgers(taken)
                        ? "its ledgers are there"
                        : taken.equals(system) ? "it can be written" : system + " cannot be written";
        return new StateHome(
                taken,
                why,
                usual.stream()
                        .filter(each -> !each.equals(taken) && hasLedgers(each))
                        .toList());
    }

    private static Optional<Path> directory(String written) {
        try {
            return written.isBlank() ? Optional.empty() : Optional.of(Path.of(written));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    private static boolean hasLedgers(Path directory) {
        return !StrayLedgers.ids(directory).isEmpty();
    }

    /** Whether state can be kept there: it is writable, or can be made. */
    static boolean canBeMade(Path directory) {
        for (Path at = directory.toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.exists(at)) {
                return Files.isDirectory(at) && Files.isWritable(at);
            }
        }
        return false;
    }
}
