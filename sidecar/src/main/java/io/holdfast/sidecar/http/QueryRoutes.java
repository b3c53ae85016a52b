package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.Tier;
import io.holdfast.core.reading.Reading;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.PrefixResolver.Naming;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Routes that say where a prompt is cached, in the form of the indexers of Mooncake and Dynamo. The index is read
 * while events change it; neither waits for the other.
 */
final class QueryRoutes implements HttpApi.Routes {
    /** Read where it came in: handing it on takes longer. */
    private static final int SMALL_BODY = 64 << 10;

    private static final int MOST_BLOCKS = 1 << 20;

    private final HttpApi api;
    private final Map<String, EngineLink> engines;
    private final LongSupplier clock;

    QueryRoutes(HttpApi api, Map<String, EngineLink> engines, LongSupplier clock) {
        this.api = api;
        this.engines = engines;
        this.clock = clock;
    }

    @Override
    public void addTo(Router router) {
        router.post("/query").handler(context -> answer(context, Question::byTokens));
        router.post("/query_by_hash").handler(context -> answer(context, Question::byHashes));
    }

    private void answer(RoutingContext context, Function<BodyLists, Question> parser) {
        HttpApi.requireJson(context.request());
        api.body(context)
                .compose(body -> upToDate()
                        .compose(applied -> {
                            Supplier<BodyLists> lists = body.lists();
                            return body.length() <= SMALL_BODY
                                    ? answer(parser.apply(lists.get()))
                                    : api.work(() -> answer(parser.apply(lists.get())))
                                            .compose(Function.identity());
                        })
                        .onComplete(done -> body.recycle()))
                .onSuccess(json -> api.reply(context, 200, json))
                .onFailure(context::fail);
    }

    private Future<JsonObject> answer(Question question) {
        List<EngineLink> asked = asked(question);
        return question.text
                .map(text -> byText(asked, text))
                .orElseGet(() -> Future.succeededFuture(answer(asked, question::path)));
    }

    /** A text has the tokens that each engine makes of it; how long that took is told, since it is the engine's time. */
    private Future<JsonObject> byText(List<EngineLink> asked, String text) {
        List<Future<Tokenized>> made =
                asked.stream().map(engine -> tokenized(engine, text)).toList();
        return Future.join(made)
                .compose(all -> api.work(() -> {
                    JsonObject seconds = new JsonObject();
                    JsonObject answer = answer(asked, engine -> switch (made.get(asked.indexOf(engine))
                            .result()) {
                        case Tokenized.Refused refused -> throw refused.why();
                        case Tokenized.Tokens tokens -> {
                            seconds.put(engine.id(), tokens.seconds());
                            yield engine.prefixes().names(tokens.ids());
                        }
                    });
                    return answer.put("tokenizing_seconds", seconds);
                }));
    }

    private Future<Tokenized> tokenized(EngineLink engine, String text) {
        long start = clock.getAsLong();
        return api.tokens(engine, text)
                .<Tokenized>map(ids ->
                        new Tokenized.Tokens(ids, TimeUnit.NANOSECONDS.toMicros(clock.getAsLong() - start) / 1e6))
                .recover(cause -> cause instanceof ApiError why
                        ? Future.succeededFuture(new Tokenized.Refused(why))
                        : Future.failedFuture(cause));
    }

    /** Tokens that an engine made of a text, or the reason why it made none. */
    private sealed interface Tokenized {
        @SuppressWarnings("ArrayRecordComponent") // two are never compared
        record Tokens(int[] ids, double seconds) implements Tokenized {}

        record Refused(ApiError why) implements Tokenized {}
    }

    /** All engines are followed by one thread, so any of them tells. */
    private Future<?> upToDate() {
        Optional<EngineLink> any = engines.values().stream().findAny();
        if (any.isEmpty()) {
            return Future.succeededFuture();
        }
        CompletableFuture<Void> applied = any.get().upToDate().toCompletableFuture();
        return applied.isDone()
                ? Future.succeededFuture()
                : api.await(applied, HttpApi.OUTCOME_SECONDS, HttpApi.controllerSilent(any.get()));
    }

    /** A query and the engines that it is about. */
    private static final class Question {
        private Optional<int[]> tokens = Optional.empty();
        private Optional<String> text = Optional.empty();
        /** Names of the blocks, which many engines have alike and which cost a SHA-256 each. */
        private final Map<Naming, long[]> named = new HashMap<>();

        private Optional<long[]> hashes = Optional.empty();
        private Optional<String> model = Optional.empty();
        private Optional<String> instance = Optional.empty();

        static Question byTokens(BodyLists body) {
            Question question = new Question();
            PrefixFields.each(body, "{\"token_ids\":[1,2,3]}", (field, json) -> {
                if (field.equals("token_ids") || field.equals("tokens")) {
                    if (question.tokens.isPresent()) {
                        throw badRequest("The body has token_ids and tokens; send one of them.");
                    }
                    question.tokens = Optional.of(PrefixFields.tokens(json, field));
                } else if (field.equals("text")) {
                    question.text = Optional.of(PrefixFields.text(json));
                } else {
                    question.take(field, json, "token_ids or text");
                }
            });
            if (question.tokens.isPresent() && question.text.isPresent()) {
                throw badRequest("The body has token ids and a text; send one of them.");
            }
            if (question.tokens.isEmpty() && question.text.isEmpty()) {
                throw badRequest("token_ids is missing; send the prompt's token ids, or its text.");
            }
            return question;
        }

        static Question byHashes(BodyLists body) {
            Question question = new Question();
            PrefixFields.each(body, "{\"block_hashes\":[1,2,3]}", (field, json) -> {
                if (field.equals("block_hashes")) {
                    question.hashes = Optional.of(PrefixFields.hashes(json, field, MOST_BLOCKS));
                } else {
                    question.take(field, json, "block_hashes");
                }
            });
            if (question.hashes.isEmpty()) {
                throw badRequest(
                        "block_hashes is missing; send the engine's hashes of the prompt's blocks, root first.");
            }
            return question;
        }

        private void take(String field, JsonParser json, String what) throws IOException {
            switch (field) {
                case "model_name", "model" -> model = name(json, field);
                case "instance_id" -> instance = name(json, field);
                // Others divide engines by these; here all that are configured are asked.
                case "tenant_id", "routing_group" -> name(json, field);
                case "lora_name", "cache_salt" -> {
                    if (name(json, field).isPresent()) {
                        throw badRequest(field + " is not known to the names of blocks here; ask by the engine's own"
                                + " hashes (POST /query_by_hash), which it is part of.");
                    }
                }
                default -> {
                    PrefixFields.refuseContentNames(field);
                    throw badRequest("The field " + shown(field) + " is unknown; a query has " + what
                            + ", and perhaps model_name and instance_id.");
                }
            }
        }

        private static Optional<String> name(JsonParser json, String field) throws IOException {
            if (json.currentToken() == JsonToken.VALUE_NULL) {
                return Optional.empty();
            }
            if (json.currentToken() != JsonToken.VALUE_STRING) {
                throw badRequest(field + " is not a string.");
            }
            return Optional.of(json.getText());
        }

        /** The path in the names of one engine. */
        long[] path(EngineLink engine) {
            return hashes.orElseGet(
                    () -> named.computeIfAbsent(engine.prefixes().naming(), naming -> naming.of(tokens.orElseThrow())));
        }
    }

    private static JsonObject answer(List<EngineLink> asked, Function<EngineLink, long[]> paths) {
        JsonObject scores = new JsonObject();
        JsonObject instances = new JsonObject();
        JsonObject unanswered = new JsonObject();
        Matches matches = new Matches();
        for (EngineLink engine : asked) {
            try {
                long[] path = paths.apply(engine);
                JsonObject score = new JsonObject();
                instances.put(engine.id(), instance(engine, path, blockTokens(engine), matches, score));
                scores.put(engine.id(), score);
            } catch (ApiError unknown) {
                unanswered.put(engine.id(), unknown.sentence());
            }
        }
        JsonObject answer = new JsonObject().put("scores", scores).put("instances", instances);
        return unanswered.isEmpty() ? answer : answer.put("unanswered", unanswered);
    }

    private List<EngineLink> asked(Question question) {
        List<EngineLink> asked = new ArrayList<>();
        for (EngineLink engine : engines.values()) {
            boolean named = question.instance.map(engine.id()::equals).orElse(true);
            boolean serves = question.model.isEmpty()
                    || engine.model().map(question.model.get()::equals).orElse(true);
            if (named && serves) {
                engine.views().asked();
                asked.add(engine);
            }
        }
        if (asked.isEmpty()) {
            throw api.noEngine(
                    "No engine here"
                            + question.instance
                                    .map(id -> " is called " + shown(id))
                                    .orElse("")
                            + (question.instance.isPresent() && question.model.isPresent() ? " and" : "")
                            + question.model
                                    .map(name -> " serves " + shown(name))
                                    .orElse(""),
                    question.instance);
        }
        return asked;
    }

    private static int blockTokens(EngineLink engine) {
        return engine.view().readings().blockTokens() instanceof Reading.Known known ? (int) known.value() : 0;
    }

    /** Each tier counts what it and the nearer ones hold together; of several ranks, the one that holds most. */
    private static JsonObject instance(
            EngineLink engine, long[] path, int blockTokens, Matches matches, JsonObject score) {
        if (blockTokens == 0) {
            throw new ApiError(409, "The engine's block size is not known yet; ask again when it answers.");
        }
        int gpu = 0;
        int cpu = 0;
        int disk = 0;
        for (int rank = 0; engine.controller().match(rank, path, 0, path.length, matches); rank++) {
            int here = matches.count() == 0 ? 0 : matches.depth(0, Tier.GPU) * blockTokens;
            score.put(Integer.toString(rank), here);
            gpu = Math.max(gpu, here);
            if (matches.count() > 0) {
                cpu = Math.max(cpu, matches.depth(0, Tier.HOST) * blockTokens);
                disk = Math.max(disk, matches.depth(0, Tier.EXTERNAL) * blockTokens);
            }
        }
        return new JsonObject()
                .put("longest_matched", disk)
                .put("gpu", gpu)
                .put("dp", score.copy())
                .put("cpu", cpu)
                .put("disk", disk);
    }
}
