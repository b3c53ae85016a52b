package io.holdfast.loadtest.trace;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.trace.TraceLines.BadLineException;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** Reads recorded requests from a file, packed by gzip or not, whatever their form. */
public final class TraceFile {
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    /** The form of a file. */
    public enum Format {
        /**
         * Mooncake's: a JSON object a line, with {@code timestamp} in milliseconds, {@code input_length}, {@code
         * output_length}, and {@code hash_ids}, one for each 512 tokens.
         */
        MOONCAKE,
        /** {@code time,prefix,tokens}, and {@code output} where it is known. */
        CSV,
        /** The events of an engine, as {@code holdfast observe --record} keeps them. */
        RECORDING
    }

    private final Path file;
    private final Optional<Format> format;
    private final OptionalInt blockTokens;

    private TraceFile(Path file, Optional<Format> format, OptionalInt blockTokens) {
        this.file = file;
        this.format = format;
        this.blockTokens = blockTokens;
    }

    /** A file whose form its first line tells. */
    public static TraceFile at(Path file) {
        return new TraceFile(file, Optional.empty(), OptionalInt.empty());
    }

    /** Returns the file as one of this form. */
    public TraceFile as(Format form) {
        return new TraceFile(file, Optional.of(form), blockTokens);
    }

    /** Returns the file in blocks of so many tokens; only where the form leaves that open. */
    public TraceFile inBlocksOf(int tokens) {
        return new TraceFile(file, format, OptionalInt.of(tokens));
    }

    /** Reads the whole trace; the exception names the line that is wrong. */
    public Trace read() {
        int line = 0;
        Optional<TraceLines> lines = Optional.empty();
        try (InputStream raw = new BufferedInputStream(Files.newInputStream(file), 1 << 16);
                BufferedReader reader = new BufferedReader(new InputStreamReader(
                        unpacked(raw),
                        StandardCharsets.UTF_8
                                .newDecoder()
                                .onMalformedInput(CodingErrorAction.REPORT)
                                .onUnmappableCharacter(CodingErrorAction.REPORT)))) {
            for (String text = reader.readLine(); text != null; text = reader.readLine()) {
                line++;
                // Spreadsheets begin a file with it.
                String told = line == 1 && text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
                if (!told.isBlank()) {
                    if (lines.isEmpty()) {
                        lines = Optional.of(lines(told));
                    }
                    lines.get().line(told);
                }
            }
        } catch (BadLineException e) {
            throw wrong(line, e.what(), e);
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no trace " + file + ".");
        } catch (CharacterCodingException e) {
            throw wrong(Math.max(1, line), "is no text", e);
        } catch (EOFException | ZipException e) {
            throw new LoadTestException(
                    "The packed trace " + file + " is broken after line " + line + "; fetch it again.", e);
        } catch (IOException e) {
            throw new LoadTestException("The trace " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
        return lines.filter(read -> read.requests() > 0)
                .map(TraceLines::trace)
                .orElseThrow(() -> new LoadTestException("The trace " + file + " has no requests."));
    }

    private TraceLines lines(String first) {
        String name = String.valueOf(file.getFileName());
        return switch (format.orElseGet(() -> told(first))) {
            case MOONCAKE -> {
                if (blockTokens.isPresent()) {
                    throw new LoadTestException("Mooncake's traces, such as " + file + ", have blocks of "
                            + MooncakeLines.BLOCK_TOKENS + " tokens; leave the blocks' size out.");
                }
                yield new MooncakeLines(name);
            }
            case RECORDING -> {
                if (blockTokens.isPresent()) {
                    throw new LoadTestException("A recording, such as " + file
                            + ", tells the size of its blocks itself; leave the blocks' size out.");
                }
                yield new RecordingLines(name);
            }
            case CSV -> new CsvLines(name, blockTokens.orElse(CsvLines.USUAL_BLOCK_TOKENS));
        };
    }

    private static Format told(String first) {
        String begin = first.strip();
        if (begin.startsWith("{")) {
            return RecordingLines.recognise(begin) ? Format.RECORDING : Format.MOONCAKE;
        }
        if (begin.toLowerCase(Locale.ROOT).startsWith(CsvLines.HEADER)) {
            return Format.CSV;
        }
        throw new BadLineException("is neither a JSON object, as in Mooncake's traces, nor the header '"
                + CsvLines.HEADER + "' of a CSV file");
    }

    private static InputStream unpacked(InputStream raw) throws IOException {
        raw.mark(2);
        boolean packed = raw.read() == 0x1f && raw.read() == 0x8b;
        raw.reset();
        return packed ? new GZIPInputStream(raw, 1 << 16) : raw;
    }

    private LoadTestException wrong(int line, String what, Exception cause) {
        return new LoadTestException("Line " + line + " of the trace " + file + " " + what + ".", cause);
    }
}
