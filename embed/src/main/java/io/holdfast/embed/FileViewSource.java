package io.holdfast.embed;

import io.holdfast.core.index.StreamPosition;
import io.holdfast.core.index.ViewSnapshot;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * Views in files of one directory, one for each cache, which the embedder writes now and then and a later process takes
 * over.
 *
 * <p>A file is replaced as a whole; a crash leaves what was there before, or all of the new. Processes that follow the same
 * engines may share the directory: whoever has a view to write while another writes one of the same cache leaves it to that
 * one, since both are exact.
 */
public final class FileViewSource implements ViewSource {
    /** More than the largest view has. */
    private static final long MOST_BYTES = 1L << 30;

    private final Path directory;
    private final Executor executor;
    private final Map<Path, StreamPosition> written = new ConcurrentHashMap<>();

    /** Creates the source over a directory that is there; the executor reads and writes, where that may wait. */
    public FileViewSource(Path directory, Executor executor) {
        this.directory = directory;
        this.executor = executor;
    }

    @Override
    public CompletionStage<Optional<byte[]>> view(String engineId, int rank) {
        Path file = file(engineId, rank);
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return Files.exists(file) && Files.size(file) <= MOST_BYTES
                                ? Optional.of(Files.readAllBytes(file))
                                : Optional.empty();
                    } catch (IOException e) {
                        throw new IllegalStateException("the view in " + file + " cannot be read: " + e, e);
                    }
                },
                executor);
    }

    /**
     * Writes what is known of all engines of a fleet, as {@link #keep(String, List)} does; to be called now and then,
     * and before the end while a thread still works for the fleet. Any thread may.
     *
     * @return answered when all are on the disk; fails with one sentence where one of them is not
     */
    public CompletionStage<Void> keep(Fleet fleet) {
        return CompletableFuture.allOf(fleet.engines().stream()
                .map(engine -> engine.snapshot()
                        .thenAcceptAsync(views -> written(engine.id(), views), executor)
                        .toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new));
    }

    private void written(String engineId, List<Optional<ViewSnapshot>> views) {
        try {
            keep(engineId, views);
        } catch (IOException e) {
            throw new CompletionException(
                    "The view of engine " + engineId + " cannot be written to " + directory + " (" + e
                            + "); mend the directory or name another one.",
                    e);
        }
    }

    /**
     * Writes what {@link Engine#snapshot} answered, where it is another than was written last; what is not certain now
     * leaves what was written.
     *
     * @throws IOException when it is not on the disk; then what was there before still is
     */
    public synchronized void keep(String engineId, List<Optional<ViewSnapshot>> views) throws IOException {
        for (int rank = 0; rank < views.size(); rank++) {
            if (views.get(rank).isPresent()) {
                keep(file(engineId, rank), views.get(rank).get());
            }
        }
    }

    private void keep(Path file, ViewSnapshot view) throws IOException {
        if (view.position().equals(written.get(file))) {
            return;
        }
        try (FileChannel mine = FileChannel.open(
                        file.resolveSibling(file.getFileName() + ".lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE);
                FileLock lock = mine.tryLock()) {
            if (lock != null) {
                replace(file, view.encode());
                written.put(file, view.position());
            }
        } catch (OverlappingFileLockException e) {
            // Another source of this process writes it.
        }
    }

    private static void replace(Path file, byte[] view) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        try (FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = ByteBuffer.wrap(view);
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private Path file(String engineId, int rank) {
        return directory.resolve(URLEncoder.encode(engineId, StandardCharsets.UTF_8) + "." + rank + ".view");
    }
}
