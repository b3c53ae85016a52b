package io.holdfast.sidecar.store;

import io.holdfast.embed.ViewSource;
import io.holdfast.embed.ledger.LedgerFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * Views of one engine's caches, in files beside its ledger that are replaced as a whole. One that is damaged, of another
 * version or of another life of the engine is refused by who takes it over, and written over.
 */
public final class ViewFile implements ViewSource {
    /** More than the largest view has. */
    private static final long MOST_BYTES = 1L << 30;

    private final Path directory;
    private final String engineId;
    private final LedgerFiles files;
    private final Executor executor;

    /** @param executor reads */
    public ViewFile(Path directory, String engineId, LedgerFiles files, Executor executor) {
        this.directory = directory;
        this.engineId = engineId;
        this.files = files;
        this.executor = executor;
    }

    /**
     * Writes the view of one rank's cache in place of the one before.
     *
     * @throws IOException when it is not on the disk; then what was there before still is
     */
    public void write(int rank, byte[] view) throws IOException {
        WholeFile.replace(file(rank), view, files);
    }

    @Override
    public CompletionStage<Optional<byte[]>> view(String engine, int rank) {
        return CompletableFuture.supplyAsync(() -> read(file(rank)), executor);
    }

    private static Optional<byte[]> read(Path file) {
        try {
            return Files.exists(file) && Files.size(file) <= MOST_BYTES
                    ? Optional.of(Files.readAllBytes(file))
                    : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException("the view in " + file + " cannot be read: " + e.getMessage(), e);
        }
    }

    private Path file(int rank) {
        return directory.resolve(engineId + ".view" + (rank == 0 ? "" : rank));
    }
}
