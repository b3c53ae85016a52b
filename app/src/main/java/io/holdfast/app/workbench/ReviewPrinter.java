package io.holdfast.app.workbench;

import io.holdfast.app.cli.TerminalText;
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
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A review for people. */
final class ReviewPrinter {
    private static final int WHERE = 27;
    private static final int BEFORE_BREAK = 76;
    private static final Pattern WORD = Pattern.compile("--\\S+ (?:'[^']*'|(?!-)\\S+)|'[^']*'|\\S+");

    private final TerminalText text;

    ReviewPrinter(TerminalText text) {
        this.text = text;
    }

    void print(Review review, List<Claim> ledger, List<Criterion> criteria) {
        text.line("Review of "
                + Optional.ofNullable(Path.of(review.file()).getFileName())
                        .map(Path::toString)
                        .orElse(review.file()));
        review.verdict().ifPresent(verdict -> {
            text.blank();
            text.line("  VERDICT: " + verdict.headline());
            text.paragraph("  ", verdict.reason());
        });
        text.blank();
        text.paragraph("  ", "! speaks against what a table is published for; - is for the reader to weigh.");
        if (!review.remarks().isEmpty()) {
            text.heading("All tables together");
            review.remarks().forEach(this::remark);
        }
        review.sections().forEach(this::section);
        claims("What the tables make of their claims", review.claims());
        claims("Claims", ledger);
        if (!criteria.isEmpty()) {
            text.heading("Criteria");
            criteria.forEach(each -> text.paragraph(
                    "  " + padded(each.state().text(), 13),
                    each.criterion() + " (" + String.join("; ", each.evidence()) + ")"));
        }
        if (!review.skipped().isEmpty()) {
            text.heading("Skipped, since it is not understood");
            review.skipped().forEach(each -> text.paragraph("  - ", each));
        }
        rerun(review.rerun());
    }

    private void section(Section section) {
        if (section.changes().isEmpty() && section.remarks().isEmpty()) {
            return;
        }
        text.heading(section.name());
        for (ChangeRow row : section.changes()) {
            boolean first = row.where().length() < WHERE;
            if (!first) {
                text.paragraph("  ", row.where());
            }
            for (var change : row.changes().entrySet()) {
                text.paragraph(
                        "  " + padded(first ? row.where() : "", WHERE) + padded(change.getKey(), 19),
                        change.getValue());
                first = false;
            }
        }
        if (!section.changes().isEmpty() && !section.remarks().isEmpty()) {
            text.blank();
        }
        section.plot().forEach(line -> text.line("  " + line));
        section.remarks().forEach(this::remark);
        verdicts(section.verdicts());
    }

    private void remark(Remark remark) {
        String where = remark.where().isEmpty() ? "" : remark.where() + ": ";
        text.paragraph(
                "  " + (remark.against() ? "! " : "- ") + padded(remark.topic().text(), 21), where + remark.text());
    }

    private void verdicts(List<Judged> verdicts) {
        if (verdicts.isEmpty()) {
            return;
        }
        text.blank();
        boolean same = verdicts.stream()
                        .map(each -> each.verdict().headline())
                        .distinct()
                        .count()
                == 1;
        if (same) {
            text.line(
                    "  " + verdicts.getFirst().verdict().headline() + (verdicts.size() == 1 ? "" : " at every place"));
        }
        for (Judged each : verdicts) {
            String signs = each.signs().isEmpty() ? "" : "like an artefact: " + String.join(", ", each.signs());
            String verdict = same ? "" : each.verdict().headline() + (signs.isEmpty() ? "" : "; ");
            if (!same || !signs.isEmpty()) {
                text.paragraph(
                        "  " + padded(each.where(), WHERE),
                        each.metric() + " " + each.change() + ": " + verdict + signs);
            }
        }
    }

    private void claims(String heading, List<Claim> claims) {
        if (claims.isEmpty()) {
            return;
        }
        text.heading(heading);
        claims.forEach(each -> text.paragraph(
                "  " + padded(each.status().text(), 22),
                (each.limit().isEmpty() ? "" : "[" + each.limit() + "] ") + each.claim() + " ("
                        + String.join("; ", each.evidence()) + ")"));
    }

    private void rerun(List<RerunPlan.Step> steps) {
        if (steps.isEmpty()) {
            return;
        }
        text.heading("What would show it");
        for (RerunPlan.Step step : steps) {
            text.paragraph("  # ", step.why() + ".");
            command(step.command());
        }
    }

    /** In lines that a shell takes as one; a quoted word goes on at the begin of the next line, within quotes again. */
    private void command(String command) {
        StringBuilder row = new StringBuilder("  ");
        Matcher words = WORD.matcher(command);
        while (words.find()) {
            if (row.length() + words.group().length() > BEFORE_BREAK
                    && !row.toString().isBlank()) {
                text.line(row + "\\");
                row = new StringBuilder("      ");
            }
            String left = words.group();
            while (left.length() > BEFORE_BREAK - row.length() && left.endsWith("'") && left.contains(" ")) {
                int at = left.lastIndexOf(' ', BEFORE_BREAK - row.length() - 2);
                if (at <= left.indexOf('\'')) {
                    break;
                }
                text.line(row + left.substring(0, at + 1) + "'\\");
                row = new StringBuilder();
                left = "'" + left.substring(at + 1);
            }
            row.append(left).append(' ');
        }
        text.line(row.toString().stripTrailing());
    }

    private static String padded(String word, int width) {
        return word.length() >= width ? word + " " : word + " ".repeat(width - word.length());
    }
}
