package io.holdfast.emulator.api;

import io.holdfast.rules.fault.Chance;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.fault.ServerFault;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;

/** Faults that strike each request. Event loops ask, hence locked. */
public final class HttpFaults {
    /**
     * Faults that befall the answers to one request.
     *
     * @param cutAfter tokens after which its stream is cut off
     */
    public record AnswerFaults(
            boolean empty, boolean miscounted, OptionalInt cutAfter, Optional<HttpFault.StalledStream> stall) {}

    private final Faults faults;
    private final RandomGenerator random;

    public HttpFaults(Faults faults, RandomGenerator random) {
        this.faults = faults;
        this.random = random;
    }

    /** The status that a request is refused with, if it is. */
    public OptionalInt error() {
        return struck(HttpFault.HttpError.class)
                .map(fault -> OptionalInt.of(fault.status()))
                .orElse(OptionalInt.empty());
    }

    /**
     * Returns whether a request is turned away for want of the key, on a route that asks for one where there is one.
     */
    public boolean unauthorized(Call call) {
        return faults.find(ServerFault.ApiKey.class)
                .filter(fault -> !call.header("authorization").equals(Optional.of("Bearer " + fault.key())))
                .isPresent();
    }

    public AnswerFaults answerFaults(boolean stream) {
        return new AnswerFaults(
                struck(HttpFault.EmptyOutputs.class).isPresent(),
                struck(HttpFault.UsageWrong.class).isPresent(),
                stream
                        ? struck(HttpFault.BrokenSse.class)
                                .map(fault -> OptionalInt.of(fault.tokens()))
                                .orElse(OptionalInt.empty())
                        : OptionalInt.empty(),
                stream ? struck(HttpFault.StalledStream.class) : Optional.empty());
    }

    /** Delay of the answers to calls that hold or release, after these have acted. */
    public Duration pinDelay() {
        return faults.find(HttpFault.PinLate.class)
                .map(HttpFault.PinLate::delay)
                .orElse(Duration.ZERO);
    }

    private synchronized <F extends Fault & Chance> Optional<F> struck(Class<F> kind) {
        return faults.find(kind).filter(fault -> fault.strikes(random));
    }
}
