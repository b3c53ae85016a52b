package io.holdfast.app.workbench;

import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.report.Document;
import io.holdfast.workbench.table.Claim;
import io.holdfast.workbench.table.Criterion;
import io.holdfast.workbench.table.Remark;
import io.holdfast.workbench.table.RerunPlan;
import io.holdfast.workbench.table.Review;
import io.holdfast.workbench.table.Review.ChangeRow;
import io.holdfast.workbench.table.Review.Judged;
import io.holdfast.workbench.table.Review.Section;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A review for people. */
final class ReviewText {
    private static final int WHERE = 26;
    private static final int BEFORE_BREAK = 76;
    private static final Pattern WORD = Pattern.compile("--\\S+ (?:'[^']*'|(?!-)\\S+)|'[^']*'|\\S+");

    private final Document.Builder text;

    private ReviewText(String title) {
        this.text = Document.titled(title);
    }

    static Document of(Review review, List<Claim> ledger, List<Criterion> criteria) {
        String title = "Review of " + Path.of(review.file()).getFileName();
        ReviewText all = new ReviewText(title);
        all.text.lead(title);
        review.verdict()
                .ifPresent(verdict ->
                        all.text.say("VERDICT: " + verdict.headline()).say(verdict.reason()));
        all.text.say("! speaks against what a table is published for; - is for the reader to weigh.");
        if (!review.remarks().isEmpty()) {
            all.text.heading(2, "All tables together");
            review.remarks().forEach(all::remark);
        }
        review.sections().forEach(all::section);
        all.claims("What the tables make of their claims", review.claims());
        all.claims("Claims", ledger);
        if (!criteria.isEmpty()) {
            all.text.heading(2, "Criteria");
            criteria.forEach(each -> all.say(
                    each.state().text(), 12, each.criterion() + " (" + String.join("; ", each.evidence()) + ")"));
        }
        if (!review.skipped().isEmpty()) {
            all.text.heading(2, "Skipped, since it is not understood");
            review.skipped().forEach(each -> all.text.say("-", each));
        }
        return all.text.build();
    }

    /** Prints the commands that would show it, which no margin may tear apart. */
    static void print(List<RerunPlan.Step> rerun, TerminalText out) {
        if (!rerun.isEmpty()) {
            out.heading("What would show it");
            rerun.forEach(step -> {
                out.paragraph("  # ", step.why() + ".");
                command(step.command()).lines().forEach(out::line);
            });
        }
    }

    private void say(String label, int width, String sentence) {
        text.say(padded(label, width), sentence);
    }

    private static String padded(String word, int width) {
        return word + " ".repeat(Math.max(0, width - word.length()));
    }

    private void section(Section section) {
        if (section.changes().isEmpty() && section.remarks().isEmpty()) {
            return;
        }
        text.heading(2, section.name());
        for (ChangeRow row : section.changes()) {
            boolean first = row.where().length() <= WHERE;
            if (!first) {
                text.say(row.where());
            }
            for (Map.Entry<String, String> change : row.changes().entrySet()) {
                say(padded(first ? row.where() : "", WHERE) + " " + change.getKey(), WHERE + 19, change.getValue());
                first = false;
            }
        }
        section.plot().ifPresent(text::add);
        section.remarks().forEach(this::remark);
        verdicts(section.verdicts());
    }

    private void remark(Remark remark) {
        String where = remark.where().isEmpty() ? "" : remark.where() + ": ";
        say((remark.against() ? "! " : "- ") + remark.topic().text(), 22, where + remark.text());
    }

    /** One headline for all places where it is the same. */
    private void verdicts(List<Judged> verdicts) {
        List<String> headlines = verdicts.stream()
                .map(each -> each.verdict().headline())
                .distinct()
                .toList();
        if (headlines.size() == 1) {
            text.say(headlines.getFirst() + (verdicts.size() == 1 ? "" : " at every place"));
        }
        for (Judged each : verdicts) {
            String signs = each.signs().isEmpty() ? "" : "like an artefact: " + String.join(", ", each.signs());
            String said = List.of(headlines.size() == 1 ? "" : each.verdict().headline(), signs).stream()
                    .filter(part -> !part.isEmpty())
                    .collect(Collectors.joining("; "));
            if (!said.isEmpty()) {
                say(each.where(), WHERE, each.metric() + " " + each.change() + ": " + said);
            }
        }
    }

    private void claims(String heading, List<Claim> claims) {
        if (!claims.isEmpty()) {
            text.heading(2, heading);
            claims.forEach(each -> say(
                    each.status().text(),
                    21,
                    (each.limit().isEmpty() ? "" : "[" + each.limit() + "] ") + each.claim() + " ("
                            + String.join("; ", each.evidence()) + ")"));
        }
    }

    /**
     * Returns a command in lines that a shell takes as one. A quoted word goes on at the beginning of the next line,
     * within quotes again.
     */
    private static String command(String command) {
        StringBuilder lines = new StringBuilder();
        StringBuilder row = new StringBuilder("  ");
        Matcher words = WORD.matcher(command);
        while (words.find()) {
            if (row.length() + words.group().length() > BEFORE_BREAK
                    && !row.toString().isBlank()) {
                lines.append(row).append("\\\n");
                row = new StringBuilder("      ");
            }
            String left = words.group();
            while (left.length() > BEFORE_BREAK - row.length() && left.endsWith("'") && left.contains(" ")) {
                int at = left.lastIndexOf(' ', BEFORE_BREAK - row.length() - 2);
                if (at <= left.indexOf('\'')) {
                    break;
                }
                lines.append(row).append(left, 0, at + 1).append("'\\\n");
                row = new StringBuilder();
                left = "'" + left.substring(at + 1);
            }
            row.append(left).append(' ');
        }
        return lines + row.toString().stripTrailing();
    }
}
