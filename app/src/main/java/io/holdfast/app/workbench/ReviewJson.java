package io.holdfast.app.workbench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.Verdict;
import io.holdfast.workbench.table.Claim;
import io.holdfast.workbench.table.Criterion;
import io.holdfast.workbench.table.Remark;
import io.holdfast.workbench.table.Review;
import io.holdfast.workbench.table.Review.Judged;
import io.holdfast.workbench.table.Review.Section;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** A review for programs. What a table does not tell is not in it. */
final class ReviewJson {
    private static final int FORMAT = 1;

    private ReviewJson() {}

    static void print(Review review, List<Claim> ledger, List<Criterion> criteria, PrintWriter out) {
        ObjectNode root =
                new ObjectMapper().createObjectNode().put("format", FORMAT).put("file", review.file());
        review.verdict().ifPresent(verdict -> put(verdict, root.putObject("verdict")));
        ArrayNode tables = root.putArray("tables");
        review.sections().forEach(section -> put(section, tables.addObject()));
        remarks(review.remarks(), root.putArray("remarks"));
        claims(review.claims(), root.putArray("foundClaims"));
        claims(ledger, root.putArray("claims"));
        ArrayNode reached = root.putArray("criteria");
        for (Criterion each : criteria) {
            ObjectNode node = reached.addObject()
                    .put("criterion", each.criterion())
                    .put("state", each.state().text());
            each.evidence().forEach(node.putArray("evidence")::add);
        }
        ArrayNode skipped = root.putArray("skipped");
        review.skipped().forEach(skipped::add);
        ArrayNode rerun = root.putArray("rerun");
        review.rerun().forEach(step -> rerun.addObject().put("why", step.why()).put("command", step.command()));
        out.println(root.toPrettyString());
    }

    private static void put(Section section, ObjectNode node) {
        node.put("name", section.name());
        ArrayNode changes = node.putArray("changes");
        section.changes().forEach(row -> {
            ObjectNode one = changes.addObject().put("where", row.where());
            row.changes().forEach(one.putObject("metrics")::put);
        });
        remarks(section.remarks(), node.putArray("remarks"));
        ArrayNode verdicts = node.putArray("verdicts");
        for (Judged each : section.verdicts()) {
            ObjectNode one = verdicts.addObject()
                    .put("where", each.where())
                    .put("metric", each.metric())
                    .put("change", each.change());
            put(each.verdict(), one.putObject("verdict"));
            each.signs().forEach(one.putArray("signs")::add);
        }
    }

    private static void put(Verdict verdict, ObjectNode node) {
        node.put("finding", verdict.finding().name());
        verdict.shortfall().ifPresent(lacks -> node.put("lacks", lacks.name().toLowerCase(Locale.ROOT)));
        node.put("headline", verdict.headline()).put("reason", verdict.reason());
    }

    private static void remarks(List<Remark> remarks, ArrayNode into) {
        for (Remark each : remarks) {
            ObjectNode node = into.addObject().put("topic", each.topic().text());
            if (!each.where().isEmpty()) {
                node.put("where", each.where());
            }
            node.put("text", each.text()).put("against", each.against());
        }
    }

    private static void claims(List<Claim> claims, ArrayNode into) {
        for (Claim each : claims) {
            ObjectNode node = into.addObject()
                    .put("claim", each.claim())
                    .put("status", each.status().text());
            if (!each.limit().isEmpty()) {
                node.put("limit", each.limit());
            }
            each.evidence().forEach(node.putArray("evidence")::add);
        }
    }
}
