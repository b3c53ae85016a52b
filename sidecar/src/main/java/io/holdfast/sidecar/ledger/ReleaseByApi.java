package io.holdfast.sidecar.ledger;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.sidecar.client.SidecarCalls;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.EmergencyRelease;
import io.holdfast.sidecar.ledger.LedgerRelease.Left;
import io.holdfast.sidecar.ledger.LedgerState.Pin;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Has the sidecar that writes a ledger let go of what it lists, and looks at the ledger until it is so. */
final class ReleaseByApi {
    private static final long LOOK_MILLIS = 100;
    private static final String AGAIN =
            "The sidecar repeats the call until the engine releases the pin; check that the engine answers, and"
                    + " look again with holdfast ledger show.";
    private static final String STAYS =
            "A pin whose unpin may not be repeated is closed when the idle engine shows that it is gone; to close"
                    + " it at once, flush the engine's cache or restart the engine.";

    private final SidecarCalls calls;
    private final Supplier<LedgerState> look;
    private final Duration patience;
    private final LongSupplier clock;

    ReleaseByApi(SidecarCalls calls, Supplier<LedgerState> look, Duration patience, LongSupplier clock) {
        this.calls = calls;
        this.look = look;
        this.patience = patience;
        this.clock = clock;
    }

    LedgerRelease release(LedgerState before) {
        String engine = "/api/v1/engines/" + before.id();
        SidecarCalls.Answer asked = calls.delete(engine + "/holds");
        if (asked.status() != 200 && asked.status() != 503) {
            throw new SidecarException("The sidecar at " + calls.api() + " does not release: " + asked.error());
        }
        long end = clock.getAsLong() + patience.toNanos();
        LedgerState now = look.get();
        JsonNode pins = pins(engine);
        while (!now.pins().isEmpty() && !settled(now, pins) && clock.getAsLong() - end < 0) {
            pause();
            now = look.get();
            pins = pins(engine);
        }
        List<Pin> left = now.pins();
        Optional<String> trouble = Optional.of(pins.path("trouble").asText("")).filter(text -> !text.isEmpty());
        return new LedgerRelease(
                before.id(),
                "the sidecar at " + calls.api(),
                before.pins().stream().filter(pin -> !listed(pin, left)).toList(),
                left.stream().map(pin -> new Left(pin, why(pin, trouble))).toList(),
                left.isEmpty() ? Optional.empty() : Optional.of(mend(left, trouble)),
                List.of("The sidecar holds nothing for engine " + before.id() + " until POST " + engine
                        + "/resume lifts that."));
    }

    private JsonNode pins(String engine) {
        return calls.get(engine).json().path("pins");
    }

    /** What is pinned anew under another step is the same pin. */
    private static boolean listed(Pin pin, List<Pin> left) {
        return left.stream()
                .anyMatch(each -> each.backend().equals(pin.backend())
                        && each.handle().equals(pin.handle())
                        && each.hold() == pin.hold());
    }

    private static boolean stays(Pin pin) {
        return pin.step() == Step.UNSURE || pin.step() == Step.KEPT;
    }

    /** Whether nothing more comes of waiting. */
    private static boolean settled(LedgerState now, JsonNode pins) {
        return pins.has("trouble")
                || now.pins().stream().allMatch(ReleaseByApi::stays)
                || pins.path("refused").asInt() >= now.pins().size();
    }

    private static String why(Pin pin, Optional<String> trouble) {
        if (!pin.releasable()) {
            return EmergencyRelease.UNRELEASABLE;
        }
        return !pin.note().isEmpty() ? pin.note() : trouble.orElse("the engine has not released it yet");
    }

    private static String mend(List<Pin> left, Optional<String> trouble) {
        if (left.stream().noneMatch(Pin::releasable)) {
            return LedgerRelease.NO_CALL;
        }
        return trouble.map(sentence -> "The sidecar says: " + sentence + ".")
                .orElse(left.stream().allMatch(ReleaseByApi::stays) ? STAYS : AGAIN);
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SidecarException(
                    "It was interrupted while the sidecar released pins; look with holdfast ledger show.", e);
        }
    }
}
