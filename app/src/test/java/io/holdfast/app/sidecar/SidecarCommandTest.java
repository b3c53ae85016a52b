package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.app.cli.CommandException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** What is read without the parser is what the parser reads. */
class SidecarCommandTest {
    private static final List<List<String>> USUAL = List.of(
            List.of("sidecar"),
            List.of("sidecar", "--engine", "http://127.0.0.1:30000"),
            List.of("sidecar", "--engine=http://127.0.0.1:30000/?a=b", "--set", "listen.port=0", "--set=a=b"),
            List.of("sidecar", "--config", "a file.yaml", "--port", "8471", "--state-directory=/tmp/state"));

    private static final List<List<String>> DOUBTFUL = List.of(
            List.of(),
            List.of("doctor", "--engine", "http://127.0.0.1:30000"),
            List.of("--engine", "http://127.0.0.1:30000", "sidecar"),
            List.of("sidecar", "--help"),
            List.of("sidecar", "--engine"),
            List.of("sidecar", "--engine", "--port"),
            List.of("sidecar", "--engine="),
            List.of("sidecar", "--engine", "a", "--engine", "b"),
            List.of("sidecar", "--engine", "@file"),
            List.of("sidecar", "--engine", "'a'"),
            List.of("sidecar", "--config", "no\0path"),
            List.of("sidecar", "--check-config", "--engine", "a"),
            List.of("sidecar", "--engine", "a", "--standby"),
            List.of("sidecar", "--engine", "a", "--unknown", "b"),
            List.of("sidecar", "a"));

    private final PrintWriter out = new PrintWriter(new StringWriter());

    static Stream<List<String>> usual() {
        return USUAL.stream();
    }

    static Stream<List<String>> doubtful() {
        return DOUBTFUL.stream();
    }

    @ParameterizedTest
    @MethodSource("usual")
    void usualWordsAreReadAsTheParserReadsThem(List<String> words) throws IllegalAccessException {
        SidecarCommand parsed = new SidecarCommand();
        new CommandLine(parsed).parseArgs(words.subList(1, words.size()).toArray(String[]::new));

        Optional<SidecarCommand> read = SidecarCommand.usual(words, out);

        assertThat(options(read.orElseThrow())).isEqualTo(options(parsed));
    }

    @ParameterizedTest
    @MethodSource("doubtful")
    void anyOtherWordIsLeftToTheParser(List<String> words) {
        assertThat(SidecarCommand.usual(words, out)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"--config", "--set", "--engine", "--port", "--state-directory"})
    void eachUsualWordIsAnOption(String name) {
        assertThat(SidecarCommand.usual(List.of("sidecar", name, "a=b"), out)).isPresent();
        assertThat(new CommandLine(new SidecarCommand()).getCommandSpec().findOption(name))
                .isNotNull();
    }

    @Test
    void pathThatTheSystemCannotWrite_isRefusedInASentence() {
        assertThatThrownBy(() -> SidecarCommand.path("no\0path"))
                .isInstanceOf(CommandException.class)
                .hasMessageStartingWith("HOLDFAST_CONFIG is no path of this system");
    }

    private static Map<String, Object> options(SidecarCommand command) throws IllegalAccessException {
        Map<String, Object> values = new TreeMap<>();
        for (Field field : SidecarCommand.class.getDeclaredFields()) {
            if (field.isAnnotationPresent(Option.class)) {
                field.setAccessible(true);
                values.put(field.getName(), String.valueOf(field.get(command)));
            }
        }
        return values;
    }
}
