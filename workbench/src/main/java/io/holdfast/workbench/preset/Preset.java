package io.holdfast.workbench.preset;

import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A load test that is known by a name, with the values of its parameters. */
public interface Preset {
    Definition definition();

    /** Name in files and plans. */
    default String name() {
        return definition().name();
    }

    /** Returns settings of all its legs, by name. */
    default Map<String, String> settings() {
        return Map.of();
    }

    /** Its legs in the order in which they run; the same facts give the same legs. */
    List<Suite.Leg> legs(EngineFacts facts);

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

        /** Writes the files into a folder, and beside the legs the sentences that a reader of them needs. */
        public void write(Path folder) {
            LoadFolder.writeFindings(
                    folder,
                    Stream.concat(lines.stream().filter(LoadFlags::isIn), problems.stream())
                            .toList());
            files.forEach((name, text) -> {
                try {
                    Files.writeString(folder.resolve(name), text);
                } catch (IOException e) {
                    throw new LoadTestException(
                            "The file " + folder.resolve(name) + " cannot be written: " + FileTrouble.why(e) + ".", e);
                }
            });
        }
    }
}
