package io.holdfast.vllm;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.MetricsText;
import io.holdfast.http.MetricsText.Sample;
import io.holdfast.http.ProbeLoop;
import io.holdfast.http.Reply;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;

/** Finds out whether an engine keeps prefixes at all, and in how many caches. */
public final class PrefixCaching {
    private static final String METRICS = "/metrics";
    private static final String CONFIG = "vllm:cache_config_info";

    private PrefixCaching() {}

    /**
     * Answer to the question.
     *
     * @param page that it was read from; empty where there was none
     */
    record Found(Capabilities can, MetricsText page) {
        private static Found no(String why) {
            return new Found(new Capabilities(false, why), MetricsText.parse(""));
        }
    }

    /**
     * Asks a vLLM engine until it says something: one that starts has said nothing about what it can do.
     *
     * @param timer paces the questions; once it is shut down, silence is taken for a no
     */
    public static CompletionStage<Capabilities> ask(EngineHttp http, ScheduledExecutorService timer) {
        return find(http, timer).thenApply(Found::can);
    }

    /** Asks as {@link #ask} does, and returns the page with the answer for whoever looks for more on it. */
    static CompletionStage<Found> find(EngineHttp http, ScheduledExecutorService timer) {
        return find(http, timer, METRICS, ".", page -> judge(page.samples(CONFIG)));
    }

    /** Asks a TensorRT-LLM engine in the same way. */
    public static CompletionStage<Capabilities> askTensorRt(EngineHttp http, ScheduledExecutorService timer) {
        return find(
                        http,
                        timer,
                        TensorRtReadings.PATH,
                        ": start it with " + TensorRtReadings.FLAGS + ".",
                        PrefixCaching::judgeTensorRt)
                .thenApply(Found::can);
    }

    private static CompletionStage<Found> find(
            EngineHttp http,
            ScheduledExecutorService timer,
            String route,
            String mend,
            Function<MetricsText, Capabilities> judge) {
        return new ProbeLoop<>(
                        timer,
                        () -> http.get(route)
                                .thenApply(reply -> new ProbeLoop.Attempt<>(
                                        silence(reply, route), () -> judge(reply, route, mend, judge))),
                        Found::no)
                .answer();
    }

    private static Optional<String> silence(Reply reply, String route) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Optional.of(lost.why());
            case Reply.Answer answer
            when answer.status() == 429 || answer.status() >= 500 ->
                Optional.of("The engine answered " + route + " with HTTP " + answer.status() + ".");
            case Reply.Answer answer -> Optional.empty();
        };
    }

    private static Found judge(Reply reply, String route, String mend, Function<MetricsText, Capabilities> judge) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Found.no(lost.why());
            case Reply.Answer answer when answer.wantsKey() -> Found.no(answer.wantedKey(route));
            case Reply.Answer answer
            when answer.status() != 200 ->
                Found.no("The engine answered " + route + " with HTTP " + answer.status()
                        + ", so that it is not known whether it caches prefixes" + mend);
            case Reply.Answer answer -> {
                MetricsText page = MetricsText.parse(answer.body());
                yield new Found(judge.apply(page), page);
            }
        };
    }

    /** Reuse of blocks is on unless it is switched off, and told where it is. */
    private static Capabilities judgeTensorRt(MetricsText page) {
        return page.samples("trtllm_kv_cache_config_info").stream()
                        .anyMatch(cache -> cache.label("enable_block_reuse").equals("False"))
                ? new Capabilities(
                        false, "The engine caches no prefixes: start it with kv_cache_config.enable_block_reuse: true.")
                : new Capabilities(true, "The engine keeps what was used last.");
    }

    private static Capabilities judge(List<Sample> caches) {
        if (caches.isEmpty()) {
            return new Capabilities(
                    false, METRICS + " has no " + CONFIG + ", which shows whether the engine caches prefixes.");
        }
        if (caches.size() > 1) {
            return new Capabilities(
                    false,
                    "This engine has " + caches.size()
                            + " caches (data-parallel ranks), and a request reaches one of them only: run one engine"
                            + " for each rank, each with a sidecar's engine of its own.");
        }
        return caches.getFirst().label("enable_prefix_caching").equals("False")
                ? new Capabilities(false, "The engine caches no prefixes: start it without --no-enable-prefix-caching.")
                : new Capabilities(true, "The engine keeps what was used last.");
    }
}
