package io.holdfast.embed.cell;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What one engine made of the holds of the fleet for which it was chosen.
 *
 * @param engine name of the engine
 * @param copies at most {@link CellMember#MOST_HOLDS}, each hold once
 */
public record HoldReport(String engine, List<HeldCopy> copies) {
    static final String KIND = "report";

    private static final char LETTER = 'R';
    private static final List<HeldCopy.State> STATES = List.of(HeldCopy.State.values());
    /** What reasons may take together, so that the copies always have room. */
    private static final int MOST_REASONS = 64;

    /** @throws IllegalArgumentException with one sentence, where it is beyond its bounds */
    public HoldReport {
        Form.checkEngine(engine);
        copies = List.copyOf(copies);
        Form.check(copies.size() <= CellMember.MOST_HOLDS, "A report has at most " + CellMember.MOST_HOLDS + " holds.");
        Set<String> ids = new HashSet<>();
        copies.forEach(copy -> Form.check(ids.add(copy.hold()), "A report has each hold once."));
    }

    /** Writes it down for a cell; reasons are written once each, and those for which no room is left are empty. */
    public byte[] bytes(String cell) {
        Form form = Form.write(LETTER, cell).putText(engine);
        int room = form.room() - 4 - copies.size() * (8 + 1 + 4 + 1);
        Map<String, Integer> reasons = new LinkedHashMap<>();
        reasons.put("", 0);
        room -= 2;
        for (HeldCopy copy : copies) {
            int needed = 2 + copy.reason().getBytes(StandardCharsets.UTF_8).length;
            if (!reasons.containsKey(copy.reason()) && needed <= room && reasons.size() < MOST_REASONS) {
                reasons.put(copy.reason(), reasons.size());
                room -= needed;
            }
        }
        form.put16(reasons.size());
        reasons.keySet().forEach(form::putText);
        form.put16(copies.size());
        for (HeldCopy copy : copies) {
            form.put64(Long.parseUnsignedLong(copy.hold(), 16))
                    .put8(STATES.indexOf(copy.state()))
                    .put32(copy.tokens())
                    .put8(reasons.getOrDefault(copy.reason(), 0));
        }
        return form.done();
    }

    /** Reads one of a cell; whatever the bytes are, it is one within its bounds or refused. */
    public static Parsed<HoldReport> parse(String cell, byte[] bytes) {
        return Form.read(LETTER, cell, bytes, form -> {
            String engine = form.getText();
            int reasons = form.get16();
            Form.check(reasons <= MOST_REASONS, "A report has too many reasons.");
            List<String> texts = new ArrayList<>(reasons);
            for (int i = 0; i < reasons; i++) {
                texts.add(form.getText());
            }
            int copies = form.get16();
            Form.check(copies <= CellMember.MOST_HOLDS, "A report has too many holds.");
            List<HeldCopy> list = new ArrayList<>(copies);
            for (int i = 0; i < copies; i++) {
                String hold = HexFormat.of().toHexDigits(form.get64());
                int state = form.get8();
                int tokens = form.get32();
                int reason = form.get8();
                Form.check(state < STATES.size() && reason < reasons, "A hold has a state and a reason.");
                list.add(new HeldCopy(hold, STATES.get(state), tokens, texts.get(reason)));
            }
            return new HoldReport(engine, list);
        });
    }
}
