package io.holdfast.app.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import org.junit.jupiter.api.Test;

class ErrorTextTest {
    @Test
    void namesOfClasses_areLeftOut_andOneMarkEndsTheSentence() {
        assertThat(ErrorText.of("It failed (" + new NoSuchFileException("/a/b") + ")", "."))
                .isEqualTo("It failed (/a/b).");
        assertThat(ErrorText.of("It failed.", "; see --help.")).isEqualTo("It failed.");
        assertThat(ErrorText.of("did you mean port?", ".")).isEqualTo("did you mean port?");
    }

    @Test
    void fileThatMayNotBeUsed_isSaidToBeDenied() {
        assertThat(ErrorText.of(
                        "The lock /s/a.lock cannot be opened (" + new AccessDeniedException("/s/a.lock")
                                + "); mend its permissions.",
                        "."))
                .isEqualTo("The lock /s/a.lock cannot be opened (permission is denied); mend its permissions.");
    }
}
