package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/** Small workload files, whose answers two other indexers gave as well. */
enum Workloads {
    /** 300 blocks, evicted from the tail of a chain only. */
    ONE_ENGINE("one-engine", "c5cf290dade5534f", "cdceef1386dd4f04", 519),
    /** 150 blocks each, evicted anywhere, so that chains have holes. */
    THREE_ENGINES_WITH_HOLES("three-engines-holes", "38bc705f527433cb", "4ec78495d620cebb", 102);

    /** What two other indexers, which share no code, said at ten points and at the end. */
    final String check;

    final String answers;
    final long matched;

    private final String resource;

    Workloads(String name, String check, String answers, long matched) {
        resource = name + ".kvwl.gz";
        this.check = check;
        this.answers = answers;
        this.matched = matched;
    }

    byte[] bytes() {
        try (InputStream in =
                new GZIPInputStream(Objects.requireNonNull(Workloads.class.getResourceAsStream(resource), resource))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Path in(Path folder) throws IOException {
        return Files.write(folder.resolve(name() + ".kvwl"), bytes());
    }
}
