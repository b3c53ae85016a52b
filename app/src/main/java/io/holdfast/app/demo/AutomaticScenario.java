package io.holdfast.app.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.run.RunClock;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * What the third scenario showed: a system prompt that nobody sends alone, before the texts of many users, which a flood
 * pushed out, and which the sidecar held by itself when it came back.
 *
 * @param texts texts in a round, each after the system prompt
 * @param before the round after the first flood, which found the prompt lost
 * @param after the round after the second flood
 * @param blocks blocks of the automatic hold
 * @param reason the sidecar's own words
 */
public record AutomaticScenario(int texts, Round before, Round after, int blocks, String reason) {
    private static final int CAPACITY = 8_192;
    private static final int PROMPT_TOKENS = 256;
    private static final int TEXTS = 6;
    private static final int TEXT_TOKENS = 60;
    private static final int FLOOD_REQUESTS = 36;
    private static final int VOCABULARY = 30_000;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * What became of the texts of one round.
     *
     * @param hits texts that found the whole system prompt in the cache
     * @param firstCached cached tokens of the first of them
     */
    public record Round(int hits, int firstCached) {}

    /** Whether the prompt was lost without a hold and kept with one. */
    boolean asExpected() {
        return before.firstCached == 0 && after.hits == texts && blocks > 0;
    }

    static AutomaticScenario run(Vertx vertx, RunClock clock, long seed, DemoPrinter printer) {
        try (DemoServers servers = DemoServers.start(vertx, Demo.emulated(CAPACITY), true);
                HttpClient client = HttpClient.newHttpClient()) {
            return new Script(client, servers, clock, new SplittableRandom(seed), printer).run();
        } catch (IOException e) {
            throw new CommandException(
                    "the demo's own engine stopped answering (" + e.getMessage() + "); run it again.");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException("the demo was interrupted.");
        }
    }

    /** Sends the scenario's requests, one after the other. */
    private record Script(
            HttpClient client, DemoServers servers, RunClock clock, SplittableRandom random, DemoPrinter printer) {
        private static final ObjectMapper JSON = new ObjectMapper();

        AutomaticScenario run() throws IOException, InterruptedException {
            int[] prompt = tokens(PROMPT_TOKENS);
            printer.doing("starting an engine and a sidecar");
            awaitReady();
            printer.doing("the texts of six users");
            texts(prompt);
            printer.doing("the first flood");
            flood();
            printer.doing("the texts of six more");
            Round before = texts(prompt);
            printer.doing("waiting for the hold");
            JsonNode hold = awaitHold();
            printer.doing("the second flood");
            flood();
            printer.doing("the texts of six more");
            Round after = texts(prompt);
            return new AutomaticScenario(
                    TEXTS,
                    before,
                    after,
                    hold.path("heldBlocks").asInt(),
                    hold.path("reason").asText());
        }

        private int[] tokens(int count) {
            return random.ints(count, 1_000, VOCABULARY).toArray();
        }

        /** So many texts, each after the system prompt. */
        private Round texts(int[] prompt) throws IOException, InterruptedException {
            int hits = 0;
            int first = -1;
            for (int i = 0; i < TEXTS; i++) {
                int[] request = Arrays.copyOf(prompt, PROMPT_TOKENS + TEXT_TOKENS);
                System.arraycopy(tokens(TEXT_TOKENS), 0, request, PROMPT_TOKENS, TEXT_TOKENS);
                int cached = generate(request);
                hits += cached >= PROMPT_TOKENS ? 1 : 0;
                first = i == 0 ? cached : first;
            }
            return new Round(hits, first);
        }

        private void flood() throws IOException, InterruptedException {
            for (int i = 0; i < FLOOD_REQUESTS; i++) {
                generate(tokens(PROMPT_TOKENS));
            }
        }

        /** Sends one prompt and tells how much of it was cached. */
        private int generate(int[] tokens) throws IOException, InterruptedException {
            ObjectNode body = JSON.createObjectNode();
            ArrayNode ids = body.putArray("input_ids");
            for (int token : tokens) {
                ids.add(token);
            }
            body.putObject("sampling_params").put("max_new_tokens", 1);
            HttpRequest request = HttpRequest.newBuilder(servers.uri().resolve("/generate"))
                    .header("content-type", "application/json")
                    .timeout(PATIENCE)
                    .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
                    .build();
            HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
            JsonNode cached = JSON.readTree(response.body()).path("meta_info").path("cached_tokens");
            if (response.statusCode() != 200 || !cached.isInt()) {
                throw new IOException("status " + response.statusCode() + " without a count of cached tokens");
            }
            return cached.intValue();
        }

        private void awaitReady() throws IOException, InterruptedException {
            long until = clock.nanos() + PATIENCE.toNanos();
            while (status(servers.sidecar().resolve("/readyz")) != 200) {
                pause(until, "the sidecar did not get ready");
            }
        }

        private JsonNode awaitHold() throws IOException, InterruptedException {
            long until = clock.nanos() + PATIENCE.toNanos();
            while (true) {
                JsonNode holds = JSON.readTree(client.send(get(holds()), BodyHandlers.ofString())
                                .body())
                        .path("holds");
                for (JsonNode hold : holds) {
                    if (hold.path("state").asText().equals("held")) {
                        return hold;
                    }
                }
                pause(until, "the sidecar held nothing automatically");
            }
        }

        private URI holds() {
            return servers.sidecar().resolve("/api/v1/engines/" + DemoServers.ENGINE + "/holds");
        }

        private int status(URI uri) throws IOException, InterruptedException {
            return client.send(get(uri), BodyHandlers.discarding()).statusCode();
        }

        private static HttpRequest get(URI uri) {
            return HttpRequest.newBuilder(uri).timeout(PATIENCE).build();
        }

        private void pause(long until, String otherwise) {
            if (clock.nanos() > until) {
                throw new CommandException(otherwise + " within " + PATIENCE.toSeconds() + " s; run the demo again.");
            }
            clock.sleep(10_000_000);
        }
    }
}
