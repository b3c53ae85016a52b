package io.holdfast.workbench.table;

import static org.assertj.core.api.Assumptions.assumeThat;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.table.PublishedTable.Told;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Tables whose figures others printed, as files of our own, and the documents that they are from. */
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

    /** A published document exactly as it stands, from a folder beside the checkout or {@code -Dholdfast.documents=DIR}. */
    static Path document(String name) {
        Path folder = Path.of(System.getProperty("holdfast.documents", "../../shared/mission-documents"));
        Path file = folder.resolve(name);
        assumeThat(file)
                .as("needs published documents as they stand: give their folder with -Dholdfast.documents=DIR")
                .exists();
        return file;
    }

    static List<PublishedTable> tables(String name) {
        return tablesOf(file(name));
    }

    static List<PublishedTable> tablesOf(Path file) {
        return PublishedDocument.of(TableText.read(file), Map.of()).tables();
    }

    /** The only table of a text. */
    static PublishedTable table(String text) {
        TableText.Contents contents = TableText.of("table", text);
        contents.torn().stream().findFirst().ifPresent(sentence -> {
            throw new LoadTestException(sentence);
        });
        return PublishedTable.of(contents.tables().getFirst(), Told.nothing());
    }
}
