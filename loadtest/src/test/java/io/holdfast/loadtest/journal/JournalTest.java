package io.holdfast.loadtest.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.testing.Legs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JournalTest {
    private final List<LegRecord> legs = Legs.run(10, 5);

    @TempDir
    private Path folder = Path.of("");

    private Path file = Path.of("");

    @BeforeEach
    void nameFile() {
        file = folder.resolve("run.jsonl");
    }

    @Test
    void whatIsWritten_isReadBackEqual() {
        write(legs);
        Journal.Contents contents = Journal.read(file);
        assertThat(contents.header()).isEqualTo(Legs.header());
        assertThat(contents.legs()).isEqualTo(legs);
        assertThat(contents.warnings()).isEmpty();
    }

    @Test
    void journalAlone_givesTheSameResultAsTheLegs() {
        write(legs);
        assertThat(Analysis.of(file)).isEqualTo(Analysis.of(new Journal.Contents(Legs.header(), legs, List.of())));
    }

    @Test
    void eachLeg_isOneLine() throws IOException {
        write(legs);
        assertThat(Files.readAllLines(file))
                .hasSize(1 + legs.size())
                .allMatch(line -> line.startsWith("{\"run\":{") || line.startsWith("{\"leg\":{"));
    }

    @Test
    void tornLastLine_isLeftOutWithAWarning() throws IOException {
        write(legs);
        String text = Files.readString(file);
        for (int cut : new int[] {1, 10, 500}) {
            Files.writeString(file, text.substring(0, text.length() - 1 - cut));
            Journal.Contents contents = Journal.read(file);
            assertThat(contents.legs()).isEqualTo(legs.subList(0, legs.size() - 1));
            assertThat(contents.warnings()).singleElement().asString().contains("torn");
        }
    }

    @Test
    void lastLineWithoutItsLineEnd_isWhole() throws IOException {
        write(legs);
        String text = Files.readString(file);
        Files.writeString(file, text.substring(0, text.length() - 1));
        assertThat(Journal.read(file).legs()).isEqualTo(legs);
    }

    @Test
    void lineTornWithinACharacter_isLeftOutWithAWarning() throws IOException {
        write(legs.subList(0, 2));
        byte[] whole = Files.readAllBytes(file);
        byte[] torn = "{\"leg\":{\"bodies\":\"\u00e9".getBytes(StandardCharsets.UTF_8);
        Files.write(file, whole);
        Files.write(file, Arrays.copyOf(torn, torn.length - 1), StandardOpenOption.APPEND);
        Journal.Contents contents = Journal.read(file);
        assertThat(contents.legs()).isEqualTo(legs.subList(0, 2));
        assertThat(contents.warnings()).singleElement().asString().contains("torn");
    }

    @Test
    void damagedLastLineWithItsLineEnd_isRefusedByItsNumber() throws IOException {
        write(legs.subList(0, 2));
        Files.writeString(file, "{\"leg\":{\"life\":\n", StandardOpenOption.APPEND);
        assertThatThrownBy(() -> Journal.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 4 of the journal");
    }

    @Test
    void damagedLineInTheMiddle_isRefusedByItsNumber() throws IOException {
        write(legs.subList(0, 3));
        List<String> lines = Files.readAllLines(file);
        Files.write(file, List.of(lines.get(0), lines.get(1), "{\"leg\":{\"life\":", lines.get(3)));
        assertThatThrownBy(() -> Journal.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 3 of the journal");
    }

    @Test
    void missingFieldOfALeg_isRefused() throws IOException {
        write(legs.subList(0, 2));
        List<String> lines = Files.readAllLines(file);
        Files.write(file, List.of(lines.get(0), lines.get(1).replaceFirst("\"holdNanos\":\\d+,", ""), lines.get(2)));
        assertThatThrownBy(() -> Journal.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("holdNanos");
    }

    @Test
    void existingFile_isNeverWrittenTo() throws IOException {
        Files.writeString(file, "mine");
        assertThatThrownBy(() -> Journal.create(file, Legs.header()))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The journal " + file + " exists already and is not overwritten; name another file.");
        assertThat(Files.readString(file)).isEqualTo("mine");
    }

    @Test
    void otherFormat_isRefused() throws IOException {
        write(List.of());
        Files.writeString(file, Files.readString(file).replace("\"format\":2", "\"format\":1"));
        assertThatThrownBy(() -> Journal.read(file)).hasMessageContaining("has format 1");
    }

    @Test
    void fileThatIsNoJournal_isRefusedInOneSentence() throws IOException {
        assertThatThrownBy(() -> Journal.read(file)).hasMessage("There is no journal at " + file + ".");
        Files.createFile(file);
        assertThatThrownBy(() -> Journal.read(file)).hasMessageContaining("empty");
        Files.writeString(file, "hello\n", StandardOpenOption.APPEND);
        assertThatThrownBy(() -> Journal.read(file)).hasMessageStartingWith("Line 1 of the journal");
    }

    @Test
    void missingFolder_isRefusedInOneSentence() {
        assertThatThrownBy(() -> Journal.create(folder.resolve("no/such/run.jsonl"), Legs.header()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("cannot be written");
    }

    private void write(List<LegRecord> written) {
        try (Journal journal = Journal.create(file, Legs.header())) {
            written.forEach(journal::append);
        }
    }
}
