package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.Call;
import io.holdfast.emulator.api.Reply;
import io.holdfast.emulator.api.RouteContext;
import io.holdfast.emulator.api.Routes;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.api.ValidationError;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.sglang.PinAnswer;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.stream.Collectors;

/** SGLang's routes that steer it: flushing, aborting, sessions, and the pins of its branches. */
final class SglangControl {
    private static final String FLUSHED = "Cache flushed.\nPlease check backend logs for more details. "
            + "(When there are running or waiting requests, the operation will not be performed.)\n";
    private static final String STILL_OPEN =
            "Failed to open the session. Check if a session with the same id is still open.";
    private static final long FLUSH_RETRY_MILLIS = 20;

    private final SglangSettings settings;
    private final Ranks<SglangEngine> engine;
    private final RouteContext context;
    private final Map<String, Reply> open;
    private final Set<String> sessions = new HashSet<>();

    SglangControl(SglangSettings settings, Ranks<SglangEngine> engine, RouteContext context, Map<String, Reply> open) {
        this.settings = settings;
        this.engine = engine;
        this.context = context;
        this.open = open;
    }

    Routes addTo(Routes routes) {
        for (String method : List.of("GET", "POST")) {
            routes.on(method, "/flush_cache", this::flush)
                    .on(method, "/open_session", this::openSession)
                    .on(method, "/close_session", this::closeSession);
        }
        routes.post("/abort_request", this::abort);
        switch (settings.variant()) {
            case STOCK -> {}
            case PIN_GPU, PIN_HOST ->
                routes.post("/hicache/pin_blocks", call -> pins(call, "pinned", SglangEngine::pin))
                        .post("/hicache/unpin_blocks", call -> pins(call, "unpinned", SglangEngine::unpin));
        }
        return routes;
    }

    private void flush(Call call) {
        double timeout = call.query("timeout").map(SglangControl::timeout).orElse(0.0);
        if (timeout > 0) {
            flush(call, context.clock().nanos() + Math.round(timeout * 1e9));
        } else {
            context.reply(
                    call,
                    flush(),
                    flushed -> call.bare(flushed ? 200 : 400, flushed ? FLUSHED : "Flush cache failed.\n"));
        }
    }

    private void flush(Call call, long deadline) {
        context.reply(call, flush(), flushed -> {
            if (flushed) {
                call.bare(200, FLUSHED);
            } else if (context.clock().nanos() - deadline >= 0) {
                call.bare(400, "Timed out waiting for idle state.");
            } else if (call.isOpen()) {
                call.vertx().setTimer(FLUSH_RETRY_MILLIS, _ -> flush(call, deadline));
            }
        });
    }

    /** Flushes every rank; whether all let it happen. */
    private CompletionStage<Boolean> flush() {
        return engine.ask(SglangEngine::flush).thenApply(flushed -> !flushed.contains(false));
    }

    private static double timeout(String text) {
        try {
            double seconds = Double.parseDouble(text);
            if (seconds >= 0) {
                return Math.min(seconds, 1e6);
            }
        } catch (NumberFormatException e) {
            // As a negative one.
        }
        throw new ValidationError("float_parsing", List.of("query", "timeout"), "Input should be a valid number");
    }

    private void openSession(Call call) {
        call.read(ValidatedBody::parse, body -> {
            String id = body.text("session_id").orElseGet(() -> context.nextId(32));
            if (body.flag("streaming")) {
                openStreaming(call, id, body.number("timeout"));
                return;
            }
            synchronized (sessions) {
                if (!sessions.add(id)) {
                    throw SglangErrors.plainly(STILL_OPEN);
                }
            }
            call.json(200, io.vertx.core.json.Json.encode(id));
        });
    }

    private void openStreaming(Call call, String id, Optional<Double> seconds) {
        if (!settings.streaming()) {
            throw SglangErrors.plainly(
                    "Streaming sessions are disabled. Please relaunch with --enable-streaming-session.");
        }
        Optional<Duration> time = seconds.map(limit -> Duration.ofNanos(Math.round(limit * 1e9)));
        context.reply(call, engine.ask(scheduler -> scheduler.openSession(id, time)), opened -> {
            if (opened.contains(false)) {
                throw SglangErrors.plainly(STILL_OPEN);
            }
            call.json(200, io.vertx.core.json.Json.encode(id));
        });
    }

    private void closeSession(Call call) {
        call.read(ValidatedBody::parse, body -> {
            body.require("session_id");
            String id = body.text("session_id").orElse("");
            synchronized (sessions) {
                sessions.remove(id);
            }
            context.reply(
                    call,
                    engine.ask(scheduler -> {
                        scheduler.closeSession(id);
                        return true;
                    }),
                    _ -> late(call, () -> call.empty(200)));
        });
    }

    private void abort(Call call) {
        call.read(ValidatedBody::parse, body -> {
            List<Reply> aborted = body.flag("abort_all")
                    ? List.copyOf(new HashSet<>(open.values()))
                    : body.text("rid").flatMap(id -> Optional.ofNullable(open.get(id))).stream()
                            .toList();
            aborted.forEach(Reply::abort);
            call.empty(200);
        });
    }

    private void pins(Call call, String name, BiFunction<SglangEngine, long[], PinAnswer> change) {
        call.read(ValidatedBody::parse, body -> {
            long[] blocks = body.numbers("block_hashes");
            context.reply(
                    call,
                    engine.ask(scheduler -> change.apply(scheduler, blocks)),
                    answers -> late(
                            call, () -> call.json(accepted(answers) ? 200 : 400, worded(name + "_count", answers))));
        });
    }

    private static boolean accepted(List<PinAnswer> ranks) {
        return ranks.stream().allMatch(PinAnswer::accepted);
    }

    /** The ranks' counts are added up, their words are put one after the other. */
    private static JsonObject worded(String count, List<PinAnswer> ranks) {
        return new JsonObject()
                .put("status", accepted(ranks) ? "ok" : "error")
                .put(count, ranks.stream().mapToInt(PinAnswer::count).sum())
                .put("message", ranks.stream().map(PinAnswer::message).collect(Collectors.joining(" | ")));
    }

    /** Answers later than it was done, where a fault says so. */
    private void late(Call call, Runnable answer) {
        Duration delay = context.faults().pinDelay();
        if (delay.isZero()) {
            answer.run();
        } else {
            call.vertx().setTimer(delay.toMillis(), _ -> answer.run());
        }
    }
}
