package io.holdfast.app.workbench;

import io.holdfast.app.cli.FormerNames;
import io.holdfast.workbench.preset.Definition;
import io.holdfast.workbench.preset.Definition.Parameter;
import io.holdfast.workbench.preset.Values;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * A preset as a command, from its definition alone: each parameter is an option, and may be written as {@code
 * NAME=VALUE} as well.
 */
final class PresetCommand implements Callable<Integer> {
    private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);
    private final Definition definition;
    private final Body body;

    /** Runs the preset with its values. */
    interface Body {
        int run(CommandLine command, Values values);
    }

    private PresetCommand(Definition definition, Body body) {
        this.definition = definition;
        this.body = body;
    }

    /**
     * Makes the command.
     *
     * @param options objects with options that it has beside its parameters
     */
    static CommandLine of(Definition definition, Body body, Object... options) {
        CommandSpec spec = new PresetCommand(definition, body).spec;
        spec.name(definition.name());
        spec.usageMessage().sortOptions(false).description(escaped(definition.explains().stream()));
        if (!definition.examples().isEmpty()) {
            spec.usageMessage()
                    .footer(escaped(Stream.concat(Stream.of("", "Examples:"), definition.examples().stream())));
        }
        spec.addPositional(PositionalParamSpec.builder()
                .paramLabel("[NAME=VALUE...]")
                .hideParamSyntax(true)
                .index("0..*")
                .arity("0..*")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .description("An option of this preset alone in another form, as requests=50 for --requests 50.")
                .build());
        definition.parameters().forEach(parameter -> spec.addOption(option(parameter)));
        for (int i = 0; i < options.length; i++) {
            spec.addMixin("options" + i, CommandSpec.forAnnotatedObject(options[i]));
        }
        return new CommandLine(spec);
    }

    private static OptionSpec option(Parameter parameter) {
        OptionSpec.Builder option = OptionSpec.builder("--" + parameter.name())
                .description(escaped(Stream.of(parameter.help())))
                .userObject(new FormerNames.Names(
                        parameter.former().stream().map("--"::concat).toList()));
        if (parameter.isFlag()) {
            return option.type(boolean.class).arity("0").build();
        }
        option.paramLabel(parameter.label().replaceFirst(", as .*", "")).arity("1");
        return parameter.isRepeated()
                ? option.hideParamSyntax(true)
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .build()
                : option.type(String.class).build();
    }

    private static String[] escaped(Stream<String> texts) {
        return texts.map(text -> text.replace("%", "%%")).toArray(String[]::new);
    }

    @Override
    public Integer call() {
        Map<String, List<String>> given = Values.parse(
                definition, words(spec.positionalParameters().getFirst().getValue()));
        for (Parameter parameter : definition.parameters()) {
            List<String> words = words(spec.findOption("--" + parameter.name()).getValue());
            if (!words.isEmpty()) {
                given.computeIfAbsent(parameter.name(), name -> new ArrayList<>())
                        .addAll(words);
            }
        }
        return body.run(spec.commandLine(), Values.of(definition, given));
    }

    /** Returns what was written for an option; nothing for one that was left out. */
    private static List<String> words(@Nullable Object value) {
        return switch (value) {
            case null -> List.of();
            case List<?> list -> list.stream().map(String::valueOf).toList();
            case Boolean flag when !flag -> List.of();
            default -> List.of(value.toString());
        };
    }
}
