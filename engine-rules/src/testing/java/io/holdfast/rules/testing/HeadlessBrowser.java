package io.holdfast.rules.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A headless Chromium of this machine, driven over the DevTools protocol. */
public final class HeadlessBrowser implements AutoCloseable {
    /** Why a test is skipped where none is found. */
    public static final String MISSING = "There is no chromium, chromium-browser or google-chrome on the path, and"
            + " -Dholdfast.chromium names none.";

    private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");
    private static final Pattern LISTENS = Pattern.compile("DevTools listening on ws://(127\\.0\\.0\\.1:\\d+)/.*");
    private static final int SECONDS = 30;
    private static final int PHONE = 700;
    private static final int FEWEST_TEXTS = 10;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Process process;
    private final HttpClient client = HttpClient.newHttpClient();
    private final WebSocket socket;
    private final AtomicInteger calls = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<JsonNode> events = new CopyOnWriteArrayList<>();

    /** Where there is one: what the property names, or what is on the path. */
    public static Optional<Path> found() {
        Stream<Path> named =
                Stream.ofNullable(System.getProperty("holdfast.chromium")).map(Path::of);
        Stream<Path> onPath = Stream.of(
                        Optional.ofNullable(System.getenv("PATH")).orElse("").split(File.pathSeparator, -1))
                .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name)));
        return Stream.concat(named, onPath).filter(Files::isExecutable).findFirst();
    }

    /**
     * Starts one and waits until it can be asked.
     *
     * @param profile a folder of its own
     */
    public HeadlessBrowser(Path binary, Path profile) throws IOException {
        process = new ProcessBuilder(
                        binary.toString(),
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-quic",
                        "--no-first-run",
                        "--disable-background-networking",
                        "--disable-component-update",
                        "--disable-sync",
                        "--remote-debugging-port=0",
                        "--user-data-dir=" + profile,
                        "about:blank")
                .redirectErrorStream(true)
                .start();
        socket = client.newWebSocketBuilder()
                .buildAsync(newPage(whereItListens()), new Listener())
                .join();
        for (String domain : List.of("Page", "Runtime", "Log", "Network", "DOM", "Accessibility")) {
            call(domain + ".enable", JSON.createObjectNode());
        }
    }

    /** What it writes is read to its end, or it would stop writing some day. */
    private String whereItListens() {
        CompletableFuture<String> address = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try (BufferedReader lines =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    Matcher told = LISTENS.matcher(line);
                    if (told.matches()) {
                        address.complete(told.group(1));
                    }
                }
            } catch (IOException e) {
                address.completeExceptionally(e);
            }
            address.completeExceptionally(new AssertionError("Chromium ended before it said where it listens."));
        });
        return address.orTimeout(SECONDS, TimeUnit.SECONDS).join();
    }

    private URI newPage(String address) throws IOException {
        HttpRequest page = HttpRequest.newBuilder(URI.create("http://" + address + "/json/new?about:blank"))
                .PUT(BodyPublishers.noBody())
                .build();
        try {
            return URI.create(
                    JSON.readTree(client.send(page, BodyHandlers.ofString()).body())
                            .path("webSocketDebuggerUrl")
                            .asText());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    private final class Listener implements WebSocket.Listener {
        private final StringBuilder message = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            message.append(data);
            if (last) {
                take(read(message.toString()));
                message.setLength(0);
            }
            from.request(1);
            return CompletableFuture.completedFuture(null);
        }
    }

    private static JsonNode read(String text) {
        try {
            return JSON.readTree(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void take(JsonNode message) {
        if (message.has("id")) {
            Optional.ofNullable(answers.remove(message.path("id").asInt()))
                    .ifPresent(answer -> answer.complete(message));
        } else {
            events.add(message);
        }
    }

    /** Parameters of a call, to be filled. */
    public static ObjectNode parameters() {
        return JSON.createObjectNode();
    }

    /** Calls a method of the protocol. */
    public JsonNode call(String method, ObjectNode parameters) {
        int id = calls.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        answers.put(id, answer);
        ObjectNode call = JSON.createObjectNode().put("id", id).put("method", method);
        call.set("params", parameters);
        socket.sendText(call.toString(), true).join();
        JsonNode told = answer.orTimeout(SECONDS, TimeUnit.SECONDS).join();
        if (told.has("error")) {
            throw new AssertionError(method + ": " + told.path("error"));
        }
        return told.path("result");
    }

    /** The window's size, and which colours its owner prefers. */
    public void looks(int width, int height, boolean dark) {
        call(
                "Emulation.setDeviceMetricsOverride",
                parameters()
                        .put("width", width)
                        .put("height", height)
                        .put("deviceScaleFactor", 1)
                        .put("mobile", width < PHONE));
        ObjectNode media = parameters();
        media.putArray("features")
                .addObject()
                .put("name", "prefers-color-scheme")
                .put("value", dark ? "dark" : "light");
        call("Emulation.setEmulatedMedia", media);
    }

    /** Opens a page, anew also where only what is behind the # differs. */
    public void open(URI page) {
        call("Page.navigate", parameters().put("url", "about:blank"));
        events.clear();
        call("Page.navigate", parameters().put("url", page.toString()));
    }

    /** What an expression of JavaScript comes to; promises are awaited. */
    public Object evaluate(String expression) {
        JsonNode told = call(
                "Runtime.evaluate",
                parameters()
                        .put("expression", expression)
                        .put("awaitPromise", true)
                        .put("returnByValue", true));
        if (told.has("exceptionDetails")) {
            throw new AssertionError(expression + ": " + told);
        }
        JsonNode value = told.path("result").path("value");
        return switch (value.getNodeType()) {
            case BOOLEAN -> value.asBoolean();
            case NUMBER -> value.numberValue();
            case STRING -> value.asText();
            case MISSING, NULL -> "";
            default -> value.toString();
        };
    }

    /** What a reader reads in the first element that a selector finds; empty where it finds none. */
    public String text(String selector) {
        return String.valueOf(evaluate("document.querySelector(" + JSON.valueToTree(selector) + ")?.innerText ?? ''"));
    }

    public void click(String selector) {
        evaluate("document.querySelector(" + JSON.valueToTree(selector) + ").click()");
    }

    /** The visible texts that stand out too little from what is behind them; that any were looked at is made sure of. */
    public List<String> faintTexts() {
        try (InputStream script = Objects.requireNonNull(HeadlessBrowser.class.getResourceAsStream("contrast.js"))) {
            JsonNode told = read(String.valueOf(evaluate(new String(script.readAllBytes(), StandardCharsets.UTF_8))));
            if (told.path("looked").asInt() <= FEWEST_TEXTS) {
                throw new AssertionError("The page shows next to nothing: " + told);
            }
            List<String> faint = new ArrayList<>();
            told.path("bad").forEach(text -> faint.add(text.asText()));
            return faint;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whatever the page complained about since it was opened. */
    public List<String> complaints() {
        List<String> complaints = new ArrayList<>();
        for (JsonNode event : events) {
            JsonNode about = event.path("params");
            boolean bad = switch (event.path("method").asText()) {
                case "Runtime.exceptionThrown" -> true;
                case "Runtime.consoleAPICalled" -> isBad(about.path("type"));
                case "Log.entryAdded" -> isBad(about.path("entry").path("level"));
                default -> false;
            };
            if (bad) {
                complaints.add(about.toString());
            }
        }
        return complaints;
    }

    private static boolean isBad(JsonNode level) {
        return List.of("error", "warning").contains(level.asText());
    }

    /** What the page asked for since it was opened, itself included. */
    public List<String> requests() {
        return events.stream()
                .filter(event ->
                        "Network.requestWillBeSent".equals(event.path("method").asText()))
                .map(event -> event.path("params").path("request").path("url").asText())
                .toList();
    }

    /** What is in the window, or the whole page however long it is. */
    public byte[] screenshot(boolean whole) {
        ObjectNode wanted = parameters().put("format", "png");
        if (whole && call("Page.getLayoutMetrics", parameters()).path("cssContentSize") instanceof ObjectNode size) {
            wanted.put("captureBeyondViewport", true).set("clip", size.put("scale", 1));
        }
        return Base64.getDecoder()
                .decode(call("Page.captureScreenshot", wanted).path("data").asText());
    }

    @Override
    public void close() {
        socket.abort();
        client.shutdownNow();
        List<ProcessHandle> all = process.descendants().toList();
        process.destroy();
        process.onExit().orTimeout(SECONDS, TimeUnit.SECONDS).join();
        all.forEach(child -> child.onExit().orTimeout(SECONDS, TimeUnit.SECONDS).join());
    }
}
