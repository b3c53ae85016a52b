package io.holdfast.app.cli;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** A command line as it is written now, whatever names its options had when it was written. */
public final class FormerNames {
    /** Former names of an option that is no field, kept with it as its user object. */
    public record Names(List<String> names) {}

    private FormerNames() {}

    /** Returns the words with the names of now; all others stay as they are. */
    public static String[] replaced(CommandLine root, String... words) {
        String[] now = words.clone();
        CommandLine command = root;
        Map<String, String> former = of(command);
        for (int at = 0; at < now.length && !now[at].equals("--"); at++) {
            Optional<CommandLine> subcommand =
                    Optional.ofNullable(command.getSubcommands().get(now[at]));
            if (subcommand.isPresent()) {
                command = subcommand.get();
                former = of(command);
                continue;
            }
            int sign = now[at].indexOf('=');
            String name = sign < 0 ? now[at] : now[at].substring(0, sign);
            now[at] = former.getOrDefault(name, name) + (sign < 0 ? "" : now[at].substring(sign));
        }
        return now;
    }

    private static Map<String, String> of(CommandLine command) {
        Map<String, String> former = new HashMap<>();
        for (OptionSpec option : command.getCommandSpec().options()) {
            of(option).forEach(name -> former.put(name, option.longestName()));
        }
        return former;
    }

    /** Names that an option had before. */
    static List<String> of(OptionSpec option) {
        return switch (option.userObject()) {
            case Names names -> names.names();
            case Field field ->
                Optional.ofNullable(field.getAnnotation(FormerName.class))
                        .map(former -> List.of(former.value()))
                        .orElse(List.of());
            case null, default -> List.of();
        };
    }
}
