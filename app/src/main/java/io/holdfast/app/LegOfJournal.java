package io.holdfast.app;

import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Parameters;

/** A journal, and one leg of it by its life and its place in that. */
final class LegOfJournal {
    private static final Pattern LEG = Pattern.compile("([0-9]{1,6})/([0-9]{1,2})");

    @Parameters(index = "0", paramLabel = "JOURNAL", description = "The file that 'loadtest run' or 'aa' wrote.")
    private Path journal = Path.of("");

    @Parameters(
            index = "1",
            paramLabel = "LEG",
            description = "Life and leg, as 3/2 for 'life 3 BP, leg 2'; 0/1 is the first of the rehearsal.")
    private String name = "";

    LegOfJournal() {}

    Journal.Contents read() {
        return Journal.read(journal);
    }

    /** How often pairs were run again before it. */
    int repeatsBefore(LegRecord of) {
        return Journal.repeatsBefore(journal, of);
    }

    LegRecord of(Journal.Contents run) {
        Matcher leg = LEG.matcher(name);
        if (!leg.matches()) {
            throw new CommandException("LEG is '" + name + "'; write life and leg, as 3/2.");
        }
        int life = Integer.parseInt(leg.group(1));
        int position = Integer.parseInt(leg.group(2));
        return run.legs().stream()
                .filter(each -> each.life() == life && each.position() == position)
                .findFirst()
                .orElseThrow(() -> new CommandException("The journal has no leg " + name + "; it has lives "
                        + run.header().firstLife() + " to "
                        + run.legs().stream().mapToInt(LegRecord::life).max().orElse(0) + ", legs 0 to 2."));
    }
}
