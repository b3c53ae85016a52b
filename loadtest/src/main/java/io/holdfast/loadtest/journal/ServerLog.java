package io.holdfast.loadtest.journal;

import java.util.List;

/**
 * What the server wrote while a leg ran, as far as the leg has to answer for it.
 *
 * @param errors the first and the last line that tells of an error, cut to a length
 * @param errorLines how many such lines there were
 * @param shortages the same of lines that tell that running requests were put back for lack of memory
 * @param shortageLines how many of these
 */
public record ServerLog(List<String> errors, int errorLines, List<String> shortages, int shortageLines) {
    public ServerLog {
        errors = List.copyOf(errors);
        shortages = List.copyOf(shortages);
    }
}
