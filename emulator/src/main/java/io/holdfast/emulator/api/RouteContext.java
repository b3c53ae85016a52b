package io.holdfast.emulator.api;

import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Faults;
import io.vertx.core.Future;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** Parts of a server that both engines' routes need. */
public final class RouteContext {
    private final ApiSettings settings;
    private final EngineClock clock;
    private final Ranks<?> engine;
    private final HttpFaults faults;
    private final AnswerTally answers;
    private final AtomicLong requests = new AtomicLong();

    public RouteContext(ApiSettings settings, EngineClock clock, Ranks<?> engine, Faults faults, AnswerTally answers) {
        this.settings = settings;
        this.clock = clock;
        this.engine = engine;
        this.faults = new HttpFaults(faults, new SplittableRandom(settings.seed()));
        this.answers = answers;
    }

    public ApiSettings settings() {
        return settings;
    }

    public EngineClock clock() {
        return clock;
    }

    public HttpFaults faults() {
        return faults;
    }

    /** Refuses the request where a fault wants it. */
    public void refuseByFault(ErrorFormat errors) {
        faults.error().ifPresent(status -> {
            throw new RequestRefused(
                    status, errors.refusal(status, "The server refuses this request, as its fault http-error says."));
        });
    }

    /** Counts of the answers given. */
    public AnswerTally answers() {
        return answers;
    }

    public Tokenizer tokenizer() {
        return settings.tokenizer();
    }

    /** Hands a request to the engine, and gives what it is known by there. */
    public Generation submit(
            GenerationRequest ask, GenerationRequest.Prompt prompt, StopSearch search, TokenListener listener) {
        Generation request = new Generation(
                prompt.tokens(),
                prompt.terms(),
                ask.options().stream(),
                clock.nanos(),
                listener,
                ask.stops().any() ? search : token -> false);
        engine.submit(request);
        return request;
    }

    public void abort(Generation request) {
        engine.abort(request);
    }

    /** Answers a check of health once the scheduler answers: real engines ask it as well. */
    public void health(Call call) {
        reply(call, engine.ask(_ -> true), _ -> call.empty(200));
    }

    /** Hands the engine's answer to {@code next} on the request's own event loop. */
    public <T> void reply(Call call, CompletionStage<T> answer, Consumer<T> next) {
        Future.fromCompletionStage(answer, call.vertx().getOrCreateContext())
                .onSuccess(made -> call.attempt(() -> next.accept(made)))
                .onFailure(_ -> call.cut());
    }

    /** So many hex digits, which depend on the seed and the number of the request alone. */
    public String nextId(int digits) {
        long number = requests.getAndIncrement();
        long high = Model.mix(settings.seed() + number);
        return String.format(Locale.ROOT, "%016x%016x", high, Model.mix(high ^ number))
                .substring(0, digits);
    }
}
