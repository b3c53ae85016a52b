package io.holdfast.loadtest.journal;

import java.util.ArrayList;
import java.util.List;

/**
 * Lines that the server wrote while a leg ran, as far as the leg has to answer for them.
 *
 * @param errors the first and the last line that tells of an error, cut to a length
 * @param errorLines how many such lines there were
 * @param shortages the same of lines that tell that running requests were put back for lack of memory
 * @param shortageLines how many of these
 * @param prefills lines that tell of a batch of prompts and how much of it was cached, of the load after the hold step
 *     alone
 * @param cachedTokens what these tell together
 */
public record ServerLog(
        List<String> errors,
        int errorLines,
        List<String> shortages,
        int shortageLines,
        int prefills,
        long cachedTokens) {
    public ServerLog {
        errors = List.copyOf(errors);
        shortages = List.copyOf(shortages);
    }

    /** Creates the log of a server that tells of no batches. */
    public ServerLog(List<String> errors, int errorLines, List<String> shortages, int shortageLines) {
        this(errors, errorLines, shortages, shortageLines, 0, 0);
    }

    /** Adds what came with the load of a leg to this, which came before it: batches are those of the load alone. */
    public ServerLog thenOfTheLoad(ServerLog load) {
        return new ServerLog(
                firstAndLast(errors, load.errors),
                errorLines + load.errorLines,
                firstAndLast(shortages, load.shortages),
                shortageLines + load.shortageLines,
                load.prefills,
                load.cachedTokens);
    }

    private static List<String> firstAndLast(List<String> some, List<String> others) {
        List<String> all = new ArrayList<>(some);
        all.addAll(others);
        return all.size() < 2 ? all : List.of(all.getFirst(), all.getLast());
    }
}
