package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.backend.Backend;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.run.HoldRoutes;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.sglang.ServerInfo;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** SGLang's routes to keep a prefix, and why an engine has none of them. */
final class HttpHoldRoutes implements HoldRoutes {
    private static final String OTHER_WAY =
            ", or write --hold keep-warm, which every engine that caches prefixes takes.";
    private static final String CLOSE = "/close_session";
    /** Tries of a close that is not answered; closing a session twice does no harm. */
    private static final int CLOSE_TRIES = 3;

    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(20);
    private static final long PAUSE_NANOS = 200_000_000;
    private static final String PIN = "/hicache/pin_blocks";
    private static final String UNPIN = "/hicache/unpin_blocks";

    private final URI engine;
    private final ControlHttp http;
    private final RunClock clock;
    private final Function<Way, Backend> ways;

    /**
     * Speaks to one engine.
     *
     * @param ways makes the sidecar's ways to hold
     */
    HttpHoldRoutes(URI engine, ControlHttp http, RunClock clock, Function<Way, Backend> ways) {
        this.ways = ways;
        this.engine = engine;
        this.http = http;
        this.clock = clock;
    }

    @Override
    public Optional<String> whyNoSessions() {
        Optional<ServerInfo> info = Optional.of(ask(ServerInfo.PATH, () -> http.get(ServerInfo.PATH)))
                .filter(Answer::isOk)
                .flatMap(answer -> ServerInfo.parse(answer.text()));
        Optional<String> flag = info.flatMap(each -> each.value("enable_session_radix_cache"));
        if (flag.filter("true"::equals).isPresent()) {
            int ranks = info.map(ServerInfo::caches).orElse(1);
            return ranks > 1
                    ? Optional.of("The engine at " + engine + " has " + ranks
                            + " caches (data-parallel ranks), and a session is known to the one that served its request"
                            + " only: test an engine of one rank.")
                    : Optional.empty();
        }
        return Optional.of("The engine at " + engine + " keeps nothing for sessions: "
                + (flag.isPresent()
                        ? "start it with --enable-session-radix-cache"
                        : "it is no SGLang that has them, so start one of 0.5.23 or later with"
                                + " --enable-session-radix-cache")
                + OTHER_WAY);
    }

    @Override
    public Optional<String> closeSession(String session) {
        String body =
                ControlHttp.JSON.createObjectNode().put("session_id", session).toString();
        String problem = "";
        for (int tried = 1; tried <= CLOSE_TRIES; tried++) {
            try {
                Answer answer = http.post(CLOSE, body, CLOSE_LIMIT);
                if (answer.isOk()) {
                    return Optional.empty();
                }
                problem = CLOSE + " was answered with " + ControlHttp.withoutEnd(answer.problem());
            } catch (IOException e) {
                problem = CLOSE + " was not answered";
            }
            if (tried < CLOSE_TRIES) {
                clock.sleep(PAUSE_NANOS);
            }
        }
        return Optional.of(problem + ", asked " + CLOSE_TRIES + " times");
    }

    @Override
    public Optional<String> whyNoPins() {
        Answer answer = ask(PIN, () -> http.post(PIN, body(List.of())));
        if (answer.isOk() && answer.json().path("pinned_count").isIntegralNumber()) {
            return Optional.empty();
        }
        return Optional.of("The engine at " + engine + " pins no blocks (POST " + PIN + " was answered with "
                + ControlHttp.withoutEnd(answer.problem()) + "): start one that has the route" + OTHER_WAY);
    }

    @Override
    public PinCount pin(List<Long> blocks) {
        return count(PIN, blocks, "pinned_count");
    }

    @Override
    public PinCount unpin(List<Long> blocks) {
        return count(UNPIN, blocks, "unpinned_count");
    }

    private PinCount count(String path, List<Long> blocks, String counter) {
        Answer answer = ask(path, () -> http.post(path, body(blocks)));
        return answer.isOk()
                ? new PinCount(
                        answer.json().path(counter).asInt(),
                        "POST " + path + " " + answer.status() + ": "
                                + answer.text().strip())
                : new PinCount(0, answer.problem());
    }

    @Override
    public Backend way(Way way) {
        return ways.apply(way);
    }

    private static String body(List<Long> blocks) {
        ObjectNode body = ControlHttp.JSON.createObjectNode();
        ArrayNode hashes = body.putArray("block_hashes");
        blocks.forEach(hashes::add);
        return body.toString();
    }

    private Answer ask(String path, Call call) {
        try {
            return call.answer();
        } catch (IOException e) {
            throw new LoadTestException(
                    "The engine at " + engine + " does not answer at " + path + "; check that it still runs.", e);
        }
    }

    private interface Call {
        Answer answer() throws IOException;
    }
}
