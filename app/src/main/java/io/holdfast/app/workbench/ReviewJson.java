package io.holdfast.app.workbench;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import io.holdfast.evidence.Verdict;
import io.holdfast.workbench.table.Claim;
import io.holdfast.workbench.table.Criterion;
import io.holdfast.workbench.table.Review;
import java.io.IOException;
import java.util.List;
import java.util.Locale;

/** A review for programs. What a table does not tell is not in it. */
final class ReviewJson {
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON =
            new ObjectMapper().registerModule(new SimpleModule().addSerializer(new OfVerdict()));

    private ReviewJson() {}

    static String of(Review review, List<Claim> ledger, List<Criterion> criteria) {
        ObjectNode root = JSON.createObjectNode().put("format", FORMAT).put("file", review.file());
        review.verdict().ifPresent(verdict -> root.set("verdict", JSON.valueToTree(verdict)));
        root.set("tables", JSON.valueToTree(review.sections()));
        root.set("remarks", JSON.valueToTree(review.remarks()));
        root.set("foundClaims", JSON.valueToTree(review.claims()));
        root.set("claims", JSON.valueToTree(ledger));
        root.set("criteria", JSON.valueToTree(criteria));
        root.set("skipped", JSON.valueToTree(review.skipped()));
        root.set("rerun", JSON.valueToTree(review.rerun()));
        return root.toPrettyString();
    }

    /** Writes the parts of a verdict that a table can have. */
    private static final class OfVerdict extends StdSerializer<Verdict> {
        private static final long serialVersionUID = 1;

        OfVerdict() {
            super(Verdict.class);
        }

        @Override
        public void serialize(Verdict verdict, JsonGenerator json, SerializerProvider provider) throws IOException {
            json.writeStartObject();
            json.writeStringField("finding", verdict.finding().name());
            if (verdict.shortfall().isPresent()) {
                json.writeStringField("lacks", verdict.shortfall().get().name().toLowerCase(Locale.ROOT));
            }
            json.writeStringField("headline", verdict.headline());
            json.writeStringField("reason", verdict.reason());
            json.writeEndObject();
        }
    }
}
