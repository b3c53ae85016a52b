package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DeclaredHoldTest {
    @TempDir
    Path directory;

    @Test
    void source_linkToAFile_isItsText() throws IOException {
        Path text = Files.writeString(directory.resolve("text"), "You answer in one sentence.");
        Path link = Files.createSymbolicLink(directory.resolve("link"), text);
        assertThat(ofFile(link).source()).isEqualTo(new PrefixSource.Text("You answer in one sentence."));
    }

    @Test
    void source_notAFile_isRefusedUnread() {
        for (Path path : new Path[] {directory, Path.of("/dev/zero")}) {
            assertThatThrownBy(() -> ofFile(path).source())
                    .isInstanceOfSatisfying(
                            ApiError.class,
                            refused -> assertThat(refused.sentence())
                                    .isEqualTo("There is no plain file at " + path + "; write the text into one."));
        }
    }

    private static DeclaredHold ofFile(Path text) {
        return new DeclaredHold(
                "a",
                Optional.empty(),
                Optional.of(text),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                false,
                OptionalInt.empty());
    }
}
