package io.holdfast.workbench.preset;

import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A load test that is known by a name. */
public interface Preset {
    /** Longer than any answer that somebody waits for. */
    Duration LONG = Duration.ofMinutes(20);

    /** Name in files and plans. */
    String name();

    /** Returns settings of all its legs, by name. */
    default Map<String, String> settings() {
        return Map.of();
    }

    /** Its legs in the order in which they run, on such a server; the same facts give the same legs. */
    List<Suite.Leg> legs(EngineFacts facts);

    /** Requests that warm up each life of the server, beside those that a load has of its own. */
    default int warmUps() {
        return 0;
    }

    /** Returns the time between two legs in which nothing is sent. */
    default Duration cooldown() {
        return Duration.ZERO;
    }

    /** Returns true if legs differ in how the server is started, so that somebody has to start it. */
    default boolean needsToStart() {
        return false;
    }

    /** The life of the first leg, known before there is a server to ask. */
    default Life firstLife() {
        return Life.ANY;
    }

    /** Returns the server that a leg is sent to; consecutive legs with the same one share its process. */
    default Life life(Suite.Leg leg) {
        return Life.ANY;
    }

    /**
     * Returns true if it is about single tokens, so that they are sent by their ids unless the user chooses otherwise.
     */
    default boolean countsTokens() {
        return false;
    }

    /**
     * Returns true if it is about the content of chats, so that they are sent as chats unless the user chooses
     * otherwise.
     */
    default boolean chats() {
        return false;
    }

    /**
     * The most that a request may take; a server that is far behind takes minutes, and is to be told of all the same.
     */
    default Duration requestTimeout() {
        return LONG;
    }

    /** Computes what is kept beside the raw data, once all legs are there. */
    Outcome outcome(Ended ended);

    /**
     * A life of the server.
     *
     * @param name legs with another name get another process
     */
    record Life(String name, StartedServer.Variant variant) {
        static final Life ANY = new Life("", StartedServer.Variant.none());
    }

    /**
     * Results of all legs.
     *
     * @param stamped a name such as {@code serving_MODEL_TIME}, without its ending, that is free in the folder
     */
    record Ended(List<LoadLeg> legs, ResultFile results, EngineFacts facts, String stamped) {
        public Ended {
            legs = List.copyOf(legs);
        }
    }

    /**
     * Output computed from the legs.
     *
     * @param files their text by their names
     * @param lines for people
     * @param problems what was expected and is not so, a sentence each
     */
    record Outcome(Map<String, String> files, List<String> lines, List<String> problems) {
        public Outcome {
            files = Collections.unmodifiableMap(new LinkedHashMap<>(files));
            lines = List.copyOf(lines);
            problems = List.copyOf(problems);
        }
    }
}
