package io.holdfast.app;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ErrorText;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerNames;
import io.holdfast.app.demo.DemoCommand;
import io.holdfast.app.demo.EmulateCommand;
import io.holdfast.app.sidecar.DoctorCommand;
import io.holdfast.app.sidecar.FleetCommand;
import io.holdfast.app.sidecar.LedgerCommand;
import io.holdfast.app.sidecar.ObserveCommand;
import io.holdfast.app.sidecar.SidecarCommand;
import io.holdfast.app.sidecar.SummaryCommand;
import io.holdfast.app.sidecar.TopCommand;
import io.holdfast.app.workbench.LoadtestPresetCommand;
import io.holdfast.app.workbench.ReplayCommand;
import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.SidecarException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IFactory;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The front door: one command with subcommands. */
@Command(
        name = "holdfast",
        description = "Keeps the prefixes worth keeping in an inference server's KV cache, and proves that it helped.",
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        version = "holdfast 0.2.0",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Exit codes: 0 ok, 1 the check failed, 2 bad input or data, 3 inconclusive,",
            "70 internal error, 130 stopped by Ctrl-C.",
            "Start with: holdfast demo"
        })
public final class Holdfast implements Runnable {
    private static final List<Class<?>> COMMANDS = List.of(
            DemoCommand.class,
            DoctorCommand.class,
            ObserveCommand.class,
            SidecarCommand.class,
            TopCommand.class,
            SummaryCommand.class,
            FleetCommand.class,
            LedgerCommand.class,
            LoadtestCommand.class,
            ReplayCommand.class,
            EmulateCommand.class);

    @Spec
    private CommandSpec spec = CommandSpec.create();

    public Holdfast() {}

    public static void main(String[] args) {
        int code;
        try {
            code = run(args, System.out, System.err);
        } catch (OutOfMemoryError e) {
            System.err.println(
                    "holdfast: out of memory; ask for less, or set HOLDFAST_JAVA_OPTS=-Xmx2g and try again.");
            code = ExitCode.BAD_INPUT;
        }
        System.exit(code);
    }

    static int run(String[] args, PrintStream out, PrintStream err) {
        Optional<SidecarCommand> usual = SidecarCommand.usual(List.of(args), printed(out));
        return usual.isPresent()
                ? called(usual.get(), printed(err))
                : run(args, out, err, CommandLine.defaultFactory());
    }

    /** With subcommands from this factory. */
    public static int run(String[] args, PrintStream out, PrintStream err, IFactory factory) {
        CommandLine command = commandLine(factory, meant(args));
        PrintWriter complained = printed(err);
        command.setOut(printed(out));
        command.setErr(complained);
        command.setParameterExceptionHandler((fault, arguments) -> refuse(fault));
        command.setExecutionExceptionHandler((fault, line, parsed) -> explain(fault, complained));
        command.setExitCodeExceptionMapper(fault -> ExitCode.INTERNAL_ERROR);
        return called(() -> command.execute(FormerNames.replaced(command, args)), complained);
    }

    private static PrintWriter printed(PrintStream stream) {
        return new PrintWriter(stream, true, StandardCharsets.UTF_8);
    }

    private static int called(Callable<Integer> command, PrintWriter err) {
        try {
            return command.call();
        } catch (Exception e) {
            return explain(e, err);
        } catch (OutOfMemoryError e) {
            throw e;
        } catch (Error e) {
            return internalError(e, err);
        }
    }

    /** All commands, as they are parsed. */
    public static CommandLine commandLine(IFactory factory) {
        return commandLine(factory, COMMANDS);
    }

    /**
     * The command that the first word names, none for the version, and all in doubt: to read what all of them take costs most
     * of a start.
     */
    private static List<Class<?>> meant(String... args) {
        List<String> words = List.of(args);
        if (words.equals(List.of("--version"))) {
            return List.of();
        }
        return COMMANDS.stream()
                .filter(command ->
                        words.indexOf(command.getAnnotation(Command.class).name()) == 0)
                .findFirst()
                .<List<Class<?>>>map(List::of)
                .orElse(COMMANDS);
    }

    private static CommandLine commandLine(IFactory factory, List<Class<?>> commands) {
        CommandLine command = new CommandLine(new Holdfast(), factory);
        commands.forEach(command::addSubcommand);
        Optional.ofNullable(command.getSubcommands().get(LoadtestCommand.NAME)).ifPresent(loadtest -> {
            LoadtestCommand.GROUPS.on(loadtest);
            Optional.ofNullable(loadtest.getSubcommands().get("preset"))
                    .ifPresent(presets -> LoadtestPresetCommand.addAll(presets, factory));
        });
        command.setCaseInsensitiveEnumValuesAllowed(true);
        command.registerConverter(URI.class, Holdfast::address);
        return command;
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** Java says of an address without its scheme what it makes of the first character. */
    private static URI address(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            throw new TypeConversionException("'" + text + "' is no address, such as http://127.0.0.1:30000");
        }
    }

    /** One sentence for whatever was typed wrong. */
    private static int refuse(ParameterException fault) {
        CommandLine line = fault.getCommandLine();
        String name = line.getCommandSpec().qualifiedName(" ");
        String sentence = ErrorText.of(
                String.valueOf(fault.getMessage()).replace("option option", "option"),
                "; see '%s --help'.".formatted(name));
        if (fault instanceof UnmatchedArgumentException unmatched
                && !unmatched.getUnmatched().isEmpty()) {
            String word = unmatched.getUnmatched().getFirst();
            sentence = word.startsWith("-")
                    ? "unknown option '%s'; see '%s --help'.".formatted(word, name)
                    : "unknown %s '%s'; see '%s --help'."
                            .formatted(line.getSubcommands().isEmpty() ? "argument" : "subcommand", word, name);
        }
        line.getErr().println("holdfast: " + sentence);
        return ExitCode.BAD_INPUT;
    }

    /** One sentence for what went wrong while running; a stack trace only for whoever asks for it. */
    private static int explain(Exception fault, PrintWriter err) {
        boolean mendable = fault instanceof CommandException
                || fault instanceof ConfigException
                || fault instanceof SidecarException
                || fault instanceof EmulatorException
                || fault instanceof LoadTestException;
        if (mendable) {
            err.println("holdfast: " + ErrorText.of(fault.getMessage(), "."));
            return ExitCode.BAD_INPUT;
        }
        return internalError(fault, err);
    }

    private static int internalError(Throwable fault, PrintWriter err) {
        err.println("holdfast: internal error, please report it: " + fault + " (HOLDFAST_DEBUG=1 prints where)");
        if (System.getenv("HOLDFAST_DEBUG") != null) {
            fault.printStackTrace(err);
        }
        return ExitCode.INTERNAL_ERROR;
    }
}
