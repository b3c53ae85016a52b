package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The engine's routes beside the load: is it ready, what is it, empty its cache. */
final class EngineControl implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long PAUSE_NANOS = 20_000_000;
    private static final LoadRequest SMALLEST = new LoadRequest(Role.PRIME, 0, new int[] {7, 8, 9, 10}, 1);

    private final URI engine;
    private final HttpSettings settings;
    private final RunClock clock;
    private final ControlHttp http;

    EngineControl(URI engine, HttpSettings settings, RunClock clock) {
        this.engine = engine;
        this.settings = settings;
        this.clock = clock;
        this.http = new ControlHttp(engine, settings.headers(), LIMIT);
    }

    /**
     * Waits for a healthy answer and one real completion.
     *
     * @param starting whether the engine may still be on its way up; if not, silence is final
     */
    void awaitReady(boolean starting) {
        long until = clock.nanos() + settings.readyTimeout().toNanos();
        String last;
        do {
            try {
                Answer health = http.get("/health");
                Optional<String> problem = health.isOk() ? complete() : Optional.of(health.problem());
                if (problem.isEmpty()) {
                    return;
                }
                last = "its last answer was " + problem.get();
            } catch (IOException e) {
                last = "it does not answer";
                if (!starting) {
                    break;
                }
            }
            clock.sleep(PAUSE_NANOS);
        } while (clock.nanos() < until);
        throw new LoadTestException("The engine at " + engine + " is not ready: " + last
                + "; check that it runs and that the address is right.");
    }

    /** Asks for one token, and tells why the engine did not give it, if so: an answer of 200 can still be a failure. */
    private Optional<String> complete() throws IOException {
        Exchange exchange = new Exchange(0, SMALLEST, settings.route(), clock::nanos);
        byte[] body = settings.route().body(settings.model(), SMALLEST);
        Answer answer = http.post(settings.route().path(), new String(body, StandardCharsets.UTF_8));
        if (!answer.isOk()) {
            return Optional.of(answer.problem());
        }
        exchange.head(answer.status());
        exchange.body(Buffer.buffer(answer.text()));
        RequestRecord record = exchange.whole();
        return record.isOk() ? Optional.empty() : Optional.of(record.problem());
    }

    /** Empties the cache; an engine refuses while it is busy, so it is asked again for a while. */
    Optional<String> flush() {
        long until = clock.nanos() + settings.flushTimeout().toNanos();
        String last;
        do {
            try {
                Answer answer = http.post(settings.flushPath(), "");
                if (answer.isOk()) {
                    return Optional.empty();
                }
                last = answer.problem();
                if (answer.status() == 404) {
                    break;
                }
            } catch (IOException e) {
                last = "no answer";
            }
            clock.sleep(PAUSE_NANOS);
        } while (clock.nanos() < until);
        return Optional.of("the engine did not flush its cache (" + last + ")");
    }

    EngineFacts facts() {
        try {
            Answer answer = http.get("/server_info");
            return answer.isOk() ? facts(answer.json()) : EngineFacts.unknown();
        } catch (IOException e) {
            return EngineFacts.unknown();
        }
    }

    private static EngineFacts facts(JsonNode info) {
        JsonNode page = info.path("page_size");
        JsonNode version = info.path("version");
        return new EngineFacts(
                page.isInt() && page.intValue() > 0 ? OptionalInt.of(page.intValue()) : OptionalInt.empty(),
                count(info.path("max_total_num_tokens")),
                count(info.path("max_req_input_len")),
                version.isTextual() ? Optional.of(version.asText()) : Optional.empty());
    }

    private static OptionalLong count(JsonNode number) {
        return number.isIntegralNumber() && number.longValue() > 0
                ? OptionalLong.of(number.longValue())
                : OptionalLong.empty();
    }

    @Override
    public void close() {
        http.close();
    }
}
