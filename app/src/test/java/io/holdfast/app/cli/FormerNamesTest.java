package io.holdfast.app.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.CommandRun;
import io.holdfast.app.Holdfast;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** One name for one thing, and the names of before still read. */
class FormerNamesTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "loadtest aa --url U --pairs 4|loadtest aa --engine U --pairs 4",
                "loadtest leg --recipe F --url=U|loadtest leg --recipe F --engine=U",
                "loadtest trace --url U|loadtest trace --engine U",
                "loadtest resume J --router R|loadtest resume J --engine R",
                "loadtest calibrate --tokens 4|loadtest calibrate --output-tokens 4",
                "loadtest preset pin-poc --max-tokens 8|loadtest preset pin-poc --output-tokens 8",
                "loadtest preset radix --url U --num-requests 6|loadtest preset radix --engine U --requests 6",
                "loadtest preset cache-matrix --passes 2|loadtest preset cache-matrix --repeat 2",
                "loadtest preset server-compare --pairs 4|loadtest preset server-compare --rounds 4",
                "loadtest preset baseline-story --output-len 3|loadtest preset baseline-story --output-tokens 3",
                "ledger show --state D|ledger show --state-directory D",
                "emulate --engine vllm|emulate --family vllm",
                // Names of now, and words that are no options here, stay.
                "observe --engine U|observe --engine U",
                "loadtest ab --engine E --url R|loadtest ab --engine E --url R",
                "nosuch --url U|nosuch --url U"
            })
    void earlierNames_areReadAsThoseOfNow(String before, String now) {
        assertThat(FormerNames.replaced(commandLine(), before.split(" ", -1))).containsExactly(now.split(" ", -1));
    }

    @Test
    void earlierNames_areInNoHelpAndNobodysNameOfNow() {
        for (CommandLine command : all(commandLine())) {
            String help = command.getUsageMessage();
            for (OptionSpec option : command.getCommandSpec().options()) {
                for (String former : FormerNames.of(option)) {
                    assertThat(command.getCommandSpec().findOption(former))
                            .as(command.getCommandName())
                            .isNull();
                    assertThat(help).as(command.getCommandName()).doesNotContainPattern(former + "[ =]");
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--url http://127.0.0.1:9|The engine at http://127.0.0.1:9 is not ready",
                "--router http://127.0.0.1:9|no engine behind it",
                "--router http://127.0.0.1:9 --url http://127.0.0.1:7|The engine at http://127.0.0.1:7 is not ready",
                "--engine http://127.0.0.1:9 --engine http://127.0.0.1:7|the router before those engines is not named",
                "--engine http://127.0.0.1:9 --url http://127.0.0.1:7|The engine at http://127.0.0.1:9 is not ready",
                "--engine http://127.0.0.1:9 --url http://127.0.0.1:7 --router http://127.0.0.1:8|leave --url out"
            })
    void serverOfAb_isAnEngineOrARouterBeforeEngines(String asked, String sentence) {
        List<String> command = new ArrayList<>(List.of("loadtest", "ab", "--hold", "none"));
        command.addAll(List.of(asked.split(" ", -1)));

        assertThat(CommandRun.by(command.toArray(String[]::new)).badInput()).contains(sentence);
    }

    private static CommandLine commandLine() {
        return Holdfast.commandLine(CommandLine.defaultFactory());
    }

    private static List<CommandLine> all(CommandLine command) {
        List<CommandLine> all = new ArrayList<>(List.of(command));
        command.getSubcommands().values().forEach(each -> all.addAll(all(each)));
        return all;
    }
}
