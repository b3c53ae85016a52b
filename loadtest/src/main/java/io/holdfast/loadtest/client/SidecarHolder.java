package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunClock;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds through a sidecar's API.
 *
 * <p>A flush is followed when the sidecar's engine has moved on to another incarnation and is certain of what it sees;
 * a hold asked for earlier would be lost to the flush that the sidecar has yet to hear of.
 */
public final class SidecarHolder implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(SidecarHolder.class);
    private static final int MOST_FLUSHES = 12;
    private static final Duration SEEN_WITHIN = Duration.ofSeconds(6);
    private static final Duration LIMIT = Duration.ofSeconds(15);
    private static final long POLL_NANOS = 5_000_000;
    /** A leg is expected to be as long as a few requests tell, and may be much longer. */
    private static final int LEGS_OF_A_LEASE = 10;

    private static final Duration LEAST_LEASE = Duration.ofMinutes(1);

    private final ControlHttp http;
    private final URI sidecar;
    private final String engine;
    private final String path;
    private final Duration mostLease;
    private final Duration seenWithin;
    private final RunClock clock;
    private Optional<String> openHold = Optional.empty();
    private Duration lease;

    /**
     * @param engine the engine's id in the sidecar's configuration
     * @param lease how long a hold lasts at most; shorter where legs are known to be
     */
    public SidecarHolder(URI sidecar, String engine, Duration lease, RunClock clock) {
        this(sidecar, engine, lease, SEEN_WITHIN, LIMIT, clock);
    }

    /**
     * @param seenWithin how long all flushes of one leg together may take to be seen
     * @param limit the most that one call may take
     */
    SidecarHolder(URI sidecar, String engine, Duration lease, Duration seenWithin, Duration limit, RunClock clock) {
        this.http = new ControlHttp(sidecar, Map.of(), limit);
        this.sidecar = sidecar;
        this.engine = engine;
        this.path = "/api/v1/engines/" + URLEncoder.encode(engine, StandardCharsets.UTF_8);
        this.mostLease = lease;
        this.lease = lease;
        this.seenWithin = seenWithin;
        this.clock = clock;
    }

    @Override
    public String name() {
        return "sidecar at " + sidecar + ", engine " + engine;
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public void prepare() {
        long until = clock.nanos() + seenWithin.toNanos();
        JsonNode backend = view().path("backend");
        // A sidecar that just started does not know yet.
        while (!backend.path("canPin").asBoolean(true) && clock.nanos() < until) {
            clock.sleep(POLL_NANOS);
            backend = view().path("backend");
        }
        if (!backend.path("canPin").asBoolean(true)) {
            throw new LoadTestException("The " + name() + ", cannot hold: "
                    + ControlHttp.withoutEnd(backend.path("why").asText("it does not say why"))
                    + "; see 'holdfast doctor'.");
        }
    }

    @Override
    public Duration legsTake(Duration about) {
        Duration longEnough = about.multipliedBy(LEGS_OF_A_LEASE);
        lease = Stream.of(longEnough, LEAST_LEASE).max(Duration::compareTo).orElse(longEnough);
        lease = lease.compareTo(mostLease) < 0 ? lease : mostLease;
        return about;
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of(
                "A hold that a kill -9 leaves behind ends automatically within " + lease.toSeconds() + " s.");
    }

    @Override
    public FlushReceipt follow(Flush flush) {
        String before = incarnation(view());
        for (int flushes = 1; flushes <= MOST_FLUSHES; flushes++) {
            Optional<String> problem = flush.flush();
            if (problem.isPresent()) {
                return new FlushReceipt(before, flushes, problem);
            }
            long until = clock.nanos() + seenWithin.toNanos() / MOST_FLUSHES;
            do {
                JsonNode view = view();
                if (!incarnation(view).equals(before) && view.path("certain").asBoolean()) {
                    return new FlushReceipt(incarnation(view), flushes, Optional.empty());
                }
                clock.sleep(POLL_NANOS);
            } while (clock.nanos() < until);
        }
        return new FlushReceipt(
                before,
                MOST_FLUSHES,
                Optional.of("the sidecar did not see the flush of engine " + engine + " within "
                        + seenWithin.toMillis() + " ms: "
                        + view().path("certainty").asText("it does not say why")
                        + ", so check that it receives the engine's events"));
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        long until = clock.nanos() + within.toNanos();
        ObjectNode body = ControlHttp.JSON.createObjectNode();
        ArrayNode tokens = body.putArray("tokens");
        for (int token : prefixes.probed().tokens()) {
            tokens.add(token);
        }
        body.put("leaseSeconds", lease.toSeconds());
        Answer answer = ask(() -> http.post(path + "/holds", body.toString()));
        if (!answer.isOk()) {
            return HoldReceipt.notHeld("", 0, answer.problem());
        }
        JsonNode hold = answer.json();
        String id = hold.path("id").asText();
        openHold = Optional.of(id).filter(name -> !name.isEmpty());
        try {
            return awaitHeld(id, hold, until);
        } catch (RuntimeException e) {
            // Nobody gets a receipt to release it by.
            deleteOpenHold();
            throw e;
        }
    }

    private HoldReceipt awaitHeld(String id, JsonNode created, long until) {
        JsonNode hold = created;
        while (isRequested(hold) && clock.nanos() < until) {
            clock.sleep(POLL_NANOS);
            Answer again = ask(() -> http.get(path + "/holds/" + id));
            if (!again.isOk()) {
                return HoldReceipt.notHeld(id, hold.path("wantedBlocks").asInt(), again.problem());
            }
            hold = again.json();
        }
        return receipt(id, hold);
    }

    @Override
    public ReleaseReceipt release(HoldReceipt hold) {
        if (hold.kind() == HoldReceipt.Kind.SHAM) {
            return ReleaseReceipt.sham("incarnation " + incarnation(view()));
        }
        if (hold.id().isEmpty()) {
            return ReleaseReceipt.skipped("there is no hold");
        }
        Answer last = ask(() -> http.get(path + "/holds/" + hold.id()));
        String state = last.isOk() ? last.json().path("state").asText() : "gone";
        String reason = last.isOk() ? last.json().path("reason").asText() : last.problem();
        Answer released = ask(() -> http.delete(path + "/holds/" + hold.id()));
        openHold = openHold.filter(id -> !id.equals(hold.id()));
        if ("lost".equals(state)) {
            return ReleaseReceipt.broken(reason);
        }
        if (!isHeld(state)) {
            return ReleaseReceipt.lost(state + ": " + reason);
        }
        return released.isOk()
                ? ReleaseReceipt.released(released.json().path("reason").asText())
                : ReleaseReceipt.lost(released.problem());
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        return HoldReceipt.sham("incarnation " + incarnation(view()));
    }

    /** Deletes the hold that an aborted leg left behind, if one did. */
    @Override
    public void close() {
        deleteOpenHold();
        http.close();
    }

    /**
     * Works on an interrupted thread too, since that is how a run is aborted; where it fails, the lease ends the hold.
     */
    private void deleteOpenHold() {
        boolean interrupted = Thread.interrupted();
        try {
            if (openHold.isPresent()) {
                http.delete(path + "/holds/" + openHold.get());
            }
        } catch (IOException | LoadTestException e) {
            LOG.warn(
                    "The hold {} could not be deleted and stays until its lease is over: {}",
                    openHold.orElse(""),
                    e.getMessage());
        } finally {
            openHold = Optional.empty();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns what the sidecar's overview says that this engine lacks, the most urgent alone. */
    Optional<String> needs() {
        return ask(() -> http.get("/api/v1/overview"))
                .json()
                .path("engines")
                .valueStream()
                .filter(one -> engine.equals(one.path("id").asText()))
                .map(one -> one.path("needs").asText())
                .filter(said -> !said.isEmpty())
                .findFirst();
    }

    /** Calls a route of the engine. */
    Answer post(String route) {
        return ask(() -> http.post(path + route, ""));
    }

    Answer get(String route) {
        return ask(() -> http.get(path + route));
    }

    Answer delete(String route) {
        return ask(() -> http.delete(path + route));
    }

    /** Returns the sidecar's view of the engine. */
    JsonNode view() {
        Answer answer = ask(() -> http.get(path));
        if (answer.status() == 404) {
            throw new LoadTestException("The sidecar at " + sidecar + " has no engine called " + engine
                    + "; use an id from its configuration.");
        }
        if (!answer.isOk()) {
            throw new LoadTestException(
                    "The sidecar at " + sidecar + " cannot tell about engine " + engine + ": " + answer.problem());
        }
        return answer.json();
    }

    private Answer ask(Question question) {
        try {
            return question.ask();
        } catch (IOException e) {
            throw new LoadTestException(
                    "The sidecar at " + sidecar + " does not answer; check that it runs and that the address is right.",
                    e);
        }
    }

    private static HoldReceipt receipt(String id, JsonNode hold) {
        int wanted = hold.path("wantedBlocks").asInt();
        String state = hold.path("state").asText();
        String reason = hold.path("reason").asText();
        return isHeld(state)
                ? HoldReceipt.held(
                        id,
                        wanted,
                        hold.path("heldBlocks").asInt(),
                        hold.path("heldTokens").asLong(),
                        reason)
                : HoldReceipt.notHeld(id, wanted, state + ": " + reason);
    }

    private static boolean isRequested(JsonNode hold) {
        return "requested".equals(hold.path("state").asText());
    }

    static boolean isHeld(String state) {
        return "held".equals(state) || "expiring".equals(state);
    }

    private static String incarnation(JsonNode view) {
        return view.path("incarnation").asText();
    }

    private interface Question {
        Answer ask() throws IOException;
    }
}
