package io.holdfast.loadtest.table;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** Tables whose figures others printed, as files of our own. */
final class Seeds {
    private Seeds() {}

    static Path file(String name) {
        try {
            return Path.of(
                    Objects.requireNonNull(Seeds.class.getResource(name), name).toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    static List<PublishedTable> tables(String name) {
        return tablesOf(file(name));
    }

    static List<PublishedTable> tablesOf(Path file) {
        TableText.Contents contents = TableText.read(file);
        return contents.tables().stream()
                .map(text -> PublishedTable.of(text, contents.file()))
                .toList();
    }

    /** The only table of a text. */
    static PublishedTable table(String text) {
        return PublishedTable.of(TableText.of("table", text).tables().getFirst(), "table");
    }
}
