package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.ServerLog;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * What engines say
 * ================
 *
 * An exception comes as Python prints it: a line with `Traceback`, lines that are indented, and a line that says what
 * it was, which is the one worth quoting. SGLang prints it so behind `Scheduler hit an exception`; vLLM has `ERROR` in
 * each of its lines. A shell says `Killed` when the system took the memory. Running requests that are put back, since
 * there is no memory for their next token, are no error: SGLang says `Retract requests`, vLLM `preempted`. For each
 * batch of prompts SGLang tells how many of their tokens were cached.
 */

/** Reads on where it stopped in the file that takes what a server writes. */
final class LogWatch {
    private static final Pattern ERROR = Pattern.compile("Traceback \\(most recent call last\\)"
            + "|\\b(ERROR|CRITICAL|FATAL)\\b"
            + "|(?i:\\bout of memory\\b)|OutOfMemoryError"
            + "|(^|\\s)Killed(\\s|$)|Segmentation fault|core dumped"
            + "|hit an exception|EngineDeadError");
    private static final Pattern SHORTAGE = Pattern.compile("Retract requests|\\b[Pp]reempted\\b|PreemptionMode");
    private static final Pattern CACHED = Pattern.compile("#cached-token:\\s*(\\d{1,18})");
    private static final String TRACEBACK = "Traceback (most recent call last)";
    private static final int BUFFER = 1 << 16;
    private static final int MOST_OF_A_LINE = 1 << 12;
    private static final int MOST_QUOTED = 300;

    private final Path file;
    private long read;

    LogWatch(Path file) {
        this.file = file;
    }

    /** Returns what the whole lines tell that came since the last call. */
    ServerLog since() {
        Lines lines = new Lines();
        if (!Files.exists(file)) {
            return lines.told();
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            // Somebody may have begun the file anew.
            read = Math.min(read, channel.size());
            long at = read;
            ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
            while (channel.read(buffer.clear(), at) > 0) {
                buffer.flip();
                while (buffer.hasRemaining()) {
                    at++;
                    if (lines.take(buffer.get())) {
                        read = at;
                    }
                }
            }
            return lines.told();
        } catch (IOException e) {
            throw new LoadTestException("The server's log " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    /** Lines as they come, of which the first and the last of each kind are kept. */
    private static final class Lines {
        private final ByteArrayOutputStream line = new ByteArrayOutputStream();
        private final List<String> errors = new ArrayList<>();
        private final List<String> shortages = new ArrayList<>();
        private int errorLines;
        private int shortageLines;
        private int prefills;
        private long cachedTokens;
        private boolean inTraceback;

        /** Takes the next byte; returns true if it ended a line. */
        boolean take(byte next) {
            if (next != '\n') {
                if (line.size() < MOST_OF_A_LINE) {
                    line.write(next);
                }
                return false;
            }
            whole(line.toString(StandardCharsets.UTF_8));
            line.reset();
            return true;
        }

        private void whole(String text) {
            boolean says = inTraceback && !text.isBlank() && !Character.isWhitespace(text.charAt(0));
            if (says || ERROR.matcher(text).find()) {
                errorLines++;
                keep(errors, text);
            } else if (SHORTAGE.matcher(text).find()) {
                shortageLines++;
                keep(shortages, text);
            }
            Matcher cached = CACHED.matcher(text);
            if (cached.find()) {
                prefills++;
                cachedTokens += Long.parseLong(cached.group(1));
            }
            inTraceback = text.contains(TRACEBACK) || (inTraceback && !says);
        }

        private static void keep(List<String> kept, String text) {
            String quoted = text.strip();
            if (kept.size() > 1) {
                kept.removeLast();
            }
            kept.add(quoted.length() > MOST_QUOTED ? quoted.substring(0, MOST_QUOTED) + "..." : quoted);
        }

        ServerLog told() {
            return new ServerLog(errors, errorLines, shortages, shortageLines, prefills, cachedTokens);
        }
    }
}
