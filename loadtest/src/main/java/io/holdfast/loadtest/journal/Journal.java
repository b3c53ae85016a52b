package io.holdfast.loadtest.journal;

import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The append-only record of a run: one line of JSON for what was decided before it, one for each leg with all stamps,
 * and one for each pair that was voided and each time that the run was resumed.
 *
 * <p>Each line is on disk before the run goes on, so a run that is killed loses the leg under way and nothing else.
 * Nothing that was written whole is ever written over. The writer holds a lock on the file, which ends with its process
 * however that ends.
 */
public final class Journal implements AutoCloseable {
    private final Path file;
    private final FileChannel channel;
    private final String run;

    private Journal(Path file, FileChannel channel, String run) {
        this.file = file;
        this.channel = channel;
        this.run = run;
    }

    /** Begins a journal in a new file; one that is there already is never written to. */
    public static Journal create(Path file, RunHeader header) {
        try {
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            try {
                lock(file, channel);
                String head = JournalJson.head(header);
                Journal journal = new Journal(file, channel, JournalReader.id(head));
                journal.write(head);
                return journal;
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
        } catch (FileAlreadyExistsException e) {
            throw exists(file, e);
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    /** Opens a journal to go on with it. Drops a torn last line; throws if another process writes to it already. */
    public static Reopened reopen(Path file) {
        try {
            FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
            try {
                lock(file, channel);
                JournalReader.Read read = JournalReader.read(file, bytes(channel));
                channel.truncate(read.length());
                channel.position(read.length());
                Journal journal = new Journal(file, channel, read.run());
                if (!read.closed()) {
                    journal.write("");
                }
                return new Reopened(journal, read.contents());
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
        } catch (NoSuchFileException e) {
            throw missing(file, e);
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    private static byte[] bytes(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(channel.size()));
        while (bytes.hasRemaining() && channel.read(bytes) >= 0) {
            // A file gives what it has in as many parts as it likes.
        }
        return bytes.array();
    }

    private static void lock(Path file, FileChannel channel) throws IOException {
        if (tryLock(channel).isEmpty()) {
            throw new LoadTestException("The journal " + file
                    + " is being written by a load test that still runs; see 'holdfast loadtest status " + file + "'.");
        }
    }

    /** Takes the lock; absent where another holds it. */
    private static Optional<FileLock> tryLock(FileChannel channel) throws IOException {
        try {
            return Optional.ofNullable(channel.tryLock());
        } catch (OverlappingFileLockException e) {
            return Optional.empty();
        }
    }

    /** Returns true if a load test that still runs writes to the file, on this machine. */
    public static boolean isBeingWritten(Path file) {
        // The lock is requested on a channel that could write, since the writer has that kind; nothing is written.
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            Optional<FileLock> lock = tryLock(channel);
            if (lock.isPresent()) {
                lock.get().release();
            }
            return lock.isEmpty();
        } catch (NoSuchFileException e) {
            throw missing(file, e);
        } catch (IOException e) {
            // A file that may only be read is not being written by this process, and by nobody else as far as one can
            // tell.
            return false;
        }
    }

    /** Says early what {@link #create} would say late. */
    public static void refuseExisting(Path file) {
        if (Files.exists(file)) {
            throw exists(file, new FileAlreadyExistsException(file.toString()));
        }
    }

    public void append(LegRecord leg) {
        append(JournalJson.LEG, leg);
    }

    /**
     * Says that the pair under way does not count.
     *
     * @param reason in one clause
     */
    public void voidPair(int life, String reason) {
        append(JournalJson.VOIDED, new Voiding(life, reason, false));
    }

    /**
     * Says that the pair whose leg was written last does not count, for what happened around it, and runs again at the
     * end of its round.
     *
     * @param reason in one clause
     */
    public void repeatPair(int life, String reason) {
        append(JournalJson.VOIDED, new Voiding(life, reason, true));
    }

    /** Says that another process goes on from here. */
    public void resumed(Instant now) {
        append(JournalJson.RESUMED, new Resuming(now.toString()));
    }

    private void append(String kind, Object content) {
        try {
            write(JournalJson.line(kind, content, run));
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    private void write(String line) throws IOException {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
        long began = channel.position();
        try {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        } catch (IOException e) {
            if (channel.isOpen()) {
                // On a full disk: what comes after half a line could not be read.
                channel.truncate(began);
            }
            throw e;
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    /**
     * Reads a journal back. A last line that was torn by a kill is left out, with a warning; it has no line feed, since
     * a line is written with its end.
     */
    public static Contents read(Path file) {
        return reading(file).contents();
    }

    /**
     * Returns how often pairs had to be run again before the leg that stands: resumes and voided pairs together, as the
     * salt of its texts counts them.
     */
    public static int repeatsBefore(Path file, LegRecord leg) {
        return reading(file).repeatsBefore(leg);
    }

    private static JournalReader.Read reading(Path file) {
        try {
            return JournalReader.read(file, Files.readAllBytes(file));
        } catch (NoSuchFileException e) {
            throw missing(file, e);
        } catch (IOException e) {
            throw new LoadTestException("The journal " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    private static LoadTestException missing(Path file, Exception cause) {
        return new LoadTestException("There is no journal at " + file + ".", cause);
    }

    private static LoadTestException exists(Path file, Exception cause) {
        return new LoadTestException(
                "The journal " + file + " exists already and is not overwritten; name another file.", cause);
    }

    private static LoadTestException unwritable(Path file, IOException cause) {
        return new LoadTestException(
                "The journal " + file + " cannot be written: " + FileTrouble.why(cause) + ".", cause);
    }

    /** The pairs that count of which every leg is there. */
    static int wholePairs(RunHeader header, List<LegRecord> legs) {
        int ofALife = header.legsOf(header.firstLife()).size();
        return Math.max(0, legs.size() / ofALife - (header.rehearsal() ? 1 : 0));
    }

    /** A line that takes a pair out. */
    record Voiding(int life, String reason, boolean bySurroundings) {}

    /** A line that says when a run was resumed. */
    record Resuming(String at) {}

    /** A journal to write to, and what it held. */
    public record Reopened(Journal journal, Contents contents) {}

    /**
     * Contents of a journal.
     *
     * @param header with the slot that the rehearsal led to
     * @param legs those that stand, in the order in which they ran; of the last life perhaps not all
     * @param order that of all lives, those to come included
     * @param resumes how often the run was resumed
     * @param endsWithALeg whether nothing was voided after the last of them, so that a run which is over was killed
     */
    public record Contents(
            RunHeader header,
            List<LegRecord> legs,
            List<Integer> order,
            List<VoidedPair> voided,
            int resumes,
            boolean endsWithALeg,
            List<String> warnings) {
        public Contents {
            legs = List.copyOf(legs);
            order = List.copyOf(order);
            voided = List.copyOf(voided);
            warnings = List.copyOf(warnings);
        }

        /** Creates the contents of a run that went through. */
        public Contents(RunHeader header, List<LegRecord> legs, List<String> warnings) {
            this(header, legs, new LifeOrder(header).lives(), List.of(), 0, true, warnings);
        }

        /** The pairs that count of which every leg is there. */
        public int wholePairs() {
            return Journal.wholePairs(header, legs);
        }

        /** Returns the order of the lives, in a form that can be continued. */
        public LifeOrder lifeOrder() {
            return new LifeOrder(header, order);
        }

        /** Returns the number of finished lives, in their order. */
        public int finishedLives() {
            return legs.size() / header.legsOf(header.firstLife()).size();
        }

        /** Returns the number of legs that the first unfinished life has so far. */
        public int legsOfNextLife() {
            return legs.size() % header.legsOf(header.firstLife()).size();
        }

        /** Returns the number of pairs that their surroundings voided so far. */
        public int repeats() {
            return (int) voided.stream().filter(VoidedPair::bySurroundings).count();
        }
    }
}
