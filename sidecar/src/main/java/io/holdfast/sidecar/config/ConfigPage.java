package io.holdfast.sidecar.config;

import java.util.stream.Collectors;

/** The tables of docs/configuration.md. */
final class ConfigPage {
    private ConfigPage() {}

    static String tables() {
        return ConfigKeys.sections()
                .map(section -> "### " + title(section.getKey()) + "\n\n"
                        + "| key | unit | from and to | default | reload | what it is for | why that default |\n"
                        + "|---|---|---|---|---|---|---|\n"
                        + section.getValue().stream().map(ConfigPage::row).collect(Collectors.joining()))
                .collect(Collectors.joining("\n"));
    }

    private static String title(String path) {
        return path.isEmpty() ? "The whole" : "`" + path + "`";
    }

    private static String row(ConfigKey key) {
        return "| `" + key.name() + "` | " + key.unit() + " | " + key.range() + " | "
                + (key.standard().isEmpty() ? "" : "`" + key.standard() + "`") + " | "
                + (key.inner().isEmpty() ? key.change().shown() : "see below") + " | " + key.meaning() + " | "
                + key.why()
                + " |\n";
    }
}
