package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code vllm bench serve --save-result}, with and without {@code --save-detailed}. */
final class VllmBench implements ToolFormat {
    private static final String NAME = "vllm bench serve";

    @Override
    public boolean wrote(JsonNode first) {
        return first.has("total_token_throughput") && first.has("num_prompts") && first.has("mean_ttft_ms");
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        List<LoadResult> results = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        notes.add("Tokens of prompts are counted by the client's tokenizer, so their mean is left out.");
        for (JsonNode document : documents) {
            Told told = new Told(file, NAME);
            ClientSummary.load(told, document, "total_token_throughput");
            told.put(Metric.GOODPUT, told.number(document, "request_goodput"));
            boolean chat = document.path("backend")
                    .asText(document.path("endpoint_type").asText())
                    .contains("chat");
            Quantity first = chat ? Quantity.FIRST_CHUNK : Quantity.TTFT;
            if (chat) {
                notes.add("In a chat its TTFT ends with the first chunk, which may tell the role alone: it is called"
                        + " first_chunk here, and TPOT is left out.");
            }
            int planned = document.path("num_prompts").asInt();
            int failed = Math.max(0, planned - document.path("completed").asInt());
            if (ChunkLists.areIn(document)) {
                ChunkLists lists = new ChunkLists(document, file);
                lists.putInto(told, first);
                lists.errors().forEach(error -> told.failed(error, 1));
            } else {
                ClientSummary.times(told, document, "ttft", first);
                if (!chat) {
                    ClientSummary.times(told, document, "tpot", Quantity.TPOT);
                }
                ClientSummary.times(told, document, "itl", Quantity.ICL);
                ClientSummary.times(told, document, "e2el", Quantity.E2E);
                told.failed("failed", failed);
                notes.add("Its ITL is between chunks, whatever they hold: it is called icl here; --save-detailed would"
                        + " show whether each was one token.");
            }
            results.add(told.result(document.path("label").asText(NAME), results.size() + 1, planned));
        }
        return new Imported(
                NAME,
                new ResultFile(
                        NAME,
                        documents.getFirst().path("model_id").asText("unknown"),
                        documents.getFirst().path("date").asText("unknown"),
                        Map.of(),
                        results),
                notes.stream().distinct().toList());
    }
}
