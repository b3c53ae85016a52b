package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** What the front door told: an exit code and two streams. */
public record CommandRun(int code, String out, String err) {
    /** Runs a command in this process; where it is a load test, no slot is waited out and no client warmed up. */
    public static CommandRun by(String... args) {
        return by(new QuickPlace(CommandLine.defaultFactory()), args);
    }

    /** Runs a command in this process with all that it does, the waiting as well. */
    static CommandRun inFull(String... args) {
        return by(CommandLine.defaultFactory(), args);
    }

    static CommandRun by(IFactory factory, String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int code = Holdfast.run(
                args,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                factory);
        return new CommandRun(code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** The one sentence about bad input; fails when anything else was told. */
    public String badInput() {
        assertThat(code).as("exit code of %s", this).isEqualTo(ExitCode.BAD_INPUT);
        assertThat(out).as("standard output").isEmpty();
        assertThat(err.lines()).as("lines on the error stream").hasSize(1);
        assertThat(err.strip())
                .startsWith("holdfast: ")
                .matches(".*[.?]")
                .doesNotEndWith("..")
                .doesNotEndWith("?.")
                .doesNotContain("Exception")
                .doesNotContain("\tat ")
                .doesNotContain("internal error");
        return err.strip();
    }
}
