package io.holdfast.workbench.compare;

import io.holdfast.loadtest.StrictYaml;
import java.nio.file.Path;
import java.util.List;

/** Expectations in YAML: a list {@code expectations}, each with a {@code name} and what is to {@code expect}. */
public final class ExpectationFile {
    private ExpectationFile() {}

    public static List<Expectation> read(Path file) {
        String text = StrictYaml.textOf(file, "name one with a list 'expectations'");
        return StrictYaml.document(file.toString(), text)
                .only("expectations")
                .at("expectations")
                .filled("is a list of entries with 'name' and 'expect' each")
                .stream()
                .map(each -> each.only("name", "expect", "why"))
                .map(each ->
                        Expectation.of(each.at("name").text(), each.at("expect").text()))
                .toList();
    }
}
