package io.holdfast.loadtest.run;

import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.workload.LoadRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The engine of a load test, as its protocol sees it: a server behind HTTP ({@link HttpEngine}), or an engine's rules
 * in this process and in virtual time. Called from one thread; every call blocks, and is bounded in the time of the
 * run's {@link RunClock}.
 */
public interface EngineUnderTest extends AutoCloseable {
    /** Returns a name of a few words for the record. */
    String name();

    /** Returns how the engine is asked, for the record: what another run would have to do alike. */
    Map<String, String> client();

    /** Returns true if {@link #beginLife} gives a new process. If not, server lives are separated by a flush only. */
    boolean givesFreshLives();

    /** Returns the time that {@link #beginLife} takes, as far as it is known. */
    default Duration lifeTakes() {
        return Duration.ZERO;
    }

    /** Ends the server life that there is, where it can, and returns when the engine has answered a real request. */
    void beginLife();

    /** Returns true if each leg has a process of its own, as where arms differ in how the server is started. */
    default boolean givesFreshLegs() {
        return false;
    }

    /** Begins the process of a leg, where each has its own; returns when it has answered a real request. */
    default void beginLeg(Arm arm) {}

    EngineFacts facts();

    /** Returns the signs, by the address of each engine, that tell the process that answers now from another one. */
    default Map<String, LifeSign> lifeSigns() {
        return Map.of();
    }

    /**
     * Returns what the server has written since the last call and a leg has to answer for; absent where nobody knows.
     */
    default Optional<ServerLog> written() {
        return Optional.empty();
    }

    /** Empties the cache; the reason why it could not, if so. */
    Optional<String> flush();

    /** Begins to listen to what it tells of its cache; absent where it tells nothing, or nobody can hear it. */
    default Optional<Listening> listen() {
        return Optional.empty();
    }

    /** Its own ways to keep a prefix. */
    HoldRoutes holdRoutes();

    /** Returns a request with the token ids that the engine is sent for it: a small model has fewer than are drawn. */
    default LoadRequest known(LoadRequest request) {
        return request;
    }

    /** Sends one request that belongs to no load, on a connection that is open already. */
    default RequestRecord ask(LoadRequest request) {
        return prepare(List.of(request)).send(1, 1).getFirst();
    }

    /** Makes the requests of a leg ready, so that nothing is left to do for them while the load runs. */
    Load prepare(List<LoadRequest> requests);

    /**
     * Returns the same engine asked for whole answers in place of streams: there is no first token then, and the last
     * one is there with the answer. It is closed with this one.
     */
    EngineUnderTest withoutStreams();

    @Override
    void close();

    /** The requests of one leg in their order. */
    interface Load {
        /** SHA-256 over all that will be sent but its salt: two legs with the same digest ask for the same. */
        String digest();

        /** Opens so many connections, in place of those there are. */
        void connect(int lanes);

        /**
         * Sends the next requests, so many of them under way at a time, and waits until all are over.
         *
         * @return one record for each in the order of the list, stamped by the run's clock; a failed request is a
         *     record
         */
        default List<RequestRecord> send(int count, int concurrency) {
            return send(count, concurrency, Optional.empty()).load();
        }

        /**
         * Sends the load with a request beside it, again and again, on a connection of its own beyond those of the
         * load.
         */
        Sent send(int count, int concurrency, Optional<Beside> beside);

        /**
         * Sends the next requests, each when its turn has come, whether or not those before it are over, and waits
         * until all are. One whose turn comes while so many are under way as may be is not sent, which its record says.
         *
         * @param turns one for each request, in nanoseconds from now and in order
         * @param most that may be under way at a time
         */
        Sent sendInTurn(List<Long> turns, int most, Optional<Beside> beside);

        /** Returns how the client fared in all that was sent so far; absent where no client could be in the way. */
        default Optional<ClientHealth> health() {
            return Optional.empty();
        }
    }

    /**
     * A request that is sent beside a load at a pace that the load gives: by the clock it would come at another place
     * of the load wherever the engine is faster.
     *
     * @param every how many requests of the load end before it is sent, and again each time; not after the last one
     */
    record Beside(LoadRequest request, int every) {}

    /**
     * Outcome of a load and of what was sent beside it.
     *
     * @param load one record for each request, in the order of the list
     * @param beside one record for each time, numbered from 0
     */
    record Sent(List<RequestRecord> load, List<RequestRecord> beside) {}
}
