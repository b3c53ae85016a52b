package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a sidecar decide automatically what it holds in pinned legs; in baseline legs it is paused, and observes the
 * same traffic.
 *
 * <p>The pause is the sidecar's own: one call releases everything and pauses, another ends the pause. A pinned leg
 * makes the second in its hold step and the first at its end; a baseline leg makes the first at both places. Nothing is
 * named to the sidecar: what it holds it found in the traffic before the hold step, and whether that helped only the
 * cache can show.
 */
public final class AutomaticHolds implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(AutomaticHolds.class);
    private static final long POLL_NANOS = 10_000_000;
    /** A decision is made at once where there is one to make; what it holds may be under way a little longer. */
    private static final long MOST_WAIT_NANOS = 300_000_000;

    private static final Set<String> NOT_HELD = Set.of("wait", "refuse");

    private final SidecarHolder sidecar;
    private final RunClock clock;
    private boolean wasPaused;
    private boolean changed;

    /** @param engine the engine's id in the sidecar's configuration */
    public AutomaticHolds(URI sidecar, String engine, RunClock clock) {
        this.sidecar = new SidecarHolder(sidecar, engine, Duration.ofMinutes(1), clock);
        this.clock = clock;
    }

    @Override
    public String name() {
        return "what the " + sidecar.name() + ", decides to hold";
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public boolean learns() {
        return true;
    }

    @Override
    public void prepare() {
        sidecar.prepare();
        JsonNode view = sidecar.view();
        if (!view.path("automaticHolds").asBoolean(true)) {
            throw new LoadTestException("The " + sidecar.name()
                    + ", does not hold automatically; write automaticHolds: true in its configuration.");
        }
        long requested = holds(view, "requested");
        if (requested > 0) {
            throw new LoadTestException("The " + sidecar.name() + ", holds " + requested
                    + " requested prefixes, which a pause would release; release them first.");
        }
        wasPaused = !changed ? view.path("paused").asBoolean() : wasPaused;
        pause();
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of("A kill -9 leaves the sidecar paused, or holding what it decides; POST"
                + " /api/v1/engines/ID/resume ends a pause.");
    }

    @Override
    public FlushReceipt follow(Flush flush) {
        return sidecar.follow(flush);
    }

    /** Ends the pause; reports the decisions made within the slot, though later ones count as well. */
    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        long until = clock.nanos() + Math.min(within.toNanos() / 4, MOST_WAIT_NANOS);
        changed = true;
        Answer answer = sidecar.post("/resume");
        if (!answer.isOk()) {
            return HoldReceipt.notHeld("", 1, answer.problem());
        }
        long held = held(sidecar.view());
        while (held == 0 && clock.nanos() < until) {
            clock.sleep(POLL_NANOS);
            held = held(sidecar.view());
        }
        // Nobody says how many blocks this hold must have; what was switched on is that there may be one.
        return HoldReceipt.held(
                "",
                1,
                1,
                0,
                held > 0 ? "it decided to hold " + counted(held) : "it held nothing yet: " + why(sidecar.view()));
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        Answer answer = pause();
        sidecar.view();
        return answer.isOk() ? HoldReceipt.sham("it is paused") : HoldReceipt.skipped(answer.problem());
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        JsonNode view = sidecar.view();
        long held = held(view);
        Optional<String> nothing =
                held == 0 && step.kind() != HoldReceipt.Kind.SHAM ? Optional.of(why(view)) : Optional.empty();
        Answer answer = pause();
        if (!answer.isOk()) {
            return step.kind() == HoldReceipt.Kind.SHAM
                    ? ReleaseReceipt.skipped(answer.problem())
                    : ReleaseReceipt.lost(answer.problem());
        }
        return step.kind() == HoldReceipt.Kind.SHAM
                ? ReleaseReceipt.sham("it was paused")
                : nothing.map(ReleaseReceipt::nothingHeld)
                        .orElseGet(() -> ReleaseReceipt.released("it released " + counted(held) + " and is paused"));
    }

    /** Leaves the sidecar as it was found. */
    @Override
    public void close() {
        boolean interrupted = Thread.interrupted();
        try {
            if (changed) {
                Answer answer = wasPaused ? pause() : sidecar.post("/resume");
                if (!answer.isOk()) {
                    LOG.warn("The {} stays as the last leg left it: {}", sidecar.name(), answer.problem());
                }
            }
        } catch (LoadTestException e) {
            LOG.warn("The {} stays as the last leg left it: {}", sidecar.name(), e.getMessage());
        } finally {
            changed = false;
            sidecar.close();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The sidecar's own reason: of the prefix that cost the most, of what it planned last, or of the engine. */
    private String why(JsonNode view) {
        return sidecar.get("/prefixes")
                .json()
                .path("prefixes")
                .valueStream()
                .map(prefix -> prefix.path("why").asText())
                .filter(why -> !why.isEmpty())
                .findFirst()
                .or(() -> view.path("plan")
                        .path("lines")
                        .valueStream()
                        .filter(line -> NOT_HELD.contains(line.path("action").asText()))
                        .map(line -> line.path("reason").asText())
                        .findFirst())
                .or(sidecar::needs)
                .map(ControlHttp::withoutEnd)
                .orElse("it found nothing that requests share");
    }

    private static String counted(long prefixes) {
        return prefixes + (prefixes == 1 ? " prefix" : " prefixes");
    }

    private Answer pause() {
        changed = true;
        return sidecar.delete("/holds");
    }

    private static long held(JsonNode view) {
        return StreamSupport.stream(view.path("holds").spliterator(), false)
                .filter(hold -> SidecarHolder.isHeld(hold.path("state").asText()))
                .count();
    }

    private static long holds(JsonNode view, String origin) {
        return StreamSupport.stream(view.path("holds").spliterator(), false)
                .filter(hold -> origin.equals(hold.path("origin").asText()))
                .filter(hold -> !"released".equals(hold.path("state").asText()))
                .count();
    }
}
