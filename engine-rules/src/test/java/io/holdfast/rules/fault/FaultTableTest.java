package io.holdfast.rules.fault;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The page that people read and the table that the parser reads say the same. */
class FaultTableTest {
    @Test
    void everyFaultStandsInTheDocumentation_asItIsWrittenAndWithWhatItDoes() throws IOException {
        List<String> page = Files.readAllLines(Path.of("..", "docs", "emulator.md"));
        assertThat(page)
                .containsAll(FaultCatalogue.all().stream()
                        .map(kind -> "| `" + kind.form() + "` | " + kind.effect() + " |")
                        .toList());
        assertThat(FaultCatalogue.text()).contains("Imitates: ");
    }
}
