package io.holdfast.app.cli;

import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Column;
import picocli.CommandLine.Help.Column.Overflow;
import picocli.CommandLine.Help.TextTable;
import picocli.CommandLine.IHelpSectionRenderer;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The commands in a help text by what whoever reads it wants to do; a command that is in no group is not in the help. */
public record CommandGroups(List<Group> groups) implements IHelpSectionRenderer {
    private static final int INDENT = 2;

    /** Commands under a head. */
    public record Group(String head, List<String> commands) {}

    /** In place of the one list of all commands. */
    public void on(CommandLine command) {
        Map<String, IHelpSectionRenderer> sections = command.getHelpSectionMap();
        sections.put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING, help -> "");
        sections.put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST, this);
    }

    @Override
    public String render(Help help) {
        Map<String, CommandLine> all = help.commandSpec().subcommands();
        int first = INDENT
                + all.values().stream()
                        .mapToInt(each -> names(each).length())
                        .max()
                        .orElse(0);
        int second = help.commandSpec().usageMessage().width() - first;
        StringBuilder text = new StringBuilder();
        for (Group group : groups) {
            TextTable table = TextTable.forColumns(
                    help.colorScheme(),
                    new Column(first, INDENT, Overflow.SPAN),
                    new Column(second, INDENT, Overflow.WRAP));
            group.commands().stream()
                    .flatMap(name -> all.entrySet().stream()
                            .filter(each -> each.getKey().equals(name))
                            .map(Map.Entry::getValue))
                    .forEach(each -> table.addRowValues(names(each), says(each)));
            text.append(group.head()).append(System.lineSeparator());
            table.toString(text);
        }
        return text.toString();
    }

    private static String names(CommandLine command) {
        return String.join(", ", command.getCommandSpec().names());
    }

    private static String says(CommandLine command) {
        return command.getCommandSpec().usageMessage().description()[0].formatted();
    }
}
