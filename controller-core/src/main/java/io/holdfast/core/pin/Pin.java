package io.holdfast.core.pin;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.index.StayingPath;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** One block that is, or may be, pinned: what {@link Pins} knows of it, which alone changes it. */
final class Pin {
    static final long NEVER = Long.MIN_VALUE;

    enum State {
        PLANNED,
        PINNING,
        PINNED,
        UNPIN_DUE,
        UNPINNING,
        UNSURE,
        KEPT
    }

    /** Who made a pin and what it is called there. */
    record Key(String backend, String handle) {}

    final Backend backend;
    final PinKind kind;
    final Key key;
    /** Block at the end of the path, or of what is left of it. */
    long block;

    /** Blocks on the path. */
    int blocks;

    final boolean fromEarlierLife;
    /** Who needs it. */
    final Map<Long, HoldOrigin> holds = new LinkedHashMap<>();
    /** Whose entries are still to be closed, though they do not need it any more. */
    final Map<Long, HoldOrigin> leavers = new LinkedHashMap<>();

    State state = State.PLANNED;
    boolean counted;
    /** Time until which a call without a clear answer may still pin. */
    long mayArriveUntilNanos = NEVER;

    long dueNanos;
    long askedNanos = NEVER;
    int attempts;
    /** True once the engine has been asked in this life, and answered something. */
    boolean answered;

    boolean refused;
    /** True while the last call to unpin it had no clear answer, so that it may be there still. */
    boolean unclear;
    /** The last step of its leavers' entries. */
    Step written = Step.PINNED;

    /** It may be pinned where nobody vouched for it. */
    boolean doubtful;
    /** True while events show what becomes of the block meanwhile. */
    boolean arrivalWatched;
    /** Number of caches in which the engine pinned it, where that was not what was requested. */
    int pinnedIn;

    /** Times at which the pin was sent and answered. */
    long sentNanos;

    long pinnedNanos;

    String trouble = "";
    /** Rest of a pin that cannot be taken back, once it may have been made. */
    Optional<StayingPath> left = Optional.empty();
    /** Time from which on it counts, on the engine's clock. */
    long sinceMicros = Long.MAX_VALUE;

    /** Creates the pin that an entry is about. */
    Pin(Backend backend, PinKind kind, Key key, Entry entry, boolean fromEarlierLife) {
        this.backend = backend;
        this.kind = kind;
        this.key = key;
        this.block = entry.lastBlock();
        this.blocks = entry.blocks();
        this.fromEarlierLife = fromEarlierLife;
    }

    /** Takes up what an earlier life wrote of it. What cannot be taken back counts until events tell what is left. */
    void takeOver(Entry entry) {
        leavers.put(entry.holdId(), entry.origin());
        if (entry.step() == Step.PINNING) {
            mayArriveUntilNanos = Pins.ARRIVAL_NANOS;
        }
        if (!kind.releasable()) {
            long since = EngineMoment.of(entry.note());
            sinceMicros = state == State.KEPT ? Math.max(sinceMicros, since) : since;
            state = State.KEPT;
            return;
        }
        switch (entry.step()) {
            case KEPT -> {
                state = State.KEPT;
                written = Step.KEPT;
                trouble = entry.note();
            }
            case UNSURE -> {
                if (state != State.KEPT) {
                    state = State.UNSURE;
                    written = Step.UNSURE;
                    trouble = entry.note();
                }
            }
            case PINNING, PINNED, RELEASED -> {
                if (state == State.PLANNED) {
                    state = State.UNPIN_DUE;
                }
            }
        }
    }

    boolean leaving() {
        return state != State.PLANNED && state != State.PINNING && state != State.PINNED;
    }

    Entry entry(Step step, long holdId, HoldOrigin origin) {
        String note = kind.releasable() ? trouble : EngineMoment.note(sinceMicros);
        return new Entry(step, holdId, origin, key.backend, key.handle, block, blocks, note);
    }

    /** Unpinned once, and to be once more, since a call without a clear answer may still pin it. */
    boolean isAwaited(long nowNanos) {
        return state == State.UNPIN_DUE && answered && !refused && nowNanos < mayArriveUntilNanos;
    }

    /** Returns true if it is from an earlier life of this process and was not requested yet, or not answered for. */
    boolean isLeftover() {
        return fromEarlierLife && !answered && (state == State.UNPINNING || state == State.UNPIN_DUE);
    }
}
