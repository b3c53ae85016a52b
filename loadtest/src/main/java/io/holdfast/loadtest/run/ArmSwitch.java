package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest.Beside;
import io.holdfast.loadtest.workload.LoadRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What the two arms of a load test differ in: the body of the hold step, its counterpart at the end of a leg, and nothing
 * else.
 *
 * <p>For each call that switches something on there is one that speaks to the same party and changes nothing. Called from
 * one thread; every call blocks and is bounded.
 */
public interface ArmSwitch extends AutoCloseable {
    /** What it is, in a few words for the record. */
    String name();

    /**
     * Whether a pinned leg claims to keep the prefix. Only such a claim is held against what the engine says of its cache:
     * did the baseline lose the prefix, and did the pinned legs keep it.
     */
    boolean claimsHold();

    /** Asks, once the engine is there, whether it can do its work at all; a {@link LoadTestException} says why not. */
    void prepare();

    /** Whether what pinned legs do is decided by what was sent before their hold step. */
    default boolean learns() {
        return false;
    }

    /**
     * Told before the first leg about how long one takes. A hold that ends by itself ends long after that, so that a leg
     * does not lose it, and not for hours, so that one which a killed process left behind is soon gone.
     */
    default void legsTake(Duration about) {}

    /** What stays behind when the process is killed in a pinned leg, and what ends it: a sentence. */
    default Optional<String> afterAKill() {
        return Optional.empty();
    }

    /** Flushes the engine's cache and waits until whoever acts on what is in it saw that. */
    default FlushReceipt follow(Flush flush) {
        return new FlushReceipt("", 1, flush.flush());
    }

    /**
     * The hold step of a pinned leg; what is probed is in the cache.
     *
     * @param within the slot that the call should fit into; waiting any longer spoils the leg
     */
    HoldReceipt on(Prefixes prefixes, Duration within);

    /** The hold step of a baseline leg: the same to the same party, so far as it changes nothing. */
    HoldReceipt off(Prefixes prefixes, Duration within);

    /** What it asks of the engine during the floods of such a leg; the same for both arms in number and size. */
    default Optional<Beside> beside(Arm arm, Prefixes prefixes) {
        return Optional.empty();
    }

    /** Ends what the hold step of this leg did; after it nothing of it is held. */
    ReleaseReceipt release(HoldReceipt step);

    /** The requests that it sent by itself since it was asked last; they are no load. */
    default List<RequestRecord> sent() {
        return List.of();
    }

    /** Lets go of what an aborted leg left behind, where that can be done. */
    @Override
    void close();

    /**
     * The prefixes that a leg has for its switch, as requests for one token.
     *
     * @param probed the one that the probes ask for
     * @param unprobed as long, and asked for by nobody else
     * @param texts what was sent before the hold step and begins with the first of them, where there was such
     */
    record Prefixes(LoadRequest probed, LoadRequest unprobed, List<LoadRequest> texts) {
        public Prefixes(LoadRequest probed, LoadRequest unprobed) {
            this(probed, unprobed, List.of());
        }

        /** The probed prefix and all of the texts. */
        public List<LoadRequest> all() {
            return Stream.concat(Stream.of(probed), texts.stream()).toList();
        }
    }

    /** Empties the engine's cache once. */
    @FunctionalInterface
    interface Flush {
        /** The reason why it did not work, if so. */
        Optional<String> flush();
    }
}
