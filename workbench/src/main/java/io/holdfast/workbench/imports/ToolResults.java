package io.holdfast.workbench.imports;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.ResultFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/*
 * By definition, not by name
 * ==========================
 *
 * The tools use the same four letters for different things. So each reader asks what a figure runs from and to, and
 * gives it the name that this has with us:
 *
 *   what it is                                      vllm bench   sglang       aiperf        guidellm     ours
 *   gaps between chunks                             itl          itl          icl           -            icl
 *   (last token - first token) / (tokens - 1)       tpot         -            itl           itl          tpot
 *   (end of stream - first token) / (tokens - 1)    -            tpot         -             -            -
 *   (last token - sent) / tokens                    -            -            -             tpot         -
 *   sent to last token                              e2el         -            latency       -            e2e
 *   sent to end of stream                           -            e2e          -             latency      stream
 *   sent to first chunk, be it a role only          ttft (chat)  -            -             -            first_chunk
 *   sent to first output                            ttft         ttft         ttft          ttft         ttft
 *
 * What has no name with us is left out and said. Where a file lists single requests, their figures are computed again
 * from those, so that all quantiles are by one definition and the means are over the same tokens: those that the server
 * counted. Gaps between chunks are gaps between tokens where every chunk had one, which only a list shows.
 */

/** Reads results of any tool that measured. */
public final class ToolResults {
    private static final List<ToolFormat> FORMATS = List.of(
            new OwnSuite(),
            new OwnJournal(),
            new PinBenchmark(),
            new Guidellm(),
            new AiperfSummary(),
            new AiperfRecords(),
            new VllmBench(),
            new SglangBench(),
            new TwoNumbers());

    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .disable(JsonParser.Feature.INCLUDE_SOURCE_IN_LOCATION)
            .build();

    private ToolResults() {}

    /** Reads a file, or the only results in a suite's folder. */
    public static Imported read(Path path) {
        Path file = Files.isDirectory(path) ? only(path) : path;
        List<JsonNode> documents = documents(file);
        if (documents.isEmpty()) {
            throw new LoadTestException("The file " + file + " is empty; name a file with results.");
        }
        return FORMATS.stream()
                .filter(format -> format.wrote(documents.getFirst()))
                .findFirst()
                .orElseThrow(() -> new LoadTestException("The file " + file
                        + " is of no tool that is known here; name one of holdfast, vllm bench serve,"
                        + " sglang.bench_serving, aiperf or guidellm, or a JSON object with some of throughput,"
                        + " ttft_p50 and the like."))
                .read(documents, file);
    }

    /**
     * Several files as one; runs of a workload are numbered in the order in which they come.
     *
     * @param settings that the files do not tell
     */
    public static Imported joined(List<Imported> files, Map<String, String> settings) {
        List<LoadResult> results = new ArrayList<>();
        Map<String, Integer> runs = new HashMap<>();
        for (Imported file : files) {
            for (LoadResult result : file.results().results()) {
                Map<String, String> all = new LinkedHashMap<>(result.settings());
                if (!file.results().model().equals("unknown")) {
                    all.putIfAbsent("model", file.results().model());
                }
                all.putAll(settings);
                results.add(new LoadResult(
                        result.workload() + "/run" + runs.merge(result.workload(), 1, Integer::sum),
                        result.workload(),
                        result.workloadId(),
                        result.source(),
                        all,
                        result.requests(),
                        result.failures(),
                        result.measures()));
            }
        }
        ResultFile first = files.getFirst().results();
        List<String> models =
                files.stream().map(file -> file.results().model()).distinct().toList();
        return new Imported(
                "holdfast",
                new ResultFile(
                        "import",
                        models.size() == 1 ? models.getFirst() : "unknown",
                        first.startedAt(),
                        first.environment(),
                        results),
                files.stream()
                        .flatMap(file -> file.notes().stream().map(note -> file.kind() + ": " + note))
                        .distinct()
                        .toList());
    }

    private static Path only(Path folder) {
        try (Stream<Path> inside = Files.list(folder)) {
            List<Path> results = inside.filter(each -> each.toString().endsWith(".json"))
                    .filter(each -> documents(each).stream()
                            .anyMatch(document -> document.path("results").isArray()))
                    .toList();
            if (results.size() == 1) {
                return results.getFirst();
            }
            throw new LoadTestException("The folder " + folder + " has " + results.size()
                    + " files with results of a suite; name the file that is meant.");
        } catch (IOException e) {
            throw new LoadTestException("The folder " + folder + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    private static List<JsonNode> documents(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new LoadTestException("There is no file " + file + "; name a file with results.");
        }
        List<JsonNode> documents = new ArrayList<>();
        try (MappingIterator<JsonNode> all = JSON.readerFor(JsonNode.class).readValues(file.toFile())) {
            while (all.hasNextValue()) {
                documents.add(all.nextValue());
            }
            return documents;
        } catch (JsonProcessingException e) {
            // A journal of ours may end in a line that a kill has torn; its own reader knows what to do with that.
            if (!documents.isEmpty() && new OwnJournal().wrote(documents.getFirst())) {
                return documents;
            }
            throw new LoadTestException(
                    "The file " + file + " is not JSON (line " + e.getLocation().getLineNr()
                            + "); name a file with results, as the tool wrote it.",
                    e);
        } catch (IOException e) {
            throw new LoadTestException("The file " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    /** Output of a preset or of {@code loadtest leg}. */
    private static final class OwnSuite implements ToolFormat {
        @Override
        public boolean wrote(JsonNode first) {
            return first.path("results").isArray() && first.has("suite");
        }

        @Override
        public Imported read(List<JsonNode> documents, Path file) {
            ResultFile results = ResultFile.read(file);
            if (results.results().isEmpty()) {
                throw new LoadTestException("The file " + file + " has no result; run the suite to its end.");
            }
            return new Imported("holdfast", results, List.of());
        }
    }
}
