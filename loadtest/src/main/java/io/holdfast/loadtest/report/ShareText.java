package io.holdfast.loadtest.report;

import io.holdfast.loadtest.journal.RunHeader;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Texts that go with raw data handed to somebody else: how to check and repeat it, and a text for an issue with the
 * five things that its reader asks for first.
 *
 * @param header of the run, or of the first of several
 * @param finding what was found, in a few words
 * @param hardware of the server, in the words of the person who ran it
 * @param files what is handed over, the raw data first
 */
public record ShareText(RunHeader header, String finding, Optional<String> hardware, List<RawFile> files) {
    /** Names in a record that tell a machine. */
    private static final List<String> MACHINE = List.of("gpu", "driver", "gpuLinks", "processor", "cores", "memory");

    public ShareText {
        files = List.copyOf(files);
    }

    /** A file with raw data. */
    public record RawFile(String name, long bytes, String sha256) {}

    /** A short text with five points, to be pasted into an issue or a pull request. */
    public String issue() {
        return "# " + finding + "\n\n"
                + "1. **Hardware.** "
                + hardware.or(this::recorded)
                        .map(MarkdownRenderer::escaped)
                        .orElse("Not recorded: write GPU model, its memory, and the CPU here.")
                + "\n"
                + "2. **Software.** " + MarkdownRenderer.escaped(software()) + "\n"
                + "3. **Configuration.** " + MarkdownRenderer.escaped(configuration()) + "\n"
                + "4. **Raw data.** "
                + files.stream()
                        .map(file -> String.format(
                                Locale.ROOT,
                                "`%s` (%,d bytes, SHA-256 `%s`)",
                                file.name(),
                                file.bytes(),
                                file.sha256()))
                        .collect(Collectors.joining(", "))
                + ": every request of every leg, with its stamps.\n"
                + "5. **How to run it again.** The commands are in `REPRODUCE.md`; seed " + header.seed()
                + ", workload `" + header.workload().id() + "`.\n";
    }

    /** Returns what the run recorded about its machine, as far as it knew. */
    private Optional<String> recorded() {
        Map<String, String> environment = header.environment();
        String known = MACHINE.stream()
                .filter(name -> isKnown(environment.getOrDefault(name, "")))
                .map(name -> name + " " + environment.getOrDefault(name, ""))
                .collect(Collectors.joining(", "));
        return known.isEmpty()
                ? Optional.empty()
                : Optional.of("Of the machine that asked: " + known + "."
                        + (isKnown(environment.getOrDefault("gpu", ""))
                                ? ""
                                : " No GPU was seen there; write that of the server here."));
    }

    private static boolean isKnown(String value) {
        return !value.isBlank() && !value.equals("unknown") && !value.equals("none");
    }

    private String software() {
        return "Engine " + header.engine().text() + "; asked by holdfast loadtest, "
                + new TreeMap<>(header.client())
                        .entrySet().stream()
                                .map(entry -> entry.getKey() + " " + entry.getValue())
                                .collect(Collectors.joining(", "))
                + ".";
    }

    private String configuration() {
        return "Workload " + header.workload().name() + ", arrivals "
                + header.workload().arrivals() + ", concurrency "
                + header.concurrency() + "; " + header.plan().lives().size() + " pairs in "
                + header.plan().rounds().size() + " rounds; pinned legs: " + header.holder() + "; server: "
                + header.unit() + ".";
    }

    /** Returns the commands that check the finding, and that find it again. */
    public String reproduce(String bundle) {
        String name = RunCommand.quoted(bundle);
        StringBuilder out = new StringBuilder("# To check this, and to run it again\n\n");
        out.append("Found: ").append(MarkdownRenderer.escaped(finding)).append("\n\n");
        out.append("## The same answer from the same data\n\n    holdfast loadtest analyze ")
                .append(name)
                .append(" --json > again.json\n    cmp again.json <(unzip -p ")
                .append(name)
                .append(" result.json)\n\nThe two are the same, byte for byte. The raw data:\n\n");
        files.forEach(file -> out.append("    ")
                .append(file.sha256())
                .append("  ")
                .append(file.name())
                .append('\n'));
        out.append("\n## The same experiment\n\n");
        RunCommand.of(header)
                .ifPresentOrElse(
                        command -> out.append("    ")
                                .append(command.replace("\n", "\n    "))
                                .append("\n\nThe requests and the order of the pairs are the same; the server has to be"
                                        + " one like it. `")
                                .append(
                                        header.client().containsKey(RunHeader.HEADERS)
                                                ? "--header` with a value for each of "
                                                        + header.client().get(RunHeader.HEADERS)
                                                        + ", and `"
                                                : "")
                                .append("--api-key-env`, where it needs a key, are not in these files.\n"),
                        () -> out.append("It was begun by a program, and the files do not say how.\n"));
        return out.toString();
    }
}
