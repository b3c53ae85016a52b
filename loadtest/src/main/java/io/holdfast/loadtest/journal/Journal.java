package io.holdfast.loadtest.journal;

import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The append-only record of a run: one line of JSON for what was decided before it, one for each leg with all stamps.
 *
 * <p>Each line is on disk before the run goes on, so a run that is killed loses the leg under way and nothing else.
 */
public final class Journal implements AutoCloseable {
    private static final String RUN = "run";
    private static final String LEG = "leg";

    private final Path file;
    private final FileChannel channel;

    private Journal(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /** Begins a journal in a new file; one that is there already is never written to. */
    public static Journal create(Path file, RunHeader header) {
        try {
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            Journal journal = new Journal(file, channel);
            journal.write(JournalJson.line(RUN, header));
            return journal;
        } catch (FileAlreadyExistsException e) {
            throw exists(file, e);
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    /** Says early what {@link #create} would say late. */
    public static void refuseExisting(Path file) {
        if (Files.exists(file)) {
            throw exists(file, new FileAlreadyExistsException(file.toString()));
        }
    }

    public void append(LegRecord leg) {
        try {
            write(JournalJson.line(LEG, leg));
        } catch (IOException e) {
            throw unwritable(file, e);
        }
    }

    private void write(String line) throws IOException {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
        channel.force(true);
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
        List<String> lines = new ArrayList<>();
        boolean wholeToTheEnd;
        try {
            byte[] bytes = Files.readAllBytes(file);
            int end = bytes.length;
            while (end > 0 && bytes[end - 1] != '\n') {
                end--;
            }
            wholeToTheEnd = end == bytes.length;
            lines.addAll(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes, 0, end))
                    .toString()
                    .lines()
                    .toList());
            if (!wholeToTheEnd) {
                lines.add(new String(bytes, end, bytes.length - end, StandardCharsets.UTF_8));
            }
        } catch (CharacterCodingException e) {
            throw new LoadTestException("The journal " + file + " cannot be read: it is no text in UTF-8.", e);
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no journal at " + file + ".", e);
        } catch (IOException e) {
            throw new LoadTestException("The journal " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
        if (lines.isEmpty()) {
            throw new LoadTestException("The journal " + file + " is empty, so there is nothing to judge.");
        }
        List<LegRecord> legs = new ArrayList<>();
        List<String> warnings = new ArrayList<>();
        RunHeader header = header(file, lines.getFirst());
        for (int i = 1; i < lines.size(); i++) {
            try {
                legs.add(JournalJson.read(lines.get(i), LEG, LegRecord.class));
            } catch (IOException | RuntimeException e) {
                if (wholeToTheEnd || i < lines.size() - 1) {
                    throw damaged(file, i + 1, e);
                }
                warnings.add("The last line of the journal is torn and was left out: the run was cut off in that leg.");
            }
        }
        return new Contents(header, legs, warnings);
    }

    private static RunHeader header(Path file, String line) {
        try {
            RunHeader header = JournalJson.read(line, RUN, RunHeader.class);
            if (header.format() != RunHeader.FORMAT) {
                throw new LoadTestException("The journal " + file + " has format " + header.format()
                        + "; this version reads format " + RunHeader.FORMAT + ".");
            }
            return header;
        } catch (IOException e) {
            throw damaged(file, 1, e);
        }
    }

    private static LoadTestException damaged(Path file, int line, Exception cause) {
        String why = String.valueOf(cause.getMessage()).lines().findFirst().orElse("");
        return new LoadTestException("Line " + line + " of the journal " + file + " cannot be read: " + why, cause);
    }

    private static LoadTestException exists(Path file, Exception cause) {
        return new LoadTestException(
                "The journal " + file + " exists already and is not overwritten; name another file.", cause);
    }

    private static LoadTestException unwritable(Path file, Exception cause) {
        return new LoadTestException("The journal " + file + " cannot be written: " + cause + ".", cause);
    }

    /** What a journal holds. */
    public record Contents(RunHeader header, List<LegRecord> legs, List<String> warnings) {
        public Contents {
            legs = List.copyOf(legs);
            warnings = List.copyOf(warnings);
        }
    }
}
