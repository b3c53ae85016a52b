package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.events.EventSource;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.HoldRoutes;
import io.holdfast.loadtest.run.LifeSign;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.PlainWords;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/** The engine's routes beside the load: is it ready, what is it, empty its cache. */
final class EngineControl implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    /**
     * Time that a running server may take for an answer that needs no model. It has had its time to start, so a server
     * that is silent for longer is none. The time of a completion proves nothing, and is waited for.
     */
    private static final Duration GREETING_LIMIT = Duration.ofSeconds(4);

    private static final long PAUSE_NANOS = 20_000_000;
    private static final long MOST_PAUSE_NANOS = 500_000_000;
    /** Time between two messages that tell a waiting person what the wait is for. */
    private static final long WORD_NANOS = 10_000_000_000L;

    private static final String VLLM = "vllm:";
    private static final String CACHE = "vllm:cache_config_info{";
    private static final Pattern COUNTING = Pattern.compile("(?m)^(vllm|sglang):");
    private static final Pattern PROMPT_TOKENS = Pattern.compile("(vllm|sglang):prompt_tokens_total[{ ]");
    private static final Pattern CACHED_TOKENS =
            Pattern.compile("(sglang:cached_tokens_total|vllm:prefix_cache_hits_total)[{ ]");
    /** Total count, which some releases tell beside those of each source. */
    private static final Pattern CACHED_TOKENS_IN_ALL =
            Pattern.compile("sglang:cached_tokens_total\\{.*cache_source=\"total\"");

    private static final Pattern BLOCK = Pattern.compile("\\bblock_size=\"([0-9]{1,9})\"");
    private static final Pattern BLOCKS = Pattern.compile("\\bnum_gpu_blocks=\"([0-9]{1,9})\"");

    /** Arguments of an engine, and labels of a vLLM's cache, without which a number cannot be compared with another. */
    private static final List<String> FLAGS = List.of(
            "attention_backend",
            "block_size",
            "cache_dtype",
            "chunked_prefill_size",
            "disable_cuda_graph",
            "disable_overlap_schedule",
            "disable_radix_cache",
            "dp_size",
            "dtype",
            "enable_cache_report",
            "enable_hierarchical_cache",
            "enable_prefix_caching",
            "gpu_memory_utilization",
            "enable_chunked_prefill",
            "kv_cache_dtype",
            "max_num_batched_tokens",
            "max_num_seqs",
            "max_running_requests",
            "mem_fraction_static",
            "page_size",
            "prefix_caching_hash_algo",
            "quantization",
            "radix_eviction_policy",
            "random_seed",
            "schedule_policy",
            "speculative_algorithm",
            "tp_size");

    /** Three, since one of them may be a token that has no text. */
    private static final List<Integer> LARGEST_TOKENS = List.of(29_997, 29_998, 29_999);

    private static final LoadRequest SMALLEST = new LoadRequest(Role.PRIME, 0, new int[] {7, 8, 9, 10}, 1);

    private final URI engine;
    private final HttpSettings settings;
    private final RunClock clock;
    private final Consumer<String> waiting;
    private final Supplier<Optional<String>> ended;
    private final ControlHttp http;
    private boolean tokensAreKnown;
    private boolean tries = true;

    /** @param waiting receives what is being waited for */
    EngineControl(URI engine, HttpSettings settings, RunClock clock, Consumer<String> waiting) {
        this(engine, settings, clock, waiting, Optional::empty);
    }

    /** @param ended why there is nothing to wait for any more, once that is so */
    EngineControl(
            URI engine,
            HttpSettings settings,
            RunClock clock,
            Consumer<String> waiting,
            Supplier<Optional<String>> ended) {
        this.ended = ended;
        this.engine = engine;
        this.settings = settings;
        this.clock = clock;
        this.waiting = waiting;
        this.http = new ControlHttp(engine, settings.headers(), settings.ca(), LIMIT);
    }

    /**
     * Sends a server that runs already no completion to see that it is ready: what counts its requests is to count
     * ours.
     */
    void withoutTrial() {
        tries = false;
    }

    /**
     * Waits for one real completion, and for a healthy answer where there is a route for that.
     *
     * @param starting whether the engine may still be on its way up; if not, silence is final, and so is an answer that
     *     waiting does not change
     */
    void awaitReady(boolean starting) {
        long began = clock.nanos();
        long until = began + settings.readyTimeout().toNanos();
        long nextWord = began + (starting ? WORD_NANOS : 0);
        long pause = PAUSE_NANOS;
        Readiness last;
        do {
            last = readiness(starting ? LIMIT : GREETING_LIMIT, starting);
            if (last instanceof Readiness.Ready) {
                refuseUnknownTokens();
                return;
            }
            if (!starting && last.isFinal()) {
                break;
            }
            ended.get().ifPresent(why -> {
                throw new LoadTestException(why);
            });
            if (clock.nanos() >= nextWord) {
                waiting.accept("Waiting for the engine at " + engine + ": " + last.text() + ".");
                nextWord = clock.nanos() + WORD_NANOS;
            }
            clock.sleep(pause);
            pause = Math.min(2 * pause, MOST_PAUSE_NANOS);
        } while (clock.nanos() < until);
        throw new LoadTestException(
                "The engine at " + engine + " is not ready: " + last.text() + "; " + last.mend() + ".");
    }

    private void refuseUnknownTokens() {
        if (!settings.route().sendsTokenIds() || tokensAreKnown) {
            return;
        }
        if (lacksTokens()) {
            throw new LoadTestException("The model at " + engine + " has no token " + LARGEST_TOKENS.getLast()
                    + ", and prompts have token ids from 1,000 to 29,999, of which an engine may end when its model"
                    + " does not know one; ask by text, with --route OPENAI_TEXT or --api completions.");
        }
        tokensAreKnown = true;
    }

    /**
     * Returns true if the model lacks tokens that a load is made of. A real engine may end when it is sent a token id
     * that its model lacks, so its tokenizer is asked for the largest ids of a load before any is sent. One that has
     * none of them knows no text for them; one that does not tell is believed.
     */
    boolean lacksTokens() {
        ObjectNode question = question();
        ArrayNode tokens = question.putArray("tokens");
        LARGEST_TOKENS.forEach(tokens::add);
        try {
            Answer answer = http.post("/detokenize", question.toString());
            JsonNode text = answer.json().path(answer.json().has("text") ? "text" : "prompt");
            return answer.isOk() && text.isTextual() && text.asText().isEmpty();
        } catch (IOException e) {
            return false;
        }
    }

    private ObjectNode question() {
        ObjectNode question = JsonNodeFactory.instance.objectNode();
        settings.model().ifPresent(model -> question.put("model", model));
        return question;
    }

    /**
     * Number of tokens that the server's tokenizer makes of a word of ours, by one call; absent where there is no such
     * route.
     */
    OptionalDouble tokensOfAWord() {
        int[] words = PlainWords.each();
        try {
            Answer answer = http.post(
                    "/tokenize",
                    question().put("prompt", PlainWords.text(words)).toString());
            JsonNode count = answer.json().path("count");
            return answer.isOk() && count.isIntegralNumber() && count.longValue() > 0
                    ? OptionalDouble.of(count.doubleValue() / words.length)
                    : OptionalDouble.empty();
        } catch (IOException e) {
            return OptionalDouble.empty();
        }
    }

    /** Checks that anybody answers at all; throws a {@link LoadTestException} if not. */
    void greet() {
        try {
            http.get("/health", GREETING_LIMIT);
        } catch (IOException e) {
            Readiness found = unanswered(e);
            throw new LoadTestException(
                    "The engine at " + engine + " is not ready: " + found.text() + "; " + found.mend() + ".", e);
        }
    }

    /**
     * @param greeting how long the answer that needs no model may take
     * @param starting whether nobody knows yet that the model answers
     */
    private Readiness readiness(Duration greeting, boolean starting) {
        Answer health;
        try {
            health = http.get("/health", greeting);
        } catch (IOException e) {
            return unanswered(e);
        }
        try {
            if (isPassing(health.status())) {
                return new Readiness.NotYet("its last answer was " + health.problem());
            }
            // Any other answer says nothing: not every server has the route.
            if (!starting && !tries) {
                return new Readiness.Ready();
            }
            Answer answer =
                    http.post(settings.route().path(), new String(settings.body(SMALLEST), StandardCharsets.UTF_8));
            if (answer.isOk() && !answer.text().contains("data:")) {
                return new Readiness.Refused(
                        "POST " + settings.route().path() + " was answered with " + answer.status()
                                + ", but with no stream of tokens",
                        "check that the address is that of an inference server and that nothing before it holds streams"
                                + " back");
            }
            if (answer.isOk()) {
                Optional<String> problem = problemOf(answer);
                return problem.<Readiness>map(why -> new Readiness.NotYet("its last answer was " + why))
                        .orElseGet(Readiness.Ready::new);
            }
            String asked = "POST " + settings.route().path() + " was answered with "
                    + ControlHttp.withoutEnd(answer.problem());
            return isPassing(answer.status())
                    ? new Readiness.NotYet(asked)
                    : new Readiness.Refused(asked, mend(answer));
        } catch (IOException e) {
            return new Readiness.NotYet(
                    "it answers, but not POST " + settings.route().path());
        }
    }

    /** Tells a server that is silent from one that we do not speak to: no TLS, or no certificate that is trusted. */
    private static Readiness unanswered(IOException problem) {
        for (Throwable cause = problem; cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateException) {
                return new Readiness.Refused(
                        "its certificate is not trusted (" + ControlHttp.withoutEnd(String.valueOf(cause.getMessage()))
                                + ")",
                        "name the file of that certificate, or of who issued it, by --ca, and write the address with"
                                + " the name that it is for");
            }
        }
        for (Throwable cause = problem; cause != null; cause = cause.getCause()) {
            if (cause instanceof SSLException) {
                return new Readiness.Refused(
                        "it does not speak TLS as it should ("
                                + ControlHttp.withoutEnd(String.valueOf(cause.getMessage())) + ")",
                        "check whether its address begins with http://");
            }
        }
        return new Readiness.Silent();
    }

    /** Returns the reason why an answer of 200 is a failure all the same, if it is one. */
    private Optional<String> problemOf(Answer answer) {
        Exchange exchange = new Exchange(0, SMALLEST, settings.route(), clock::nanos, clock.nanos());
        exchange.head(answer.status());
        exchange.body(Buffer.buffer(answer.text()));
        RequestRecord record = exchange.whole();
        return record.isOk() ? Optional.empty() : Optional.of(record.problem());
    }

    /** Returns true if the next answer may soon be another: too many requests, or a server that is not up yet. */
    private static boolean isPassing(int status) {
        return switch (status) {
            case 408, 425, 429 -> true;
            case 501, 505 -> false;
            default -> status >= 500;
        };
    }

    private String mend(Answer answer) {
        boolean model = answer.problem().toLowerCase(Locale.ROOT).contains("model");
        return switch (answer.status()) {
            case 401, 403 -> "give its key, by --api-key-env";
            case 404, 405, 501 ->
                model
                        ? "ask for a model that it serves: --model, or 'path' of the model in --config"
                        : "check that the address is that of an inference server and that it has this route";
            default ->
                model
                        ? "ask for a model that it serves: --model, or 'path' of the model in --config"
                        : "check the address and the route";
        };
    }

    /** The name of the model that the engine serves, or of the first of several; absent where it does not tell. */
    Optional<String> firstModel() {
        try {
            Answer answer = http.get("/v1/models");
            JsonNode name = answer.isOk() ? answer.json().path("data").path(0).path("id") : MissingNode.getInstance();
            return name.isTextual() ? Optional.of(name.asText()) : Optional.empty();
        } catch (IOException e) {
            Readiness found = unanswered(e);
            throw new LoadTestException(
                    "The engine at " + engine + " is not ready: " + found.text() + "; " + found.mend() + ".", e);
        }
    }

    /** Empties the cache; an engine refuses while it is busy, so it is asked again for a while. */
    Optional<String> flush() {
        long until = clock.nanos() + settings.flushTimeout().toNanos();
        String last;
        do {
            try {
                Answer answer = http.post(settings.flushPath(), "");
                // Some releases of vLLM answer 200 whatever came of it, and newer ones say so in the body.
                boolean refused = answer.json().path("success").isBoolean()
                        && !answer.json().path("success").booleanValue();
                if (answer.isOk() && !refused) {
                    return Optional.empty();
                }
                last = answer.problem();
                if (isFinal(answer.status())) {
                    break;
                }
            } catch (IOException e) {
                last = "no answer";
            }
            clock.sleep(PAUSE_NANOS);
        } while (clock.nanos() < until);
        return Optional.of("the engine did not flush its cache (" + last + ")");
    }

    /** Returns true if asking again would not help: there is no such route, or a key is missing. */
    private static boolean isFinal(int status) {
        return status == 401 || status == 403 || status == 404 || status == 405;
    }

    HoldRoutes holdRoutes() {
        return new HttpHoldRoutes(engine, http, clock);
    }

    EngineFacts facts() {
        JsonNode info = json("/server_info");
        JsonNode page = info.path("page_size");
        if (page.isInt() || info.path("max_total_num_tokens").isIntegralNumber()) {
            return new EngineFacts(
                    EngineFacts.Family.SGLANG,
                    page.isInt() && page.intValue() > 0 ? OptionalInt.of(page.intValue()) : OptionalInt.empty(),
                    count(info.path("max_total_num_tokens")),
                    count(info.path("max_req_input_len")),
                    text(info.path("version")));
        }
        String metrics = text("/metrics");
        return metrics.contains(VLLM) ? vllm(metrics) : EngineFacts.unknown();
    }

    /**
     * Finds where it says that it publishes what happens to its cache; absent where it does not, as a vLLM never does.
     */
    Optional<EventSource> events() {
        JsonNode listed = json("/server_info").path("kv_events");
        int port = listed.path("endpoint_port_base").asInt(0);
        if (!listed.path("publisher").asText("").equals("zmq") || port < 1) {
            return Optional.empty();
        }
        String host = listed.path("endpoint_host").asText("*");
        boolean all = host.equals("*") || host.equals("0.0.0.0");
        try {
            return Optional.of(EventSource.of(
                            "tcp://" + (all ? engine.getHost() : host) + ":" + port,
                            listed.path("topic").asText(""))
                    .withRanks(Math.max(1, listed.path("dp_size").asInt(1))));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** Returns those of {@link #FLAGS} that the engine tells. */
    Map<String, String> flags() {
        Map<String, String> flags = new TreeMap<>();
        JsonNode info = json("/server_info");
        // A vLLM has its arguments in one long text, in its development mode alone, and those of its cache as labels.
        String labels = info.has("page_size")
                ? ""
                : cacheLabels(text("/metrics")) + " " + info.path("vllm_config").asText("");
        for (String name : FLAGS) {
            JsonNode value = info.path(name);
            Matcher label = Pattern.compile("\\b" + name + "=[\"']?([^\"', ]*)").matcher(labels);
            if (value.isValueNode() && !value.isNull()) {
                flags.put(name, value.asText());
            } else if (label.find()) {
                flags.put(name, label.group(1));
            }
        }
        return flags;
    }

    String metrics() {
        return text("/metrics");
    }

    private static String cacheLabels(String metrics) {
        return metrics.lines()
                .filter(line -> line.startsWith(CACHE))
                .findFirst()
                .orElse("");
    }

    /**
     * An SGLang draws a seed when it begins, unless it is given one, and measures how long its beginning took; both
     * kinds of engine count the tokens of their prompts.
     */
    LifeSign lifeSign() {
        JsonNode info = json("/server_info");
        String began = info.path("random_seed").asText("")
                + " "
                + (info.path("startup_time").isObject() ? info.path("startup_time") : "");
        String metrics = text("/metrics");
        // A counter that has counted nothing yet is not there.
        boolean counts = COUNTING.matcher(metrics).find();
        return new LifeSign(
                began.isBlank() ? Optional.empty() : Optional.of(began),
                counts ? OptionalDouble.of(sum(metrics, PROMPT_TOKENS)) : OptionalDouble.empty(),
                counts ? OptionalDouble.of(cached(metrics)) : OptionalDouble.empty());
    }

    private static double cached(String metrics) {
        double inAll = sum(metrics, CACHED_TOKENS_IN_ALL);
        return inAll > 0 ? inAll : sum(metrics, CACHED_TOKENS);
    }

    private static double sum(String metrics, Pattern named) {
        return metrics.lines()
                .filter(line -> named.matcher(line).lookingAt())
                .mapToDouble(line -> number(line.substring(line.lastIndexOf(' ') + 1)))
                .filter(Double::isFinite)
                .sum();
    }

    private static double number(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            return Double.NaN;
        }
    }

    /** A vLLM server tells its sizes in a metric whose labels are the settings of its cache. */
    private EngineFacts vllm(String metrics) {
        String labels = cacheLabels(metrics);
        OptionalLong page = label(labels, BLOCK);
        OptionalLong blocks = label(labels, BLOCKS);
        return new EngineFacts(
                EngineFacts.Family.VLLM,
                page.isPresent() ? OptionalInt.of((int) page.getAsLong()) : OptionalInt.empty(),
                page.isPresent() && blocks.isPresent()
                        ? OptionalLong.of(page.getAsLong() * blocks.getAsLong())
                        : OptionalLong.empty(),
                count(json("/v1/models").path("data").path(0).path("max_model_len")),
                text(json("/version").path("version")));
    }

    private static OptionalLong label(String labels, Pattern pattern) {
        Matcher found = pattern.matcher(labels);
        return found.find() ? OptionalLong.of(Long.parseLong(found.group(1))) : OptionalLong.empty();
    }

    /** A missing node where the server does not tell. */
    private JsonNode json(String path) {
        try {
            Answer answer = http.get(path);
            return answer.isOk() ? answer.json() : MissingNode.getInstance();
        } catch (IOException e) {
            return MissingNode.getInstance();
        }
    }

    private String text(String path) {
        try {
            Answer answer = http.get(path);
            return answer.isOk() ? answer.text() : "";
        } catch (IOException e) {
            return "";
        }
    }

    private static Optional<String> text(JsonNode value) {
        return value.isTextual() ? Optional.of(value.asText()) : Optional.empty();
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

    /** State of an engine that was asked for a completion. */
    private sealed interface Readiness {
        record Ready() implements Readiness {}

        /** The engine answers, and may do better later. */
        record NotYet(String text) implements Readiness {}

        /** The engine answers, and its answer will not change. */
        record Refused(String text, String mend) implements Readiness {}

        record Silent() implements Readiness {}

        default boolean isFinal() {
            return this instanceof Refused || this instanceof Silent;
        }

        default String text() {
            return switch (this) {
                case Ready ready -> "it is ready";
                case NotYet not -> not.text;
                case Refused refused -> refused.text;
                case Silent silent -> "it does not answer";
            };
        }

        default String mend() {
            return this instanceof Refused refused ? refused.mend : "check that it runs and that the address is right";
        }
    }
}
