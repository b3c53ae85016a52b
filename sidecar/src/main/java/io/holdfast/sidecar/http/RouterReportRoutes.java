package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.hold.Lease;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.engine.EngineLink;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/** The API's routes by which routers tell what they see of requests: which prefix one used, when its first token came. */
final class RouterReportRoutes implements HttpApi.Routes {
    private static final int MOST_TOUCHES = 256;
    private static final int MOST_FIRST_TOKENS = 1_000;

    private final HttpApi api;

    RouterReportRoutes(HttpApi api) {
        this.api = api;
    }

    @Override
    public void addTo(Router router) {
        router.post("/api/v1/engines/:engine/touches").handler(this::touched);
        router.post("/api/v1/engines/:engine/first-tokens").handler(this::firstTokens);
    }

    private void touched(RoutingContext context) {
        EngineLink engine = api.engine(context);
        HttpApi.requireJson(context.request());
        api.body(context)
                .onSuccess(body -> api.work(() -> touches(body.bytes(), engine.mostBlocks()))
                        .compose(used -> tell(engine, used))
                        .onSuccess(taken -> replyTaken(context, taken))
                        .onComplete(done -> body.close())
                        .onFailure(context::fail))
                .onFailure(context::fail);
    }

    /** Number of a call's reports that were taken. */
    private record Taken(int taken, int of) {}

    private Future<Taken> tell(EngineLink engine, List<PrefixSource> used) {
        List<Future<Boolean>> told = used.stream()
                .map(source -> api.resolved(engine, source, Lease.absolute(Lease.LONGEST))
                        .map(resolved -> engine.controller().touched(resolved.request())))
                .toList();
        return Future.all(told)
                .map(all -> new Taken((int) told.stream().filter(Future::result).count(), told.size()));
    }

    private static List<PrefixSource> touches(byte[] bytes, int mostBlocks) {
        List<PrefixSource> used = new ArrayList<>();
        PrefixFields one = new PrefixFields(mostBlocks);
        boolean[] single = new boolean[1];
        PrefixFields.each(bytes, "{\"tokens\":[1,2,3]}", (field, json) -> {
            if (field.equals("touches")) {
                List<PrefixFields> several = new ArrayList<>();
                PrefixFields.list(json, field, MOST_TOUCHES, index -> {
                    PrefixFields next = new PrefixFields(mostBlocks);
                    several.add(next);
                    return (name, value) -> takePrefix(next, name, value);
                });
                several.forEach(each -> used.add(each.source()));
            } else {
                single[0] = true;
                takePrefix(one, field, json);
            }
        });
        if (single[0] && !used.isEmpty()) {
            throw badRequest("The body has touches and a prefix beside them; send one or the other.");
        }
        return used.isEmpty() ? List.of(one.source()) : used;
    }

    private static void takePrefix(PrefixFields prefix, String field, JsonParser json) throws IOException {
        if (!prefix.take(field, json)) {
            throw badRequest("The field " + shown(field) + " is unknown; a touch has " + PrefixFields.WAYS
                    + ", or touches is a list of such.");
        }
    }

    private void firstTokens(RoutingContext context) {
        EngineLink engine = api.engine(context);
        HttpApi.requireJson(context.request());
        api.body(context)
                .map(body -> {
                    try (body) {
                        return reports(body.bytes());
                    }
                })
                .onSuccess(reports -> {
                    int taken = 0;
                    for (FirstToken report : reports) {
                        taken += engine.controller().firstToken(report) ? 1 : 0;
                    }
                    replyTaken(context, new Taken(taken, reports.size()));
                })
                .onFailure(context::fail);
    }

    private void replyTaken(RoutingContext context, Taken taken) {
        JsonObject counts = new JsonObject().put("taken", taken.taken()).put("notTaken", taken.of() - taken.taken());
        if (taken.taken() == 0) {
            api.refuse(
                    context, 503, "No report was taken, since the queue is full. Only these reports are lost.", counts);
        } else {
            api.reply(context, 202, counts);
        }
    }

    /** One report as its fields come. */
    private static final class Report {
        private final String what;
        private OptionalDouble seconds = OptionalDouble.empty();
        private OptionalInt promptTokens = OptionalInt.empty();
        private OptionalInt cachedTokens = OptionalInt.empty();
        private Optional<String> requestClass = Optional.empty();

        Report(String what) {
            this.what = what;
        }

        void take(String field, JsonParser json) throws IOException {
            switch (field) {
                case "seconds" -> seconds = OptionalDouble.of(number(json, field));
                case "promptTokens" -> promptTokens = OptionalInt.of(count(json, field));
                case "cachedTokens" -> cachedTokens = OptionalInt.of(count(json, field));
                case "class" -> requestClass = Optional.of(text(json));
                default ->
                    throw badRequest("The field " + shown(field) + " is unknown; a first token has seconds,"
                            + " promptTokens, and perhaps cachedTokens and class, or firstTokens is a list of such.");
            }
        }

        FirstToken made() {
            double after = seconds.orElseThrow(() -> badRequest(
                    what + "seconds is missing; it is the time from sending the request to its first token."));
            int prompt = promptTokens.orElseThrow(
                    () -> badRequest(what + "promptTokens is missing; give the prompt's length."));
            try {
                return new FirstToken(after, prompt, cachedTokens, requestClass);
            } catch (IllegalArgumentException impossible) {
                throw badRequest(String.valueOf(impossible.getMessage()));
            }
        }

        private static double number(JsonParser json, String field) throws IOException {
            JsonToken token = json.currentToken();
            if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_NUMBER_FLOAT) {
                throw badRequest(field + " is not a number; write seconds, such as 0.25.");
            }
            String written = json.getText();
            return written.length() <= 32 ? Double.parseDouble(written) : Double.POSITIVE_INFINITY;
        }

        private static int count(JsonParser json, String field) throws IOException {
            String written = json.currentToken() == JsonToken.VALUE_NUMBER_INT ? json.getText() : "";
            if (!written.matches("[0-9]{1,9}")) {
                throw badRequest(field + " is no whole number of tokens; write one, such as 512.");
            }
            return Integer.parseInt(written);
        }

        private static String text(JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.VALUE_STRING) {
                throw badRequest("class is not a string; name the kind of request, or leave it out.");
            }
            return json.getText();
        }
    }

    private static List<FirstToken> reports(byte[] bytes) {
        List<Report> several = new ArrayList<>();
        Report one = new Report("");
        boolean[] single = new boolean[1];
        PrefixFields.each(bytes, "{\"seconds\":0.25,\"promptTokens\":512}", (field, json) -> {
            if (field.equals("firstTokens")) {
                PrefixFields.list(json, field, MOST_FIRST_TOKENS, index -> {
                    Report next = new Report("firstTokens[" + index + "].");
                    several.add(next);
                    return next::take;
                });
            } else {
                single[0] = true;
                one.take(field, json);
            }
        });
        if (single[0] && !several.isEmpty()) {
            throw badRequest("The body has firstTokens and one beside them; send one or the other.");
        }
        return several.isEmpty()
                ? List.of(one.made())
                : several.stream().map(Report::made).toList();
    }
}
