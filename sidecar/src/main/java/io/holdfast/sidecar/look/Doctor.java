package io.holdfast.sidecar.look;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.look.Finding;
import io.holdfast.core.look.Finding.Status;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.EventSource;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.PromptRenderer;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.RenderedPrompt.Refused;
import io.holdfast.http.Reply;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading;
import io.holdfast.sglang.PriorityTouchBackend;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.config.Yaml;
import io.holdfast.sidecar.engine.EngineContact;
import io.holdfast.sidecar.engine.EngineFamily;
import io.holdfast.sidecar.engine.EngineFamily.Events;
import io.holdfast.sidecar.engine.EngineProbe;
import io.holdfast.sidecar.engine.EngineTarget;
import io.holdfast.sidecar.engine.Levers;
import io.holdfast.sidecar.engine.Levers.Lever;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds out what one engine can do for Holdfast, what is missing, and with which flag it would be there.
 *
 * <p>It reads, and sends the engine nothing to compute unless it is told to. One engine is looked at once.
 */
public final class Doctor {
    private static final int EVENTS_PORT = 5557;
    private static final int REPLAY_PORT = 5570;
    private static final long LATE_MICROS = 2_000_000;
    private static final long EARLY_MICROS = 100_000;
    private static final int FULL_BLOCKS_OF_TRIAL = 8;
    /** A busy engine has others served first. */
    private static final Duration TRIAL = Duration.ofSeconds(20);

    private final EngineContact contact;
    private final Mends mends;
    private final Duration patience;
    private final boolean tries;
    private final RandomGenerator random;
    private final InstantSource wall;
    private final SequencedMap<String, Integer> locked;
    private final List<Finding> findings = new ArrayList<>();

    private Doctor(EngineContact contact, Duration patience, boolean tries, RandomGenerator random) {
        this.contact = contact;
        this.mends = Mends.of(contact.type());
        this.locked = contact.locked();
        this.patience = patience;
        this.tries = tries;
        this.random = random;
        this.wall = InstantSource.system();
    }

    /**
     * Looks at an engine; blocks for as long as its answers and its traffic take, half a minute at the very most.
     *
     * @param patience how long to wait for events to come by themselves
     * @param tries whether the engine may be sent one small request
     * @throws ConfigException when it is named in a way that cannot be
     * @throws SidecarException with one sentence, when nothing answers or what answers is no engine
     */
    public static Diagnosis examine(EngineTarget target, Duration patience, boolean tries, RandomGenerator random) {
        try (EngineContact contact = EngineContact.open(target)) {
            return new Doctor(contact, patience, tries, random).examine();
        }
    }

    private Diagnosis examine() {
        EngineProbe probe = new EngineProbe(contact.config(), contact.http(), System::nanoTime);
        EngineReadings readings = probe.read().toCompletableFuture().join();
        Levers levers = Levers.of(contact).beside(readings, contact.config().type());
        key();
        engine();
        sizes(readings);
        metrics(readings);
        Events where = probe.eventSource().toCompletableFuture().join();
        events(where, levers);
        asking("tokenizer", EngineContact.INFO, this::tokenizer);
        asking("cache report", EngineContact.INFO, this::cacheReport);
        levers(levers);
        contact.config().kvcachedSegment().ifPresentOrElse(this::segment, this::otherSegments);
        String name = mends.family() + contact.version().map(text -> " " + text).orElse("") + " at "
                + contact.target().url();
        return mayAsk()
                ? new Diagnosis(name, findings, levers.chosen(), why(levers), configuration(levers))
                : new Diagnosis(
                        name,
                        findings,
                        Diagnosis.UNKNOWN,
                        "The backend is unknown until doctor has the engine's key; name its variable with"
                                + " --api-key-env.",
                        configuration(levers));
    }

    private void key() {
        if (locked.isEmpty()) {
            return;
        }
        String where = " at " + String.join(" and ", locked.keySet()) + " (HTTP "
                + locked.firstEntry().getValue() + ").";
        findings.add(contact.target()
                .apiKeyEnv()
                .map(variable -> Finding.missing(
                        "key",
                        "The engine refuses the key in " + variable + where,
                        "put its --api-key into " + variable))
                .orElseGet(() -> Finding.missing(
                        "key",
                        "The engine asks for a key" + where,
                        "--api-key-env VARIABLE, which has it; in the sidecar's configuration engines.ID.apiKeyEnv")));
    }

    /** Looks at something, unless the route that tells of it asks for a key first. */
    private void asking(String subject, String route, Runnable look) {
        if (locked.containsKey(route)) {
            findings.add(Finding.unknown(subject, "cannot be asked before that"));
        } else {
            look.run();
        }
    }

    /** Returns whether the engine would take a request. */
    private boolean mayAsk() {
        return !locked.containsKey(EngineContact.INFO) && !locked.containsKey(EngineContact.MODELS);
    }

    /** Returns the flags with which an engine of this kind publishes its events. */
    public static String eventsFlag(EngineType type) {
        return Mends.of(type).events();
    }

    private void engine() {
        asking(
                "engine",
                contact.type() == EngineType.SGLANG ? EngineContact.INFO : EngineContact.VERSION,
                () -> findings.add(contact.version()
                        .map(version -> Finding.ok("engine", mends.family() + " " + version + newness(version)))
                        .orElseGet(() ->
                                Finding.warning("engine", mends.family() + " of unknown version.", mends.release()))));
        mends.proof().ifPresent(findings::add);
        asking(
                "model",
                EngineContact.MODELS,
                () -> findings.add(contact.model()
                        .map(model -> Finding.ok("model", model))
                        .orElseGet(() -> Finding.warning(
                                "model",
                                "/v1/models does not report it, so a ledger cannot be bound to it.",
                                "let /v1/models be reached"))));
    }

    private String newness(String version) {
        EngineFamily.Seen seen = EngineFamily.of(contact.config().type()).seen();
        return EngineVersion.parse(version)
                .map(its -> seen.newest().isBefore(its)
                        ? ", not seen before: the newest that was looked at is " + seen.newest()
                        : its.isBefore(seen.oldest())
                                ? ", not seen before: the oldest that was looked at is " + seen.oldest()
                                : "")
                .orElse("");
    }

    private void sizes(EngineReadings readings) {
        boolean sglang = contact.type() == EngineType.SGLANG;
        String told = sglang ? EngineContact.INFO : contact.metricsRoute();
        asking(
                "context",
                sglang ? EngineContact.INFO : EngineContact.MODELS,
                () -> reading("context", readings.contextTokens(), " tokens of prompt and answer together"));
        asking("cache", told, () -> reading("cache", readings.capacityTokens(), " tokens"));
        asking("block size", told, () -> blockSize(readings.blockTokens()));
        if (cachesNothing()) {
            findings.add(Finding.missing(
                    "prefix cache", "It is switched off, so there is nothing to keep.", mends.prefixCache()));
        }
    }

    private boolean cachesNothing() {
        return is("disable_radix_cache", "true") || is("enable_prefix_caching", "False");
    }

    private boolean is(String argument, String value) {
        return contact.argument(argument).filter(value::equals).isPresent();
    }

    private void blockSize(Reading block) {
        if (block.number().orElse(0) == 1) {
            findings.add(Finding.warning(
                    "block size", "1 token: an event and a hash for each token of each prompt.", mends.blockSize()));
        } else {
            reading("block size", block, " tokens");
        }
    }

    private void reading(String subject, Reading reading, String unit) {
        findings.add(
                switch (reading) {
                    case Reading.Known known ->
                        Finding.ok(subject, String.format(Locale.ROOT, "%,d", (long) known.value()) + unit);
                    case Reading.Unknown unknown -> Finding.warning(subject, "It is not known.", unknown.why());
                });
    }

    private void metrics(EngineReadings readings) {
        Optional<String> without = contact.withoutMetrics();
        if (without.isPresent()) {
            findings.add(Finding.missing(
                    "metrics",
                    without.get() + " Without them the load, the hits and TTFT are unknown.",
                    mends.metrics()));
            return;
        }
        Map<String, Reading> wanted = new LinkedHashMap<>();
        wanted.put("running requests", readings.runningRequests());
        wanted.put("waiting requests", readings.waitingRequests());
        wanted.put("used tokens", readings.usedTokens());
        List<String> unknown = wanted.entrySet().stream()
                .filter(each -> each.getValue() instanceof Reading.Unknown)
                .map(Map.Entry::getKey)
                .toList();
        // An engine that served nothing yet has no counters of requests.
        findings.add(
                unknown.isEmpty()
                        ? Finding.ok("metrics", contact.metricsRoute() + " reports load, hits and TTFT")
                        : Finding.warning(
                                "metrics",
                                contact.metricsRoute() + " does not report " + String.join(", ", unknown) + ".",
                                "send the engine a request and run doctor again"));
    }

    private void events(Events where, Levers levers) {
        if (where instanceof Events.Unknown && locked.containsKey(EngineContact.INFO)) {
            findings.add(Finding.unknown("events", "cannot be asked before that"));
            return;
        }
        if (underKvcached()) {
            findings.add(Finding.warning(
                    "events",
                    "Under kvcached an engine publishes none: it is followed by its segment, its readings and cached"
                            + " tokens only, and nothing is held automatically.",
                    "run it without kvcached, where prefixes matter more than shared memory"));
            return;
        }
        switch (where) {
            case Events.Unknown unknown ->
                findings.add(Finding.missing("events", firstClause(unknown.why()), mends.events()));
            case Events.At at -> {
                BlockNaming naming = EngineFamily.of(contact.config().type()).naming(contact.config());
                EventTrial.Heard heard = new EventTrial(at.source(), naming, wall).listen(patience, () -> {
                    if (tries) {
                        asking("request", EngineContact.MODELS, this::tryOne);
                    }
                });
                heard(at.source(), heard, levers);
            }
        }
    }

    private boolean underKvcached() {
        return contact.config()
                .kvcachedSegment()
                .filter(name -> SegmentReader.read(SegmentReader.file(name)) instanceof SegmentReading.Segment)
                .isPresent();
    }

    /** Beginning of the mend in a sentence, which is printed on a line of its own. */
    private static final Pattern MEND = Pattern.compile(": (?:start it with|run|use|write) ");

    private static String firstClause(String sentence) {
        Matcher mend = MEND.matcher(sentence);
        return mend.find() ? sentence.substring(0, mend.start()) + "." : sentence;
    }

    /** Mend that a sentence ends with; all of it where it has none. */
    private static String mend(String sentence) {
        Matcher mend = MEND.matcher(sentence);
        return mend.find() ? firstSentence(sentence.substring(mend.end())).replaceAll("\\.$", "") : sentence;
    }

    /** Flag for an engine that publishes already, with the port at which it does. */
    private String eventsFlag(EventSource source) {
        int port = Integer.parseInt(source.endpoint().replaceAll(".*:", ""));
        return mends.events()
                .replace("*:" + EVENTS_PORT, "*:" + port)
                .replace("*:" + REPLAY_PORT, "*:" + (port + Math.max(REPLAY_PORT - EVENTS_PORT, source.ranks())));
    }

    private void heard(EventSource source, EventTrial.Heard heard, Levers levers) {
        String flag = eventsFlag(source);
        String at = source.endpoint() + (heard.ranks() == 1 ? "" : " and the ports above");
        if (heard.connected() < heard.ranks()) {
            findings.add(Finding.missing(
                    "events",
                    (contact.eventsAssumed()
                                    ? "Nobody publishes at " + at + ", the default of " + mends.family() + "."
                                    : "Nobody answers at " + at + ".")
                            + (heard.connected() > 0
                                    ? " " + heard.connected() + " of " + heard.ranks() + " ranks do."
                                    : "")
                            + heard.refusal().map(" "::concat).orElse(""),
                    contact.eventsAssumed()
                            ? flag + ", or say where it publishes with --events tcp://HOST:PORT"
                            : contact.target().events().isPresent()
                                    ? flag + ", and let the port be reached from here"
                                    : "let the port be reached from here, at which the engine says that it publishes"));
            return;
        }
        findings.add(Finding.ok("events", "published at " + at + (contact.eventsAssumed() ? ", the usual place" : "")));
        decoding(heard);
        replay(source, heard, flag);
        names(heard);
        clock(heard);
        if (heard.ranks() > 1) {
            findings.add(
                    levers.best().isPresent()
                            ? Finding.ok(
                                    "ranks", heard.ranks() + ", each a cache of its own; a pin reaches all of them")
                            : Finding.note("ranks", heard.ranks() + ", each a cache of its own; all are followed"));
        }
    }

    private void decoding(EventTrial.Heard heard) {
        if (heard.refusal().isPresent()) {
            findings.add(Finding.missing(
                    "event format", heard.refusal().get(), "update Holdfast, or report the engine's version"));
        } else if (heard.live() > 0) {
            findings.add(Finding.ok("event format", batches(heard.live()) + " received and read"));
        } else if (heard.replayed() > 0) {
            findings.add(Finding.ok(
                    "event format",
                    batches(heard.replayed()) + " of the past could be read; no new one came in " + patience.toSeconds()
                            + " s"));
        } else {
            findings.add(Finding.unknown(
                    "event format",
                    "No batch came in " + patience.toSeconds() + " s, so whether they can be read is not known.",
                    "run doctor while requests come, or with --try, which sends a small one"));
        }
    }

    private static String batches(long count) {
        return count == 1 ? "1 batch" : String.format(Locale.ROOT, "%,d batches", count);
    }

    private void replay(EventSource source, EventTrial.Heard heard, String flag) {
        if (source.replayEndpoint().isEmpty()) {
            findings.add(Finding.warning(
                    "replay",
                    "Missed events cannot be recovered: earlier blocks stay unseen, and a lost message makes the"
                            + " view uncertain until the cache is cleared.",
                    contact.type() == EngineType.SGLANG
                            ? flag
                            : flag + ", and say where with --replay tcp://HOST:5570"));
        } else if (heard.replayFailure().isPresent()) {
            findings.add(Finding.warning(
                    "replay",
                    "Nothing was answered at " + source.replayEndpoint().get() + ": "
                            + heard.replayFailure().get(),
                    flag));
        } else {
            findings.add(Finding.ok(
                    "replay", "answered at " + source.replayEndpoint().get()));
        }
    }

    private void names(EventTrial.Heard heard) {
        if (heard.namedRight() > 0) {
            findings.add(Finding.ok(
                    "block hashes",
                    heard.rule().orElse("computed from tokens as by SGLang")
                            + ": holds by "
                            + mends.holdsBy()
                            + " are possible"));
        } else if (heard.namedWrong() > 0) {
            findings.add(Finding.warning(
                    "block hashes",
                    "They follow no known rule, so that holds by text, messages and tokens are not possible.",
                    mends.hashes()));
        } else {
            findings.add(Finding.note("block hashes", "not seen: no prompt was stored meanwhile"));
        }
    }

    private void clock(EventTrial.Heard heard) {
        if (heard.lateMicros().isEmpty()) {
            return;
        }
        long late = heard.lateMicros().getAsLong();
        if (late < -EARLY_MICROS || (heard.live() > 0 && late > LATE_MICROS)) {
            findings.add(Finding.warning(
                    "clock",
                    String.format(
                            Locale.ROOT,
                            "The engine's clock is %.1f s %s ours.",
                            Math.abs(late) / 1e6,
                            late < 0 ? "ahead of" : "behind"),
                    "set both by the same time server"));
        } else if (heard.live() > 0) {
            findings.add(Finding.ok(
                    "clock", String.format(Locale.ROOT, "events were here %.3f s after their stamp", late / 1e6)));
        }
    }

    private void tokenizer() {
        PromptRenderer renderer = EngineFamily.of(contact.config().type()).renderer(contact.http());
        ArrayNode hello = JsonNodeFactory.instance.arrayNode();
        hello.addObject().put("role", "user").put("content", "Hello");
        RenderedPrompt text = renderer.text("Hello").toCompletableFuture().join();
        RenderedPrompt messages =
                renderer.messages(hello, Optional.empty()).toCompletableFuture().join();
        if (text instanceof Refused no) {
            findings.add(Finding.warning(
                    "tokenizer", no.sentence(), "hold by tokens, by hashes or by example in place of text"));
        } else if (messages instanceof Refused no) {
            findings.add(Finding.warning(
                    "tokenizer", "/tokenize takes text. " + no.sentence(), "hold by text, tokens or example"));
        } else {
            findings.add(Finding.ok("tokenizer", "/tokenize takes text and messages"));
        }
    }

    private void cacheReport() {
        findings.add(mends.cacheReport()
                .orElseGet(() -> is("enable_cache_report", "true")
                        ? Finding.ok("cache report", "answers say how many tokens were cached")
                        : Finding.warning(
                                "cache report",
                                "Chats and completions do not say how many tokens were cached.",
                                "--enable-cache-report")));
    }

    private void levers(Levers levers) {
        // The last one works on any engine, but for what hinders the others as well.
        Optional<String> hindrance = Optional.of(levers.levers().getLast())
                .filter(last -> mayAsk() && !last.works() && levers.best().isEmpty())
                .map(Lever::why);
        if (hindrance.isPresent() && !cachesNothing()) {
            findings.add(Finding.missing("a way to hold", firstClause(hindrance.get()), mend(hindrance.get())));
        }
        for (Lever lever : levers.levers()) {
            if (hindrance.filter(lever.why()::equals).isPresent()) {
                continue;
            }
            if (!mayAsk()) {
                findings.add(Finding.unknown(lever.backend(), "cannot be asked before that"));
            } else if (lever.byName()) {
                findings.add(Finding.note(
                        lever.backend(),
                        lever.works()
                                ? lever.why() + " auto never takes it: write backend: " + lever.backend() + "."
                                : firstSentence(lever.why())));
            } else if (lever.works()) {
                findings.add(Finding.ok(lever.backend(), lever.why()));
            } else if (lever.backend().equals("session_hold")) {
                findings.add(Finding.warning(lever.backend(), firstClause(lever.why()), mend(lever.why())));
            } else if (lever.backend().equals(PriorityTouchBackend.NAME) && is("radix_eviction_policy", "priority")) {
                // What is missing is nothing of the engine's, but a word in the sidecar's configuration.
                findings.add(Finding.warning(
                        lever.backend(),
                        firstClause(lever.why()),
                        lever.why().contains(PriorityTouchBackend.KEY)
                                ? PriorityTouchBackend.KEY
                                        + " in the sidecar's configuration: the highest priority that"
                                        + " clients send, 0 where they send none"
                                : lever.why()));
            } else {
                findings.add(Finding.note(lever.backend(), firstSentence(lever.why())));
            }
        }
    }

    private static String firstSentence(String text) {
        int end = text.indexOf(". ");
        return end < 0 ? text : text.substring(0, end + 1);
    }

    private void segment(String nameOrPath) {
        Path file = SegmentReader.file(nameOrPath);
        switch (SegmentReader.read(file)) {
            case SegmentReading.Unknown unknown ->
                findings.add(Finding.missing(
                        "kvcached",
                        unknown.why(),
                        "KVCACHED_IPC_NAME of the engine is the segment's name, and this user must be its owner"));
            case SegmentReading.Segment found ->
                findings.add(
                        Files.isWritable(file)
                                ? Finding.ok(
                                        "kvcached",
                                        String.format(
                                                Locale.ROOT,
                                                "%s: limit %,d MiB, %,d MiB used; it may be moved",
                                                file,
                                                found.limitBytes() >> 20,
                                                found.usedBytes() >> 20))
                                : Finding.warning(
                                        "kvcached",
                                        file + " may be read and not written, so that its limit cannot be moved.",
                                        "run Holdfast as the engine's user"));
        }
    }

    /** An engine does not tell that it runs under kvcached, and publishes nothing then. */
    private void otherSegments() {
        if (!contact.config().onThisHost()) {
            findings.add(Finding.note("kvcached", "cannot be seen from another host than the engine's"));
            return;
        }
        List<String> names = SegmentReader.find(SegmentReader.directory()).stream()
                .map(file -> file.getFileName().toString())
                .toList();
        if (names.isEmpty()) {
            findings.add(Finding.note("kvcached", "not in use: this host has no segment of it"));
        } else if (findings.stream()
                .anyMatch(each -> each.subject().equals("event format") && each.status() == Status.OK)) {
            findings.add(
                    Finding.note("kvcached", "not in use: an engine under it publishes no events, and this one does"));
        } else {
            findings.add(Finding.warning(
                    "kvcached",
                    "This host has segments of it (" + String.join(", ", names)
                            + "), and no event of the engine came, as none does from one under it.",
                    "--kvcached-segment NAME, where KVCACHED_IPC_NAME of the engine is one of them"));
        }
    }

    /** A prompt that nobody sent before, so that it is stored and announced; one token of answer. */
    private void tryOne() {
        String nonce = HexFormat.of().toHexDigits(random.nextLong());
        String text = ("Holdfast " + nonce + " asks whether events arrive. ").repeat(FULL_BLOCKS_OF_TRIAL);
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        String path;
        if (contact.type() == EngineType.SGLANG) {
            path = "/generate";
            body.put("text", text).putObject("sampling_params").put("max_new_tokens", 1);
        } else {
            path = "/v1/completions";
            contact.model().ifPresent(model -> body.put("model", model));
            body.put("prompt", text).put("max_tokens", 1);
        }
        Reply reply = contact.http()
                .waiting(TRIAL)
                .post(path, body.toString())
                .toCompletableFuture()
                .join();
        switch (reply) {
            case Reply.NoAnswer none ->
                findings.add(Finding.warning("request", none.why(), "try again when it is idle"));
            case Reply.Answer answer
            when answer.status() != 200 ->
                findings.add(Finding.warning(
                        "request",
                        path + " answered a small request with HTTP " + answer.status() + ".",
                        "look into the engine's log"));
            case Reply.Answer answer -> findings.add(Finding.ok("request", "a small one was served by " + path));
        }
    }

    private String why(Levers levers) {
        return levers.best()
                .map(lever -> lever.why()
                        + (lever.takesMemory()
                                ? " Automatic holds are off by default, since such pins take memory for good:"
                                        + " automaticHolds: true switches them on; without it only requested"
                                        + " prefixes are held."
                                : " Automatic holds are on by default, since the engine can evict what is held:"
                                        + " automaticHolds: false switches them off.")
                        + (isFollowed()
                                ? ""
                                : " But nothing is held automatically before the engine's events arrive, which"
                                        + " show what requests share and lose."))
                .orElse("No way to hold works on this engine as it runs, so the sidecar would only follow it and"
                        + " report what it would hold.");
    }

    /** Returns true if the sidecar would hear what the engine stores and removes. */
    private boolean isFollowed() {
        return !underKvcached()
                && findings.stream()
                        .noneMatch(each -> each.status() == Status.MISSING
                                && Set.of("events", "event format").contains(each.subject()));
    }

    /** Holding without being asked is on by default where the engine can evict what is held: said, so that it can be changed. */
    private String configuration(Levers levers) {
        ObjectNode engine = contact.target().mapping(contact.type());
        levers.best().ifPresent(lever -> engine.put("automaticHolds", !lever.takesMemory()));
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.putObject("engines").set("main", engine);
        return Yaml.printed(root);
    }
}
