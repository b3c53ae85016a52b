package io.holdfast.loadtest.run;

import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The engine of a load test, as its protocol sees it: a server behind HTTP ({@link HttpEngine}), or an engine's rules in
 * this process and in virtual time. Called from one thread; every call blocks, and is bounded in the time of the run's
 * {@link RunClock}.
 */
public interface EngineUnderTest extends AutoCloseable {
    /** What it is, in a few words for the record. */
    String name();

    /** How it is asked, for the record: what another run would have to do alike. */
    Map<String, String> client();

    /** Whether {@link #beginLife} gives a new process. If not, server lives are separated by a flush only. */
    boolean givesFreshLives();

    /** Ends the server life that there is, where it can, and returns when the engine has answered a real request. */
    void beginLife();

    EngineFacts facts();

    /** Empties the cache; the reason why it could not, if so. */
    Optional<String> flush();

    /** Makes the requests of a leg ready, so that nothing is left to do for them while the load runs. */
    Load prepare(List<LoadRequest> requests);

    @Override
    void close();

    /** The requests of one leg in their order. */
    interface Load {
        /** SHA-256 over all that will be sent: two legs with the same digest ask for the same. */
        String digest();

        /** Opens so many connections, in place of those there are. */
        void connect(int lanes);

        /**
         * Sends the next requests, so many of them under way at a time, and waits until all are over.
         *
         * @return one record for each in the order of the list, stamped by the run's clock; a failed request is a record
         */
        List<RequestRecord> send(int count, int concurrency);
    }
}
