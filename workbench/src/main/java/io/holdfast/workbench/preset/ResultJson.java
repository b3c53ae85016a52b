package io.holdfast.workbench.preset;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.measure.ResultFile;
import java.util.Map;

/** A file of results with more in it than all such files have. */
public final class ResultJson {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ResultJson() {}

    /** Returns the common content of a result, to add to. */
    static ObjectNode of(ResultFile results) {
        try {
            return (ObjectNode) JSON.readTree(results.text());
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("The results are not JSON.", e);
        }
    }

    /** Returns the text with these numbers at its top. */
    static String with(ResultFile results, Map<String, Double> top) {
        ObjectNode root = of(results);
        top.forEach(root::put);
        return root.toPrettyString() + "\n";
    }
}
