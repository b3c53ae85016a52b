package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Nothing ships under a licence that nobody accepted, and THIRD-PARTY.md names what ships. */
class LicencesTest {
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    private static final Path PAGE = ROOT.resolve("THIRD-PARTY.md");
    private static final ObjectMapper JSON = new ObjectMapper();

    private static Licences accepted() throws IOException {
        return Licences.read(ROOT.resolve("app/src/test/resources/io/holdfast/app/licences.md"));
    }

    private static JsonNode bill() throws IOException {
        Path file = ROOT.resolve("app/target/holdfast-app-tested.cdx.json");
        assertThat(file)
                .as("the bill of materials; './mvnw -pl app -am test-compile' makes it, but not with -o")
                .exists();
        return JSON.readTree(file.toFile());
    }

    @Test
    void everythingThatShips_hasAnAcceptedLicence_andIsOnThePage() throws IOException {
        String page = accepted().page(bill());
        if (System.getProperty("holdfast.licences", "").equals("write")) {
            Files.writeString(PAGE, page);
        }
        assertThat(page).contains("| io.netty:netty-common |").contains("| ch.qos.logback:logback-classic |");
        assertThat(PAGE)
                .as("written by -Dtest=LicencesTest -Dholdfast.licences=write")
                .content()
                .isEqualTo(page);
    }

    @Test
    void everyRow_isUsed() throws IOException {
        assertThat(accepted().unused(bill())).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "'licenses': []                                      | names no licence",
                "'nothing': 0                                        | names no licence",
                "'licenses': [{'license': {'id': 'GPL-3.0-only'}}]   | GPL-3.0-only, which is not accepted",
                "'licenses': [{'license': {'name': 'Our licence'}}]  | Our licence, which is not accepted",
                "'licenses': [{'expression': 'GPL-2.0-only OR MIT'}] | GPL-2.0-only OR MIT, which is not accepted",
                "'licenses': [{'license': {'id': 'MIT'}}, {'license': {'id': 'GPL-3.0-only'}}] "
                        + "| offers MIT and GPL-3.0-only, and no row chooses",
            })
    void dependencyThatNobodyAccepted_isRefusedInOneSentence(String licences, String why) throws IOException {
        JsonNode bill = JSON.readTree(
                ("{'components': [{'group': 'com.example', 'name': 'stranger', 'version': '1', " + licences + "}]}")
                        .replace('\'', '"'));
        assertThatThrownBy(() -> accepted().page(bill))
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith("com.example:stranger 1 ")
                .hasMessageContaining(why)
                .hasMessageEndingWith("licences.md.");
    }
}
