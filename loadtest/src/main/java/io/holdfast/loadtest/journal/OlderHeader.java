package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.CrossoverPlan;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Renews the head of a journal of format 4 or 5. It had the run's plan in parts: numbers of its own, and the options of
 * the command by their names.
 */
final class OlderHeader {
    private static final String ENVIRONMENT = "environment.";
    private static final List<String> SIZES =
            List.of("prefix-tokens", "suffix-tokens", "flood-requests", "flood-tokens", "cycles", "output-tokens");

    private final ObjectNode header;
    private final ObjectNode test;
    private final Map<String, String> options = new TreeMap<>();

    private OlderHeader(ObjectNode header) {
        this.header = header;
        this.test = header.objectNode();
        header.path("options")
                .properties()
                .forEach(
                        option -> options.put(option.getKey(), option.getValue().asText()));
    }

    static void renew(ObjectNode header, CrossoverPlan plan) {
        new OlderHeader(header).renew(plan);
    }

    private void renew(CrossoverPlan plan) {
        // A run of the oldest format repeated nothing.
        header.putIfAbsent("repeatPairs", header.numberNode(0));
        header.putIfAbsent("slotAdapts", header.booleanNode(false));
        test.put("design", plan.design().name()).put("rounds", plan.rounds().size());
        test.set("looks", header.path("plan").path("looks"));
        for (String name : List.of(
                "seed", "concurrency", "burnIn", "rehearsal", "statistic", "criteria", "slotAdapts", "repeatPairs")) {
            Optional.ofNullable(header.remove(name)).ifPresent(value -> test.set(name, value));
        }
        span("holdSlot", header.remove("slotMillis"));
        span("slotTolerance", header.remove("toleranceMillis"));
        ArrayNode others = test.putArray("alsoJudged");
        words("also-judge", ",").forEach(others::add);
        test.put(
                "pauseAfterFlush",
                Duration.ofMillis(number("pause-after-flush-ms")).toString());
        test.put("mostTime", options.containsKey("max-duration-ms") ? millis("max-duration-ms") : null);
        JsonNode salt = header.path("client") instanceof ObjectNode client ? client.remove("salt") : null;
        test.putNull("salt");
        if (salt != null) {
            test.putObject("salt")
                    .put("nonce", Long.parseUnsignedLong(salt.asText(), 16))
                    .put("again", 0);
        }
        test.put("freshLegs", options.containsKey("arm-server-command") || options.containsKey("restart-per"));
        test.put("profiler", options.get("server-wrapper"));
        test.putNull("target");
        if (options.containsKey("url") && options.keySet().containsAll(SIZES)) {
            target(test.putObject("target"));
        }
        header.set("test", test);
        ObjectNode environment = header.putObject("environment");
        options.forEach((name, value) -> {
            if (name.startsWith(ENVIRONMENT)) {
                environment.put(name.substring(ENVIRONMENT.length()), value);
            }
        });
        header.remove("options");
    }

    private void target(ObjectNode target) {
        target.put("server", options.get("url"));
        ArrayNode engines = target.putArray("engines");
        words("engine", " ").forEach(engines::add);
        target.putObject("shape")
                .put("prefixTokens", number("prefix-tokens"))
                .put("suffixTokens", number("suffix-tokens"))
                .put("floodRequests", number("flood-requests"))
                .put("floodTokens", number("flood-tokens"))
                .put("cycles", number("cycles"))
                .put("probesPerCycle", 1)
                .put("floodOutputTokens", 1)
                .put("probeOutputTokens", number("output-tokens"))
                .put("learnCycles", number("learn-cycles"))
                .put("learnTexts", Math.max(1, number("learn-texts")));
        target.set("arrivals", header.path("workload").path("arrivals"));
        arm(target.putObject("arm"));
        target.put("flushPath", options.get("flush-path")).put("ca", options.get("ca"));
    }

    private void arm(ObjectNode arm) {
        String hold = options.getOrDefault("hold", "none");
        if (options.containsKey("arm-command")) {
            arm.put("kind", "commands").put("claimHold", options.containsKey("arm-claims-hold"));
        } else if (options.containsKey("arm-server-command")) {
            arm.put("kind", "server");
        } else if (options.containsKey("sidecar")) {
            arm.put("kind", "sidecar")
                    .put("address", options.get("sidecar"))
                    .put("engine", options.get("engine-id"))
                    .put("automatic", hold.equals("automatic"));
        } else if (hold.equals("keep-warm")) {
            arm.put("kind", hold).put("every", number("touch-every"));
        } else {
            arm.put("kind", "engine").put("means", hold.toUpperCase(Locale.ROOT).replace('-', '_'));
        }
    }

    private void span(String name, @Nullable JsonNode millis) {
        if (millis != null) {
            test.put(name, Duration.ofMillis(millis.asLong()).toString());
        }
    }

    private String millis(String option) {
        return Duration.ofMillis(number(option)).toString();
    }

    /** Returns a number of the options; 0 where it is not among them. */
    private int number(String option) {
        return Integer.parseInt(options.getOrDefault(option, "0"));
    }

    private List<String> words(String option, String between) {
        return Stream.of(options.getOrDefault(option, "").split(between, -1))
                .filter(word -> !word.isBlank())
                .toList();
    }
}
