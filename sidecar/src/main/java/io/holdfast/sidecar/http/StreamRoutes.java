package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import io.holdfast.sidecar.view.ApiJson;
import io.holdfast.sidecar.view.DecisionLog;
import io.holdfast.sidecar.view.DecisionLog.Decision;
import io.holdfast.sidecar.view.Overview;
import io.holdfast.sidecar.view.Overviews;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The API's routes for whoever watches: all engines at a glance and the last decisions, once or as streams of events. */
final class StreamRoutes implements HttpApi.Routes, AutoCloseable {
    private static final int LOOK_MILLIS = 1_000;
    private static final int MOST_AT_ONCE = 50;

    private final HttpApi api;
    private final Access access;
    private final Overviews overviews;
    private final EventStreams streams;
    private Runnable stop = () -> {};

    StreamRoutes(HttpApi api, Access access, Overviews overviews, EventStreams streams) {
        this.api = api;
        this.access = access;
        this.overviews = overviews;
        this.streams = streams;
    }

    @Override
    public void addTo(Router router) {
        router.get("/api/v1/overview").handler(this::overview);
        router.get("/api/v1/overview/stream").handler(this::followOverview);
        router.get("/api/v1/decisions").handler(this::decisions);
        router.get("/api/v1/decisions/stream").handler(this::followDecisions);
    }

    /** Looks for news from now on. */
    void begin(Vertx vertx) {
        long timer = vertx.setPeriodic(LOOK_MILLIS, now -> look());
        stop = () -> vertx.cancelTimer(timer);
    }

    private void look() {
        if (streams.listening() > 0) {
            streams.beat();
            overviews.now(Optional.empty()).whenComplete((seen, failure) -> streams.tell());
        }
    }

    Future<Void> end() {
        return streams.end();
    }

    @Override
    public void close() {
        stop.run();
        streams.close();
    }

    private void overview(RoutingContext context) {
        Optional<String> engine = engine(context);
        boolean why = access.mayAct(context.request());
        now(engine)
                .onSuccess(seen ->
                        api.show(context, () -> new JsonObject(seen.document(seen.text(seen.detailed(engine), why)))))
                .onFailure(context::fail);
    }

    private void followOverview(RoutingContext context) {
        Optional<String> engine = engine(context);
        boolean why = access.mayAct(context.request());
        now(engine)
                .map(seen -> {
                    streams.open(context, new OverviewSource(seen.detailed(engine), why));
                    return seen;
                })
                .onFailure(context::fail);
    }

    private Future<Overview> now(Optional<String> engine) {
        return api.await(
                        overviews.now(engine),
                        HttpApi.OUTCOME_SECONDS,
                        "The engines could not be looked at in time; ask again.")
                .compose(seen -> engine.isPresent() || seen.engines().isEmpty()
                        ? Future.succeededFuture(seen)
                        : now(Optional.of(seen.detailed(engine))));
    }

    /** The last overview, where it differs from the one told before. */
    private final class OverviewSource implements EventStreams.Source {
        private final String detailed;
        private final boolean why;
        private String told = "";

        private OverviewSource(String detailed, boolean why) {
            this.detailed = detailed;
            this.why = why;
        }

        @Override
        public Optional<String> next() {
            return overviews.last(detailed).flatMap(seen -> {
                String text = seen.text(detailed, why);
                if (text.equals(told)) {
                    return Optional.empty();
                }
                told = text;
                return Optional.of(EventStreams.event("overview", Optional.empty(), seen.document(text)));
            });
        }
    }

    private void decisions(RoutingContext context) {
        Optional<String> engine = engine(context);
        int limit = (int) number(context, "limit", 500).orElse(50);
        long before = number(context, "before", Long.MAX_VALUE).orElse(Long.MAX_VALUE);
        boolean why = access.mayAct(context.request());
        List<Decision> found = overviews.decisions().before(before, limit + 1, engine);
        List<Decision> page = found.size() > limit ? found.subList(0, limit) : found;
        JsonObject answer = new JsonObject()
                .put(
                        "decisions",
                        ApiJson.array(page.stream()
                                .map(made -> ApiJson.decision(made, why))
                                .toList()));
        if (found.size() > limit) {
            answer.put("next", Long.toString(page.getLast().id()));
        }
        api.reply(context, 200, answer);
    }

    private void followDecisions(RoutingContext context) {
        Optional<String> engine = engine(context);
        boolean why = access.mayAct(context.request());
        OptionalLong last = number(context, "after", Long.MAX_VALUE);
        String header = context.request().getHeader("Last-Event-ID");
        if (header != null) {
            last = number("Last-Event-ID", header, Long.MAX_VALUE);
        }
        streams.open(
                context,
                new DecisionSource(
                        engine, why, last.orElse(overviews.decisions().newest())));
    }

    /** The decisions after the one told before; those that are not kept any more are told to be missing. */
    private final class DecisionSource implements EventStreams.Source {
        private final Optional<String> engine;
        private final boolean why;
        private final Deque<Decision> coming = new ArrayDeque<>();
        private long told;

        private DecisionSource(Optional<String> engine, boolean why, long told) {
            this.engine = engine;
            this.why = why;
            this.told = told;
        }

        @Override
        public Optional<String> next() {
            DecisionLog log = overviews.decisions();
            if (coming.isEmpty()) {
                boolean missing = log.forgotAfter(told);
                coming.addAll(log.after(told, MOST_AT_ONCE));
                if (missing) {
                    told = coming.getFirst().id() - 1;
                    return Optional.of(EventStreams.event(
                            "gap",
                            Optional.empty(),
                            new JsonObject()
                                    .put("reason", "Older decisions than the ones that follow are not kept any more.")
                                    .encode()));
                }
            }
            while (!coming.isEmpty()) {
                Decision made = coming.removeFirst();
                told = made.id();
                if (engine.map(made.engine()::equals).orElse(true)) {
                    return Optional.of(EventStreams.event(
                            "decision",
                            Optional.of(Long.toString(made.id())),
                            ApiJson.decision(made, why).encode()));
                }
                if (coming.isEmpty()) {
                    coming.addAll(log.after(told, MOST_AT_ONCE));
                }
            }
            return Optional.empty();
        }
    }

    /** The engine that the request names, if it names one. */
    private Optional<String> engine(RoutingContext context) {
        return Optional.ofNullable(context.request().getParam("engine"))
                .map(id -> api.engine(id).id());
    }

    private static OptionalLong number(RoutingContext context, String name, long most) {
        String written = context.request().getParam(name);
        return written == null ? OptionalLong.empty() : number(name, written, most);
    }

    private static OptionalLong number(String name, String written, long most) {
        long number = written.matches("[0-9]{1,18}") ? Long.parseLong(written) : -1;
        if (number < 1 || number > most) {
            throw badRequest(name + " is " + shown(written) + "; write "
                    + (most == Long.MAX_VALUE ? "the id of a decision." : "1 to " + most + "."));
        }
        return OptionalLong.of(number);
    }
}
