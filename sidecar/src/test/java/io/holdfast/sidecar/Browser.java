package io.holdfast.sidecar;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** A headless Chromium of this machine, driven over the DevTools protocol. */
final class Browser implements AutoCloseable {
    private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");
    private static final int SECONDS = 30;

    private final Process process;
    private final HttpClient client = HttpClient.newHttpClient();
    private final WebSocket socket;
    private final AtomicInteger calls = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonObject>> answers = new ConcurrentHashMap<>();
    private final List<JsonObject> events = new CopyOnWriteArrayList<>();

    /** Where there is one: what the property names, or what is on the path. */
    static Optional<Path> found() {
        Stream<Path> named =
                Stream.ofNullable(System.getProperty("holdfast.chromium")).map(Path::of);
        Stream<Path> onPath = Stream.of(
                        Optional.ofNullable(System.getenv("PATH")).orElse("").split(File.pathSeparator, -1))
                .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name)));
        return Stream.concat(named, onPath).filter(Files::isExecutable).findFirst();
    }

    Browser(Path binary, Path profile) throws IOException {
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
                .redirectOutput(profile.resolveSibling("chromium.log").toFile())
                .start();
        Path port = profile.resolve("DevToolsActivePort");
        String told = Eventually.see("Chromium says where it listens", () -> text(port), text -> text.contains("\n"));
        URI list = URI.create("http://127.0.0.1:" + told.lines().findFirst().orElseThrow() + "/json/list");
        String page = Eventually.see("Chromium has a page", () -> page(list), text -> !text.isEmpty());
        socket = client.newWebSocketBuilder()
                .buildAsync(URI.create(page), new Listener())
                .join();
        for (String domain : List.of("Page", "Runtime", "Log", "Network", "DOM", "Accessibility")) {
            call(domain + ".enable", new JsonObject());
        }
    }

    private static String text(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            return "";
        }
    }

    private String page(URI list) {
        try {
            JsonArray targets =
                    new JsonArray(client.send(HttpRequest.newBuilder(list).build(), BodyHandlers.ofString())
                            .body());
            return targets.stream()
                    .map(JsonObject.class::cast)
                    .filter(target -> "page".equals(target.getString("type")))
                    .map(target -> target.getString("webSocketDebuggerUrl"))
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }

    private final class Listener implements WebSocket.Listener {
        private final StringBuilder message = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            message.append(data);
            if (last) {
                take(new JsonObject(message.toString()));
                message.setLength(0);
            }
            from.request(1);
            return CompletableFuture.completedFuture(null);
        }
    }

    private void take(JsonObject message) {
        Integer id = message.getInteger("id");
        if (id == null) {
            events.add(message);
        } else {
            Optional.ofNullable(answers.remove(id)).ifPresent(answer -> answer.complete(message));
        }
    }

    JsonObject call(String method, JsonObject parameters) {
        int id = calls.incrementAndGet();
        CompletableFuture<JsonObject> answer = new CompletableFuture<>();
        answers.put(id, answer);
        socket.sendText(
                        new JsonObject()
                                .put("id", id)
                                .put("method", method)
                                .put("params", parameters)
                                .encode(),
                        true)
                .join();
        JsonObject told = answer.orTimeout(SECONDS, TimeUnit.SECONDS).join();
        if (told.containsKey("error")) {
            throw new AssertionError(method + ": " + told.getJsonObject("error").encode());
        }
        return told.getJsonObject("result");
    }

    /** The window's size, and which colours its owner prefers. */
    void looks(int width, int height, boolean dark) {
        call(
                "Emulation.setDeviceMetricsOverride",
                new JsonObject()
                        .put("width", width)
                        .put("height", height)
                        .put("deviceScaleFactor", 1)
                        .put("mobile", width < 700));
        call(
                "Emulation.setEmulatedMedia",
                new JsonObject()
                        .put(
                                "features",
                                new JsonArray()
                                        .add(new JsonObject()
                                                .put("name", "prefers-color-scheme")
                                                .put("value", dark ? "dark" : "light"))));
    }

    /** Opens a page, anew also where only what is behind the # differs. */
    void open(URI page) {
        call("Page.navigate", new JsonObject().put("url", "about:blank"));
        events.clear();
        call("Page.navigate", new JsonObject().put("url", page.toString()));
    }

    /** What an expression of JavaScript comes to; promises are awaited. */
    Object evaluate(String expression) {
        JsonObject told = call(
                "Runtime.evaluate",
                new JsonObject()
                        .put("expression", expression)
                        .put("awaitPromise", true)
                        .put("returnByValue", true));
        if (told.containsKey("exceptionDetails")) {
            throw new AssertionError(expression + ": " + told.encode());
        }
        Object value = told.getJsonObject("result").getValue("value");
        return value == null ? "" : value;
    }

    String text(String selector) {
        return String.valueOf(evaluate(
                "document.querySelector(" + new JsonArray().add(selector).encode() + "[0])?.innerText ?? ''"));
    }

    String textOf(String selector, Predicate<String> wanted) {
        return Eventually.see(selector + " in the page", () -> text(selector), wanted);
    }

    void click(String selector) {
        evaluate("document.querySelector(" + new JsonArray().add(selector).encode() + "[0]).click()");
    }

    /** Whatever the page complained about since it was opened. */
    List<String> complaints() {
        List<String> complaints = new ArrayList<>();
        for (JsonObject event : events) {
            JsonObject about = event.getJsonObject("params", new JsonObject());
            boolean bad = switch (event.getString("method")) {
                case "Runtime.exceptionThrown" -> true;
                case "Runtime.consoleAPICalled" -> List.of("error", "warning").contains(about.getString("type"));
                case "Log.entryAdded" ->
                    List.of("error", "warning")
                            .contains(about.getJsonObject("entry").getString("level"));
                default -> false;
            };
            if (bad) {
                complaints.add(about.encode());
            }
        }
        return complaints;
    }

    /** Where the page asked for anything since it was opened. */
    List<String> requests() {
        return events.stream()
                .filter(event -> "Network.requestWillBeSent".equals(event.getString("method")))
                .map(event ->
                        event.getJsonObject("params").getJsonObject("request").getString("url"))
                .toList();
    }

    /** What is in the window, or the whole page however long it is. */
    byte[] screenshot(boolean whole) {
        JsonObject wanted = new JsonObject().put("format", "png");
        if (whole) {
            JsonObject size = call("Page.getLayoutMetrics", new JsonObject()).getJsonObject("cssContentSize");
            wanted.put("captureBeyondViewport", true).put("clip", size.copy().put("scale", 1));
        }
        return Base64.getDecoder().decode(call("Page.captureScreenshot", wanted).getString("data"));
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
