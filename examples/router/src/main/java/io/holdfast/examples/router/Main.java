package io.holdfast.examples.router;

import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.FleetRunner;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Scanner;

/** Forwards prompts, lines of token ids on the standard input, and prints the first words of each answer. */
public final class Main {
    public static void main(String[] args) throws InterruptedException {
        try {
            PrefixRouter router = router(args);
            FleetRunner.start(router.fleet(), Thread.ofPlatform().daemon().factory());
            HttpClient http = HttpClient.newHttpClient();
            for (Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8); lines.hasNextLine(); ) {
                int[] tokens = tokens(lines.nextLine());
                PrefixRouter.Target engine = router.choose(tokens);
                System.out.println(engine.url() + " holds " + router.cachedTokens(engine, tokens) + " of "
                        + tokens.length + " tokens: " + forward(http, engine.url(), tokens));
            }
        } catch (IllegalArgumentException | IOException e) {
            System.err.println(e.getMessage());
            System.exit(2);
        }
    }

    static PrefixRouter router(String... args) {
        if (args.length < 4 || args.length % 3 != 1 || !args[0].matches("[1-9]\\d{0,4}")) {
            throw new IllegalArgumentException(
                    "Give the tokens of a block, then of each engine: sglang or vllm, its URL, its events endpoint.");
        }
        PrefixRouter router = new PrefixRouter(new Fleet(Integer.parseInt(args[0])));
        for (int i = 1; i < args.length; i += 3) {
            if (!args[i].matches("sglang|vllm") || !args[i + 1].matches("https?://[\\w.:\\[\\]-]+")) {
                throw new IllegalArgumentException(
                        "An engine is sglang or vllm at http://host:port, not " + args[i] + " at " + args[i + 1] + ".");
            }
            String id = "engine " + (i / 3 + 1);
            EngineOptions engine = args[i].equals("vllm") ? EngineOptions.vllm(id) : EngineOptions.sglang(id);
            router.add(URI.create(args[i + 1]), engine.withEvents(args[i + 2]));
        }
        return router;
    }

    static int[] tokens(String line) {
        try {
            return Arrays.stream(line.strip().split("\\s+", -1))
                    .mapToInt(Integer::parseInt)
                    .toArray();
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("A prompt is token ids with blanks between, not \"" + line + "\".", e);
        }
    }

    static String forward(HttpClient http, URI engine, int[] tokens) throws IOException, InterruptedException {
        String body = "{\"prompt\": %s, \"max_tokens\": 8}".formatted(Arrays.toString(tokens));
        try {
            HttpRequest request = HttpRequest.newBuilder(engine.resolve("/v1/completions"))
                    .version(HttpClient.Version.HTTP_1_1)
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
        } catch (IOException e) {
            throw new IOException("The engine " + engine + " does not answer: is it running?", e);
        }
    }
}
