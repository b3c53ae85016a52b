package io.holdfast.examples.router;

import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.FileViewSource;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.FleetRunner;
import io.holdfast.events.EventSource;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Scanner;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Forwards prompts, lines of token ids on the standard input, and prints the first words of each answer. With a directory
 * of views, which several processes may share, a start goes on from what was known before.
 */
public final class Main {
    public static void main(String[] args) throws InterruptedException {
        try {
            ThreadFactory threads = Thread.ofPlatform().daemon().factory();
            ScheduledExecutorService timer = Executors.newScheduledThreadPool(2, threads);
            boolean keeps = args.length > 1 && args[0].equals("--views");
            Optional<FileViewSource> views = keeps
                    ? Optional.of(new FileViewSource(Files.createDirectories(Path.of(args[1])), timer))
                    : Optional.empty();
            PrefixRouter router = router(views, keeps ? Arrays.copyOfRange(args, 2, args.length) : args);
            FleetRunner.start(router.fleet(), threads);
            Optional<ScheduledFuture<?>> writing = views.map(
                    each -> timer.scheduleWithFixedDelay(() -> keep(each, router.fleet()), 5, 5, TimeUnit.SECONDS));
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                writing.ifPresent(each -> each.cancel(false));
                views.ifPresent(each -> keep(each, router.fleet()));
                System.out.println(router.summary());
            }));
            HttpClient http = HttpClient.newHttpClient();
            for (Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8); lines.hasNextLine(); ) {
                int[] tokens = tokens(lines.nextLine());
                PrefixRouter.Target engine = router.choose(tokens);
                System.out.println(engine.url() + " holds " + router.cachedTokens(engine, tokens) + " of "
                        + tokens.length + " tokens" + (router.knowsAll() ? ": " : ", as far as is known: ")
                        + forward(http, engine.url(), tokens));
            }
        } catch (IllegalArgumentException | IOException e) {
            System.err.println(e.getMessage());
            System.exit(2);
        }
    }

    private static void keep(FileViewSource views, Fleet fleet) {
        try {
            views.keep(fleet).toCompletableFuture().join();
        } catch (CompletionException e) {
            System.err.println(e.getMessage());
        }
    }

    static PrefixRouter router(Optional<FileViewSource> views, String... args) {
        if (args.length < 4 || args.length % 3 != 1 || !args[0].matches("[1-9]\\d{0,4}")) {
            throw new IllegalArgumentException(
                    "Give --views DIRECTORY or nothing, the tokens of a block, then of each engine: sglang or vllm,"
                            + " its URL, its events endpoint, which a comma and its replay endpoint may follow.");
        }
        PrefixRouter router = new PrefixRouter(new Fleet(Integer.parseInt(args[0])));
        for (int i = 1; i < args.length; i += 3) {
            String url = args[i + 1];
            if (!args[i].matches("sglang|vllm") || !url.matches("https?://[\\w.:\\[\\]-]+")) {
                throw new IllegalArgumentException(
                        "An engine is sglang or vllm at http://host:port, not " + args[i] + " at " + url + ".");
            }
            EngineOptions engine = args[i].equals("vllm") ? EngineOptions.vllm(url) : EngineOptions.sglang(url);
            String[] endpoints = args[i + 2].split(",", 2);
            EventSource events = EventSource.of(endpoints[0], "");
            engine = engine.withEvents(endpoints.length > 1 ? events.withReplay(endpoints[1]) : events);
            router.add(URI.create(url), views.map(engine::withViews).orElse(engine));
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
