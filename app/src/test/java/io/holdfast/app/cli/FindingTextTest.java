package io.holdfast.app.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.look.Finding;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** How findings are printed for a person. */
final class FindingTextTest {
    private static final String JSON =
            "{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:39031\",\"replay_endpoint\":\"tcp://*:39044\"}";

    @Test
    void longMend_fitsTheTerminal_andIsStillTheSameFlag() throws JsonProcessingException {
        StringWriter printed = new StringWriter();

        FindingText.print(
                List.of(new Finding(
                        Finding.Status.MISSING,
                        "events",
                        "The engine publishes no events.",
                        Optional.of("--kv-events-config '" + JSON + "', and let the port be reached from here"))),
                TerminalText.plain(new PrintWriter(printed)));

        assertThat(printed.toString().lines()).hasSizeGreaterThan(2).allMatch(line -> line.length() <= 80);
        String flag = printed.toString();
        // Line ends within the quotes are spaces of JSON to a shell that passes them on.
        assertThat(new ObjectMapper().readTree(flag.substring(flag.indexOf('\'') + 1, flag.lastIndexOf('\''))))
                .isEqualTo(new ObjectMapper().readTree(JSON));
    }
}
