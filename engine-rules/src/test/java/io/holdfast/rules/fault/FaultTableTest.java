package io.holdfast.rules.fault;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page that people read and the catalogue say the same: as many faults, in the same order. */
class FaultTableTest {
    @Test
    void documentedFaults_areThoseOfTheCatalogue() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "emulator.md"));
        String faults = page.split("\n## Faults\n", 2)[1];
        Stream<String> rows = faults.split("\n## ", 2)[0].lines().filter(line -> line.startsWith("| `"));
        assertThat(rows)
                .containsExactlyElementsOf(FaultCatalogue.all().stream()
                        .map(kind -> "| `" + kind.form() + "` | " + kind.effect() + " |")
                        .toList());
    }
}
