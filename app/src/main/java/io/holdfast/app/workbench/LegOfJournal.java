package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine.Parameters;

/** A journal, and one leg of it by its life and its place in that. */
final class LegOfJournal {
    private static final int MOST_NAMED = 6;
    private static final Pattern LEG = Pattern.compile("([0-9]{1,6})/([0-9]{1,2})");

    @Parameters(
            index = "0",
            paramLabel = "JOURNAL",
            description =
                    "The file that 'loadtest ab' or 'aa' wrote; for 'timeline' also the folder of a 'leg' or preset.")
    private Path journal = Path.of("");

    @Parameters(
            index = "1",
            paramLabel = "LEG",
            description = "Life and leg, as 3/2 for 'life 3 BP, leg 2'; 0/1 is the first of the rehearsal. In a folder:"
                    + " the leg's name, as b1/cold/streaming/512tok/pass1.")
    private String name = "";

    LegOfJournal() {}

    /** A leg's name and its requests. */
    record Shown(String label, List<RequestRecord> requests) {}

    /** The requests of the leg, of a journal or of the folder of a suite. */
    Shown shown() {
        if (!Files.isDirectory(journal)) {
            LegRecord leg = of(read());
            return new Shown(leg.label(), leg.requests());
        }
        List<LoadLeg> legs = LoadFolder.open(journal).legs();
        LoadLeg leg = legs.stream()
                .filter(each -> each.id().equals(name))
                .findFirst()
                .orElseThrow(() -> new CommandException("The folder " + journal + " has no leg '" + name + "'; it has "
                        + legs.stream().map(LoadLeg::id).limit(MOST_NAMED).collect(Collectors.joining(", "))
                        + (legs.size() > MOST_NAMED ? " and " + (legs.size() - MOST_NAMED) + " more" : "") + "."));
        return new Shown(
                leg.id(),
                leg.parts().stream().flatMap(part -> part.requests().stream()).toList());
    }

    Journal.Contents read() {
        if (Files.isDirectory(journal)) {
            throw new CommandException(
                    "'" + journal + "' is a folder, and what its requests said is not in it; name the journal of a"
                            + " 'loadtest ab' or 'loadtest aa', or look at the leg by 'loadtest timeline'.");
        }
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
