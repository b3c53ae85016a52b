package io.holdfast.loadtest.run;

import java.util.Optional;
import java.util.OptionalDouble;

/**
 * By what one process of a server can be told from the next; absent is unknown.
 *
 * @param began what a process drew or measured when it began, and says for as long as it lives
 * @param served a count that only grows while a process lives, and begins again with the next
 */
public record LifeSign(Optional<String> began, OptionalDouble served) {
    public static LifeSign unknown() {
        return new LifeSign(Optional.empty(), OptionalDouble.empty());
    }

    /** Whether the process of an earlier sign cannot be the one of this. */
    boolean isOfAnotherThan(LifeSign before) {
        boolean beganOtherwise = began.isPresent() && before.began.isPresent() && !began.equals(before.began);
        boolean countsAnew =
                served.isPresent() && before.served.isPresent() && served.getAsDouble() < before.served.getAsDouble();
        return beganOtherwise || countsAnew;
    }

    /** This, and what an earlier one of the same process knew where this does not. */
    LifeSign orAsIn(LifeSign before) {
        return new LifeSign(began.or(() -> before.began), served.isPresent() ? served : before.served);
    }
}
