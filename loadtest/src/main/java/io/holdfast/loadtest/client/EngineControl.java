package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.backend.Backend;
import io.holdfast.http.DetokenizeRoute;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.http.ListedModel;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.HoldRoutes;
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
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
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

    /** Fewest token ids that prompts which share nothing can be made of. */
    private static final int LEAST_VOCABULARY = 512;

    private static final int ASKED = 3;

    private static final LoadRequest SMALLEST = new LoadRequest(Role.PRIME, 0, new int[] {7, 8, 9, 10}, 1);

    private final URI engine;
    private final HttpSettings settings;
    private final RunClock clock;
    private final Consumer<String> waiting;
    private final Supplier<Optional<String>> ended;
    private final ControlHttp http;
    private final EngineSelf self;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("ways").factory());
    private Optional<EngineHttp> ways = Optional.empty();
    private OptionalInt vocabulary = OptionalInt.empty();
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
        this.self = new EngineSelf(engine, http, clock);
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
        if (settings.route().sendsTokenIds() && vocabulary() < LEAST_VOCABULARY) {
            throw new LoadTestException("The model at " + engine + " has " + vocabulary()
                    + " tokens, and prompts by token ids need at least " + LEAST_VOCABULARY
                    + ", of which an engine may end when its model does not know one; ask by text, with --route"
                    + " OPENAI_TEXT or --api completions.");
        }
    }

    /** Returns the request with token ids that the model has; to be asked once the engine is ready. */
    LoadRequest known(LoadRequest request) {
        return vocabulary.isPresent() ? request.within(vocabulary.getAsInt()) : request;
    }

    /** Takes over what another one found out about the same engine. */
    void knowsAs(EngineControl other) {
        vocabulary = other.vocabulary;
    }

    /** Returns the number of token ids that the model has, if fewer than prompts are drawn from. */
    OptionalInt smallVocabulary() {
        return vocabulary.orElse(LoadRequest.LARGEST_VOCABULARY) < LoadRequest.LARGEST_VOCABULARY
                ? vocabulary
                : OptionalInt.empty();
    }

    /** Returns true if the model lacks tokens that a load is drawn from. */
    boolean lacksTokens() {
        return vocabulary() < LoadRequest.LARGEST_VOCABULARY;
    }

    /**
     * Returns how many token ids the model has, and no more than a load is drawn from. A real engine may end when it is
     * sent an id that its model lacks, so its tokenizer is asked for texts before any is sent. It knows no text for ids
     * beyond its last; one that does not tell is believed to have them all.
     */
    private int vocabulary() {
        if (vocabulary.isEmpty()) {
            int known = 0;
            int unknown = LoadRequest.LARGEST_VOCABULARY + 1;
            int asked = LoadRequest.LARGEST_VOCABULARY;
            while (unknown - known > 1) {
                if (hasTokensUpTo(asked)) {
                    known = asked;
                } else {
                    unknown = asked;
                }
                asked = (known + unknown) / 2;
            }
            vocabulary = OptionalInt.of(known);
        }
        return vocabulary.getAsInt();
    }

    /** Asks for the last of so many and the two after it, since one of them may be a token that has no text. */
    private boolean hasTokensUpTo(int count) {
        ObjectNode question = question();
        ArrayNode tokens = question.putArray("tokens");
        IntStream.range(count - 1, count - 1 + ASKED).forEach(tokens::add);
        try {
            Answer answer = http.post("/detokenize", question.toString());
            return !answer.isOk()
                    || DetokenizeRoute.text(answer.text())
                            .filter(String::isEmpty)
                            .isEmpty();
        } catch (IOException e) {
            return true;
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
            throw notReady(unanswered(e), e);
        }
    }

    private LoadTestException notReady(Readiness found, Throwable cause) {
        return new LoadTestException(
                "The engine at " + engine + " is not ready: " + found.text() + "; " + found.mend() + ".", cause);
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

    /** Returns the model that the engine serves, or the first of several; absent where it does not report it. */
    Optional<String> firstModel() {
        try {
            Answer answer = http.get(ListedModel.PATH);
            return answer.isOk() ? ListedModel.first(answer.text()).name() : Optional.empty();
        } catch (IOException e) {
            throw notReady(unanswered(e), e);
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
        return new HttpHoldRoutes(engine, http, clock, this::way);
    }

    private Backend way(HoldRoutes.Way way) {
        EngineHttp calls = ways.orElseGet(() -> {
            EngineHttpSettings its = EngineHttpSettings.of(engine).withHeaders(settings.headers());
            return new EngineHttp(
                    settings.ca().map(TrustedCa::context).map(its::withTrust).orElse(its),
                    timer,
                    timer,
                    System::nanoTime);
        });
        ways = Optional.of(calls);
        return way.at(calls, timer);
    }

    /** Returns what the engine reports about itself. */
    EngineSelf self() {
        return self;
    }

    @Override
    public void close() {
        ways.ifPresent(EngineHttp::close);
        timer.shutdownNow();
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
