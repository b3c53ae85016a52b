package io.holdfast.embed.cell;

/**
 * Sign that an engine is there: all that choosing engines needs, small enough to be read of a thousand.
 *
 * @param window number of the window of sums that it adds to
 */
record Presence(String engine, String address, long process, long count, long window) {
    static final String KIND = "engine";

    private static final char LETTER = 'E';
    private static final long MOST_WINDOW = 1L << 40;

    Presence {
        Form.checkEngine(engine);
        Form.checkAddress(address);
        Form.check(count >= 0, "A count is not below 0.");
        Form.check(window >= 0 && window <= MOST_WINDOW, "A window's number is out of bounds.");
    }

    byte[] bytes(String cell) {
        return Form.write(LETTER, cell)
                .putText(engine)
                .putText(address)
                .put64(process)
                .put64(count)
                .put64(window)
                .done();
    }

    static Parsed<Presence> parse(String cell, byte[] bytes) {
        return Form.read(
                LETTER,
                cell,
                bytes,
                form -> new Presence(form.getText(), form.getText(), form.get64(), form.get64(), form.get64()));
    }
}
