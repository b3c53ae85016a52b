package io.holdfast.sidecar;

import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/** Somebody who listens to a stream of events until it ends, or until this is closed. */
public final class Listening implements AutoCloseable {
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final HttpResponse<InputStream> response;
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final List<String> comments = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> over = new CompletableFuture<>();

    /** One event; the id is empty where it has none. */
    public record Event(String name, String id, String data) {
        public JsonObject json() {
            return new JsonObject(data);
        }
    }

    public Listening(URI stream, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(stream);
        if (headers.length > 0) {
            request.headers(headers);
        }
        try {
            response = client.send(request.build(), BodyHandlers.ofInputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
        Thread.ofVirtual().start(this::read);
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            String name = "";
            String id = "";
            String data = "";
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.isEmpty() && !data.isEmpty()) {
                    events.add(new Event(name, id, data));
                    name = "";
                    id = "";
                    data = "";
                } else if (line.startsWith(":")) {
                    comments.add(line);
                } else if (line.startsWith("event: ")) {
                    name = line.substring(7);
                } else if (line.startsWith("id: ")) {
                    id = line.substring(4);
                } else if (line.startsWith("data: ")) {
                    data = line.substring(6);
                }
            }
            over.complete(null);
        } catch (IOException e) {
            over.complete(null);
        }
    }

    public int status() {
        return response.statusCode();
    }

    public String header(String name) {
        return response.headers().firstValue(name).orElse("");
    }

    public List<Event> events() {
        return List.copyOf(events);
    }

    public List<String> comments() {
        return List.copyOf(comments);
    }

    public boolean over() {
        return over.isDone();
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
    }
}
