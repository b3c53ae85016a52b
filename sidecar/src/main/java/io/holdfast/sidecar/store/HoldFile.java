package io.holdfast.sidecar.store;

import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.sidecar.store.HoldLines.Line;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requested holds of one engine as a file that only its owner reads; a line is on the disk before a call returns. */
public final class HoldFile implements Closeable {
    /*
     * A crash leaves at most one line without its end, whose call had not returned: it is cut off, unless it is whole. (Of
     * several lines of one call the first may be there.) Any
     * other line that cannot be read is somebody else's doing. Such a file is refused and left as it is: it may list what
     * somebody asked to have kept.
     *
     * A time that no lease reaches (the machine's clock was wrong when it was written, or somebody edited the file) is cut to
     * the longest lease that there is. Where the file itself was written in the future, the clock was set back since, and
     * every lease ends so much earlier by it.
     *
     * Opening writes what is alive into a second file and renames it over the first, and so does a line behind which the
     * file would be twice what it was then; where the disk takes no write, what was read counts all the same, and every later line says why it is not
     * kept. The lock of the engine's ledger, which is taken before, keeps other sidecars away.
     */

    private static final Logger LOG = LoggerFactory.getLogger(HoldFile.class);
    private static final long SMALL_BYTES = 1 << 20;

    private final Path file;
    private final LedgerFiles files;
    private final Map<Long, KeptHold> kept = new LinkedHashMap<>();
    private volatile Optional<FileChannel> writing = Optional.empty();
    private volatile boolean closed;
    private long end;
    private long rewriteAt = SMALL_BYTES;

    private HoldFile(Path directory, String engineId, LedgerFiles files) {
        this.file = directory.resolve(engineId + ".holds");
        this.files = files;
    }

    /**
     * The file of one engine, made at its first line.
     *
     * @param now holds whose leases ended before are left out
     * @param setBack by how much the clock on the wall was set back since it was written
     * @throws IOException with one sentence, when what is there is no such file or cannot be read
     */
    public static HoldFile open(Path directory, String engineId, LedgerFiles files, Instant now, Duration setBack)
            throws IOException {
        HoldFile opened = new HoldFile(directory, engineId, files);
        if (Files.exists(opened.file)) {
            opened.read();
            opened.kept.replaceAll((_, hold) -> hold.claimedBy(
                    hold.claims().stream().map(claim -> claim.setBack(setBack)).toList()));
            opened.kept
                    .values()
                    .removeIf(hold -> !hold.declared() && !hold.until().isAfter(now));
            opened.kept.replaceAll((_, hold) -> hold.claimedBy(
                    hold.claims().stream().map(claim -> claim.within(now)).toList()));
            try {
                opened.rewrite();
            } catch (IOException e) {
                LOG.warn("{} Its holds are requested all the same.", e.getMessage());
            }
        }
        return opened;
    }

    /** Least time by which the wall clock was set back, as lines from the future show. */
    public static Duration setBack(Path directory, String engineId, Instant now) {
        Path written = new HoldFile(directory, engineId, LedgerFiles.SYSTEM).file;
        try {
            Duration back =
                    Duration.between(now, Files.getLastModifiedTime(written).toInstant());
            return back.isNegative() ? Duration.ZERO : back;
        } catch (IOException e) {
            return Duration.ZERO;
        }
    }

    /** Returns the number of holds in the file of one engine, whoever writes it; 0 where none can be read. */
    public static int count(Path directory, String engineId, Instant now) {
        HoldFile looked = new HoldFile(directory, engineId, LedgerFiles.SYSTEM);
        try {
            if (Files.exists(looked.file)) {
                looked.read();
            }
        } catch (IOException e) {
            LOG.debug("How many holds are kept is not known: {}", e.getMessage());
        }
        return (int) looked.kept.values().stream()
                .filter(hold -> hold.declared() || hold.until().isAfter(now))
                .count();
    }

    /** Returns the holds that are kept, oldest first. */
    public synchronized List<KeptHold> kept() {
        return List.copyOf(kept.values());
    }

    public synchronized void keep(KeptHold hold) throws IOException {
        append(HoldLines.kept(hold));
        kept.put(hold.id(), hold);
    }

    /** Who wants these holds from here on, by their ids; nothing of one that is not kept. */
    public synchronized void claimed(Map<Long, List<KeptClaim>> claims) throws IOException {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        claims.forEach((id, all) -> {
            if (kept.containsKey(id)) {
                lines.writeBytes(HoldLines.claimed(id, all));
            }
        });
        if (lines.size() > 0) {
            append(lines.toByteArray());
            claims.forEach((id, all) -> kept.computeIfPresent(id, (_, hold) -> hold.claimedBy(all)));
        }
    }

    /** Nothing where there is no such hold. */
    public synchronized void end(long id) throws IOException {
        if (kept.remove(id) != null) {
            append(HoldLines.ended(id));
        }
    }

    private void read() throws IOException {
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(file);
        } catch (IOException e) {
            throw new IOException("The kept holds " + file + " cannot be read (" + e + "); mend its permissions.", e);
        }
        int number = 0;
        for (int start = 0; start < bytes.length; ) {
            int stop = start;
            while (stop < bytes.length && bytes[stop] != '\n') {
                stop++;
            }
            number++;
            Line line = HoldLines.read(bytes, start, stop);
            boolean torn = stop == bytes.length;
            if (torn && line instanceof Line.Unreadable) {
                break;
            }
            take(line, number);
            start = stop + 1;
        }
    }

    private void take(Line line, int number) throws IOException {
        boolean first = number == 1;
        switch (line) {
            case Line.Head head when first && head.known() -> {}
            case Line.Head head
            when first ->
                throw new IOException("The kept holds " + file + " were written by another version of Holdfast ("
                        + head.version() + "); start that one, or move the file away and ask for the holds again.");
            case Line.Kept hold when !first -> kept.put(hold.hold().id(), hold.hold());
            case Line.Claimed claimed
            when !first -> kept.computeIfPresent(claimed.id(), (_, hold) -> hold.claimedBy(claimed.claims()));
            case Line.Ended ended when !first -> kept.remove(ended.id());
            default ->
                throw new IOException("Line " + number + " of the kept holds " + file
                        + " cannot be read, so nothing in it was changed; mend it, or move the file away and ask for"
                        + " the holds again.");
        }
    }

    private void append(byte[] line) throws IOException {
        if (closed) {
            throw new IOException("The kept holds " + file + " were closed here.");
        }
        if (writing.isEmpty() || end > rewriteAt) {
            // What is to be written is in the map only after this.
            rewrite();
        }
        FileChannel channel = writing.orElseThrow();
        try {
            if (channel.size() > end) {
                channel.truncate(end);
            }
            int length = write(channel, end, line);
            channel.force(true);
            end += length;
        } catch (IOException e) {
            // Whatever the file has now, the next line writes it anew.
            closeChannel();
            throw notWritten(e);
        }
    }

    private void rewrite() throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        Optional<FileChannel> fresh = Optional.empty();
        long size = 0;
        try {
            // Texts of prompts are in it.
            WholeFile.makeForOwner(next);
            FileChannel channel = files.open(next, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
            fresh = Optional.of(channel);
            size += write(channel, size, HoldLines.head());
            for (KeptHold hold : kept.values()) {
                size += write(channel, size, HoldLines.kept(hold));
            }
            channel.force(true);
            WholeFile.moveDurably(next, file, files);
        } catch (IOException e) {
            if (fresh.isPresent()) {
                fresh.get().close();
            }
            throw notWritten(e);
        }
        closeChannel();
        writing = fresh;
        end = size;
        rewriteAt = Math.max(SMALL_BYTES, 2 * size);
    }

    private static int write(FileChannel channel, long position, byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        for (long at = position; buffer.hasRemaining(); ) {
            at += channel.write(buffer, at);
        }
        return bytes.length;
    }

    private IOException notWritten(IOException cause) {
        return new IOException(
                "The kept holds " + file + " could not be written (" + cause.getMessage()
                        + "); free space on its disk or mend it.",
                cause);
    }

    /** Waits for no line that is being written: a disk that hangs must not keep a process from ending. */
    @Override
    public void close() throws IOException {
        closed = true;
        closeChannel();
    }

    private void closeChannel() throws IOException {
        Optional<FileChannel> open = writing;
        writing = Optional.empty();
        if (open.isPresent()) {
            open.get().close();
        }
    }
}
