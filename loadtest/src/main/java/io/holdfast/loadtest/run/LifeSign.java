package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.EngineShare;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * Signs by which one process of a server can be told from the next; absent is unknown.
 *
 * @param began what a process drew or measured when it began, and says for as long as it lives
 * @param served the prompt tokens that it has served: a count that only grows while a process lives, and begins again
 *     with the next
 * @param cached those of them that it found in its cache
 */
public record LifeSign(Optional<String> began, OptionalDouble served, OptionalDouble cached) {
    /** Creates the sign of a process that does not count what it found. */
    public LifeSign(Optional<String> began, OptionalDouble served) {
        this(began, served, OptionalDouble.empty());
    }

    public static LifeSign unknown() {
        return new LifeSign(Optional.empty(), OptionalDouble.empty());
    }

    /** Returns true if the process of an earlier sign cannot be this one. */
    boolean isOfAnotherThan(LifeSign before) {
        boolean beganOtherwise = began.isPresent() && before.began.isPresent() && !began.equals(before.began);
        boolean countsAnew =
                served.isPresent() && before.served.isPresent() && served.getAsDouble() < before.served.getAsDouble();
        return beganOtherwise || countsAnew;
    }

    /** Fills what this sign does not know with what an earlier sign of the same process knew. */
    LifeSign orAsIn(LifeSign before) {
        return new LifeSign(
                began.or(() -> before.began),
                served.isPresent() ? served : before.served,
                served.isPresent() ? cached : before.cached);
    }

    /** Returns what the process did since an earlier sign of it; absent where that is not known. */
    Optional<EngineShare> since(String engine, LifeSign before) {
        if (served.isEmpty() || before.served.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new EngineShare(
                engine,
                Math.round(served.getAsDouble() - before.served.getAsDouble()),
                cached.isPresent() && before.cached.isPresent()
                        ? OptionalLong.of(Math.round(cached.getAsDouble() - before.cached.getAsDouble()))
                        : OptionalLong.empty()));
    }
}
