package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamReadException;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.journal.JournalJson.Line;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/*
 * What is believed of a journal
 * =============================
 *
 * The first line says which legs will follow, in which order. So each line after it can be only one of few: the next
 * leg, the voiding of the pair under way or just finished, or the note that the run was resumed. A pair that its
 * surroundings voided comes again at the end of its round, and never more of them than the first line allows. Any other
 * line means that the file is not what one run wrote, and a leg that stands twice would make every interval too narrow.
 * It is refused by the number of its line, with what is sound before it.
 *
 * Whose line it is. Each line names the run by a hash over the first line, so lines of two runs cannot be mixed even
 * where both had the same plan, and a first line that was changed afterwards has no legs any more.
 *
 * Torn. A line is written with its line feed last. A tail without one was cut off by a kill: it is left out, and the
 * pair that it belongs to is not finished.
 */

/** Reads a journal line by line, and refuses the first line that cannot stand where it stands. */
final class JournalReader {
    private static final int ID_BYTES = 8;

    private final Path file;
    private final List<String> lines;
    private final boolean endsWithALineFeed;
    private final RunHeader header;
    private final String run;
    private final LifeOrder order;
    private final List<LegRecord> standing = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>();
    private final List<Integer> repeatsBefore = new ArrayList<>();
    private final List<VoidedPair> voided = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private List<PlannedLeg> planned;
    private int resumes;
    private int repeats;
    private boolean lastIsVoiding;
    private boolean torn;

    private JournalReader(Path file, List<String> lines, boolean endsWithALineFeed) {
        this.file = file;
        this.lines = lines;
        this.endsWithALineFeed = endsWithALineFeed;
        this.header = readHeader();
        this.run = id(lines.getFirst());
        this.order = new LifeOrder(header);
        this.planned = order.legs();
    }

    /** The name of a run in all its lines. */
    static String id(String head) {
        byte[] hash = Sha256.start().digest(head.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(hash, 0, ID_BYTES);
    }

    /** Reads the bytes of a journal. */
    static Read read(Path file, byte[] bytes) {
        int end = bytes.length;
        while (end > 0 && bytes[end - 1] != '\n') {
            end--;
        }
        List<String> lines = new ArrayList<>();
        try {
            lines.addAll(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes, 0, end))
                    .toString()
                    .lines()
                    .toList());
        } catch (CharacterCodingException e) {
            throw new LoadTestException("The journal " + file + " cannot be read: it is no text in UTF-8.", e);
        }
        boolean whole = end == bytes.length;
        if (!whole) {
            lines.add(new String(bytes, end, bytes.length - end, StandardCharsets.UTF_8));
        }
        if (lines.isEmpty()) {
            throw new LoadTestException(
                    "The journal " + file + " is empty, so there is nothing in it; delete it and begin the run again.");
        }
        JournalReader reader = new JournalReader(file, lines, whole);
        Journal.Contents contents = reader.contents();
        return new Read(
                contents, reader.repeatsBefore, reader.run, reader.torn ? end : bytes.length, whole || reader.torn);
    }

    private RunHeader readHeader() {
        try {
            Line line = JournalJson.read(lines.getFirst());
            if (!line.kind().equals(JournalJson.RUN)) {
                throw refused(1, "is not the head of a run: the beginning was cut off");
            }
            int format = line.content().path("format").asInt();
            if (format < RunHeader.OLDEST_FORMAT || format > RunHeader.FORMAT) {
                throw new LoadTestException("The journal " + file + " has format " + format
                        + "; this version reads formats " + RunHeader.OLDEST_FORMAT + " to " + RunHeader.FORMAT + ".");
            }
            return line.header(format);
        } catch (IOException e) {
            throw damaged(1, e);
        }
    }

    private Journal.Contents contents() {
        for (int number = 2; number <= lines.size(); number++) {
            try {
                take(number, JournalJson.read(lines.get(number - 1)));
            } catch (IOException e) {
                if (endsWithALineFeed || number < lines.size()) {
                    throw damaged(number, e);
                }
                torn = true;
                warnings.add("Line " + number + " of the journal, its last, is torn and was left out, since the run was"
                        + " killed while it wrote it: " + sound(number)
                        + ", and 'loadtest resume' goes on after them.");
            }
        }
        List<LegRecord> rehearsal =
                standing.stream().filter(leg -> leg.life() == 0).toList();
        return new Journal.Contents(
                header.afterRehearsal(rehearsal), standing, order.lives(), voided, resumes, !lastIsVoiding, warnings);
    }

    private void take(int number, Line line) throws IOException {
        if (line.kind().equals(JournalJson.RUN)) {
            throw refused(
                    number,
                    lines.get(number - 1).equals(lines.getFirst())
                            ? "is the first line again: the file was doubled, and its legs would count twice"
                            : "begins another run: two journals were put together");
        }
        if (!line.of().equals(run)) {
            throw refused(number, "belongs to another run than the first line: two journals were mixed");
        }
        lastIsVoiding = line.kind().equals(JournalJson.VOIDED);
        switch (line.kind()) {
            case JournalJson.LEG -> leg(number, line.leg(header.format()));
            case JournalJson.VOIDED -> voiding(number, line.voiding(header.format()));
            default -> resumes++;
        }
    }

    private void leg(int number, LegRecord leg) {
        if (standing.size() < planned.size() && planned.get(standing.size()).isThatOf(leg)) {
            standing.add(leg);
            numbers.add(number);
            repeatsBefore.add(resumes + repeats);
            return;
        }
        PlannedLeg its = planned.stream()
                .filter(each -> each.isAt(leg))
                .findFirst()
                .orElseThrow(() -> refused(number, "is " + leg.label() + ", which is not in the plan"));
        int before = planned.indexOf(its);
        if (before < standing.size()) {
            throw refused(
                    number,
                    "is " + its.label() + " again, which stands in line " + numbers.get(before)
                            + " already and would count twice");
        }
        PlannedLeg next = planned.get(standing.size());
        if (its.equals(next)) {
            throw refused(
                    number, "is " + leg.label() + " with the arm " + leg.arm() + ", where the plan has " + its.label());
        }
        throw refused(
                number,
                "is " + leg.label() + ", but " + next.label()
                        + later(number, next)
                                .map(at -> ", which comes only in line " + at + ", was planned before it: lines were"
                                        + " moved")
                                .orElse(" is missing before it: lines were cut out"));
    }

    /** The line further down in which that leg stands. */
    private Optional<Integer> later(int number, PlannedLeg leg) {
        return IntStream.rangeClosed(number + 1, lines.size())
                .filter(at -> {
                    try {
                        Line line = JournalJson.read(lines.get(at - 1));
                        return line.kind().equals(JournalJson.LEG) && leg.isAt(line.leg(header.format()));
                    } catch (IOException e) {
                        return false;
                    }
                })
                .boxed()
                .findFirst();
    }

    private void voiding(int number, Journal.Voiding voiding) {
        boolean underWay = voiding.bySurroundings()
                ? !standing.isEmpty() && standing.getLast().life() == voiding.life()
                : standing.size() < planned.size()
                        && planned.get(standing.size()).life() == voiding.life();
        if (!underWay) {
            throw refused(number, "voids the pair of life " + voiding.life() + ", which was not under way");
        }
        if (voiding.bySurroundings() && repeats++ == header.repeatPairs()) {
            throw refused(
                    number, "has a pair run again, which was declared for at most " + header.repeatPairs() + " pairs");
        }
        int legs = 0;
        while (!standing.isEmpty() && standing.getLast().life() == voiding.life()) {
            standing.removeLast();
            numbers.removeLast();
            repeatsBefore.removeLast();
            legs++;
        }
        voided.add(new VoidedPair(voiding.life(), voiding.reason(), legs, voiding.bySurroundings()));
        if (voiding.bySurroundings()) {
            order.putLastInRound(voiding.life());
            planned = order.legs();
        }
    }

    private LoadTestException damaged(int number, IOException cause) {
        String why = switch (cause) {
            case StreamReadException unfinished -> "it is no whole line of JSON";
            case JsonProcessingException misfit -> String.valueOf(misfit.getOriginalMessage());
            default -> String.valueOf(cause.getMessage());
        };
        return new LoadTestException(
                "Line " + number + " of the journal " + file + " cannot be read ("
                        + why.lines().findFirst().orElse("") + "); " + saved(number) + ".",
                cause);
    }

    private LoadTestException refused(int number, String why) {
        return new LoadTestException(
                "Line " + number + " of the journal " + file + " " + why + "; " + saved(number) + ".");
    }

    private String saved(int number) {
        return number == 1
                ? "without it nothing of the file can be saved"
                : sound(number) + ", and 'head -n " + (number - 1) + " " + file + " > OTHER' saves "
                        + (number == 2 ? "it" : "them");
    }

    /** Describes what the lines before a line hold. */
    private String sound(int number) {
        long pairs = Journal.wholePairs(header, standing);
        return (number == 2
                        ? "the line before it is sound and holds"
                        : "the " + (number - 1) + " lines before it are sound and hold")
                + " " + pairs + " of " + header.plan().lives().size() + " pairs";
    }

    /**
     * A journal and where it ends.
     *
     * @param repeatsBefore of each leg that stands, how often pairs had to be run again before it
     * @param run the id that its lines name
     * @param length bytes up to the end of the last line that is not torn
     * @param closed whether that line has its line feed
     */
    record Read(Journal.Contents contents, List<Integer> repeatsBefore, String run, long length, boolean closed) {
        /** Returns the repeats before the leg at that place; 0 where there is no such leg. */
        int repeatsBefore(LegRecord leg) {
            PlannedLeg place = new PlannedLeg(leg.life(), leg.order(), leg.position());
            return IntStream.range(0, repeatsBefore.size())
                    .filter(i -> place.isAt(contents.legs().get(i)))
                    .map(repeatsBefore::get)
                    .findFirst()
                    .orElse(0);
        }
    }
}
