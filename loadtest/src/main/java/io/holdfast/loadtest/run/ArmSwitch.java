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
 * Difference between the two arms of a load test: the body of the hold step, its counterpart at the end of a leg, and
 * nothing else.
 *
 * <p>For each call that switches something on there is one that speaks to the same party and changes nothing. Called
 * from one thread; every call blocks and is bounded.
 */
public interface ArmSwitch extends AutoCloseable {
    /** Returns a name of a few words for the record. */
    String name();

    /**
     * Returns true if a pinned leg claims to keep the prefix. Only this claim is checked against what the engine says
     * of its cache: did the baseline lose the prefix, and did the pinned legs keep it.
     */
    boolean claimsHold();

    /** Checks, once the engine is there, that it can do its work at all; a {@link LoadTestException} says why not. */
    void prepare();

    /** Returns true if the requests before the hold step decide what pinned legs do. */
    default boolean learns() {
        return false;
    }

    /**
     * Tells the switch before the first leg about how long one takes. A hold that ends automatically ends long after
     * that, so that a leg does not lose it, and not for hours, so that one which a killed process left behind is soon
     * gone.
     *
     * @return the time with what the switch waits for
     */
    default Duration legsTake(Duration about) {
        return about;
    }

    /** Returns a sentence about what stays behind when the process is killed in a pinned leg, and what ends it. */
    default Optional<String> afterAKill() {
        return Optional.empty();
    }

    /** Flushes the engine's cache and waits until every party that acts on its contents saw that. */
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

    /**
     * Returns the arm's requests to the engine during the floods of a leg; in number and size the same for both arms.
     */
    default Optional<Beside> beside(Arm arm, Prefixes prefixes) {
        return Optional.empty();
    }

    /** Ends what the hold step of this leg did; after it nothing of it is held. */
    ReleaseReceipt release(HoldReceipt step);

    /** Returns the requests that it sent on its own since the last call; they are no load. */
    default List<RequestRecord> sent() {
        return List.of();
    }

    /** Releases what an aborted leg left behind, where that can be done. */
    @Override
    void close();

    /**
     * The prefixes that a leg has for its switch, as requests for one token.
     *
     * @param probed the one that the probes ask for
     * @param unprobed another one of that length, which nobody else asks for
     * @param texts those sent before the hold step that begin with the probed prefix, if any
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
