package io.holdfast.embed.cell;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * What one engine says is hot, for the others of its cell.
 *
 * @param engine name of the engine, of letters, digits, dots, colons and dashes
 * @param address where its sidecar is reached; empty where nobody may ask it
 * @param process number of the life of the process that says so
 * @param count how many of that process came before it: a value that somebody puts again shows as an old one
 * @param hot what it says
 */
public record Digest(String engine, String address, long process, long count, Hot hot) {
    static final int LONGEST_ADDRESS = 256;
    static final String KIND = "digest";

    private static final char LETTER = 'D';
    private static final long ABSENT = -1;

    /** @throws IllegalArgumentException with one sentence, where it is beyond its bounds */
    public Digest {
        Form.checkEngine(engine);
        Form.checkAddress(address);
        Form.check(count >= 0, "A count is not below 0.");
    }

    /** Writes it down for a cell. */
    public byte[] bytes(String cell) {
        Form form = Form.write(LETTER, cell)
                .putText(engine)
                .putText(address)
                .put64(process)
                .put64(count)
                .putFloat((float) hot.residenceSeconds().orElse(ABSENT))
                .put64(hot.capacityTokens().orElse(ABSENT))
                .put16(hot.ends().size());
        for (HotEnd end : hot.ends()) {
            form.put64(end.name())
                    .put32(end.tokens())
                    .putFloat(end.touchesAnHour())
                    .put8((end.resident() ? 1 : 0) | (end.held() ? 2 : 0));
        }
        return form.done();
    }

    /** Reads one of a cell; whatever the bytes are, it is one within its bounds or refused. */
    public static Parsed<Digest> parse(String cell, byte[] bytes) {
        return Form.read(LETTER, cell, bytes, form -> {
            String engine = form.getText();
            String address = form.getText();
            long process = form.get64();
            long count = form.get64();
            float residence = form.getFloat();
            long capacity = form.get64();
            int ends = form.get16();
            Form.check(ends <= Hot.MOST_ENDS, "A digest has too many prefixes.");
            List<HotEnd> list = new ArrayList<>(ends);
            for (int i = 0; i < ends; i++) {
                long name = form.get64();
                int tokens = form.get32();
                float touches = form.getFloat();
                int flags = form.get8();
                Form.check(flags <= 3, "A prefix is resident, held, both or neither.");
                list.add(new HotEnd(name, tokens, touches, (flags & 1) != 0, (flags & 2) != 0));
            }
            return new Digest(
                    engine,
                    address,
                    process,
                    count,
                    new Hot(
                            residence == ABSENT ? OptionalDouble.empty() : OptionalDouble.of(residence),
                            capacity == ABSENT ? OptionalLong.empty() : OptionalLong.of(capacity),
                            list));
        });
    }
}
