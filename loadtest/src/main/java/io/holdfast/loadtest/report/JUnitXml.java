package io.holdfast.loadtest.report;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A result in the form in which build servers show tests: one test for the verdict. It passes where the verdict is an
 * answer, or the one that was expected; it is skipped where the data cannot tell, since nothing failed and nothing was
 * shown.
 */
public final class JUnitXml {
    private JUnitXml() {}

    /**
     * The whole document.
     *
     * @param expected absent: every answer is as good as any other
     */
    public static String of(Result result, Optional<Finding> expected) {
        Finding found = result.verdict().finding();
        boolean skipped = expected.isEmpty() && found == Finding.INCONCLUSIVE;
        boolean failed = expected.map(wanted -> wanted != found).orElse(found == Finding.INVALID);
        String what = HtmlRenderer.escaped(result.headline());
        String said = Stream.concat(
                        Stream.of(
                                result.verdict().reason(),
                                PlainVerdict.effect(result).orElse("no effect with an interval")),
                        result.warnings().stream())
                .map(HtmlRenderer::escaped)
                .collect(Collectors.joining("\n"));
        List<String> body = Stream.of(
                        failed
                                ? "<failure message=\"" + what
                                        + expected.map(wanted -> ", expected " + wanted)
                                                .orElse("") + "\">" + said
                                        + "</failure>"
                                : "",
                        skipped ? "<skipped message=\"" + what + "\"/>" : "",
                        "<system-out>" + what + "\n" + said + "</system-out>")
                .filter(part -> !part.isEmpty())
                .toList();
        return String.format(
                Locale.ROOT,
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites>
                <testsuite name="holdfast loadtest" tests="1" failures="%d" errors="0" skipped="%d" timestamp="%s">
                <testcase classname="holdfast.loadtest" name="%s">
                %s
                </testcase>
                </testsuite>
                </testsuites>
                """,
                failed ? 1 : 0,
                skipped ? 1 : 0,
                HtmlRenderer.escaped(result.header().startedAt()),
                HtmlRenderer.escaped(result.header().unit() + ": did holding help?"),
                String.join("\n", body));
    }
}
