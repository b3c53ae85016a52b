package io.holdfast.kvcached;

import io.holdfast.kvcached.LimitView.State;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.kvcached.SegmentReading.Unknown;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Decides how the limit of one engine moves, and does nothing itself: it hears looks at the segment and at the load,
 * and says which {@link Move} is next.
 *
 * <p>One thread at a time; time is what it is told.
 */
public final class LimitLever {
    /*
     * What stands
     * -----------
     * A segment has no revision and no author, so the lever remembers which limit it left there. Another one has four
     * causes: a write of ours whose outcome is not known; an engine that started again, which puts its startup limit
     * back and counts its use from nothing; an engine with another pool, seen after it was away; or somebody else. In
     * the last case the lever stops until an operator says resume, and that one's limit stands.
     *
     * Requested and in force
     * ----------------------
     * An engine looks at its limit every 100 ms and applies it at its next allocation; one that is idle never does. So
     * a limit is in force when the engine said something new of its use after the write was seen to stay, and has
     * mapped no more than the limit. Until then a smaller limit counts as the larger one that it replaced, and is the
     * only one of its device that may be on its way.
     *
     * How low, how high, how fast
     * ---------------------------
     * Never below what is mapped and a margin (looked at again under the lock), nor below what the largest request
     * needs, which would wait for ever. Never above what the engine started with: beyond it are blocks that its tables
     * do not have. A limit is whole bundles. The startup limit itself is no limit to the engine, which compares with it
     * and stays small; one byte more in each layer's keys and values rounds down to the same pages and works
     * ("restore"). So a move that would end at the startup limit ends there or a page below.
     * A move is one step and then a pause. Going back up is only bookkeeping and harms nobody, so a restore and the way
     * back from a limit under which the engine suffered are one move each.
     *
     * Every limit that is written is safe by itself, so it does not matter when this process dies; the record that is
     * written before each move tells the next one whose limit it finds.
     */
    private static final long PROBATION_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long AFTER_ROLLBACK_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long AFTER_TROUBLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Cause of a limit's move. */
    enum Origin {
        REQUEST,
        PRESSURE,
        ROLLBACK,
        RESTORE
    }

    /** Limit that is to be set. */
    private record Wish(long bytes, Origin origin, String reason) {}

    /** A smaller limit, watched for what it does to requests. */
    private record Probation(long backTo, long sinceNanos) {}

    private final LimitSettings settings;
    private final String name;
    private Optional<LimitRecord> remembered;
    private final Strain strain = new Strain();
    private final LimitProof proof = new LimitProof();
    private final SegmentTrust trust;

    private SegmentReading reading = new Unknown("It was not looked at yet.");
    private Optional<Segment> before = Optional.empty();
    private EngineLoad load = EngineLoad.unknown();
    private boolean known;
    private boolean wasAway;
    private long startup;
    private long standing;
    private boolean moved;
    private Optional<Move> attempt = Optional.empty();
    private Optional<Probation> probation = Optional.empty();
    private Optional<Wish> wish = Optional.empty();
    private Optional<String> stopped = Optional.empty();
    private Optional<String> host = Optional.empty();
    private Optional<String> trouble = Optional.empty();
    private Optional<String> takenBack = Optional.empty();
    private Optional<String> takingBack = Optional.empty();
    /** The limit at the first sight was nobody's that is known. */
    private boolean strange;

    private String waits = "";
    private long notBefore = Long.MIN_VALUE;
    private long noShrinkBefore = Long.MIN_VALUE;
    private long moves;
    private long rollbacks;
    private long busy;
    private long foreign;

    /**
     * A lever that has seen nothing yet.
     *
     * @param name of the segment, for sentences
     * @param remembered what an earlier process wrote down
     */
    public LimitLever(String name, LimitSettings settings, Optional<LimitRecord> remembered) {
        this.name = name;
        this.settings = settings;
        this.remembered = remembered;
        this.trust = new SegmentTrust(name, settings.bundleBytes());
    }

    /**
     * Hears a look at the segment and at the engine.
     *
     * @param lastWrittenNanos when the segment was written last, as its file system counts
     * @param cannotMove why this process cannot move it, whatever the numbers say
     */
    public void look(
            SegmentReading seen, long lastWrittenNanos, EngineLoad said, Optional<String> cannotMove, long now) {
        reading = seen;
        load = said;
        host = cannotMove;
        strain.add(said, now);
        wasAway |= known && !said.answers();
        switch (seen) {
            case Unknown unknown -> {
                wasAway = true;
                before = Optional.empty();
            }
            case Segment segment -> {
                trust.look(segment, now);
                limit(segment, now);
                proof.look(segment, lastWrittenNanos);
                before = Optional.of(segment);
                wasAway &= !said.answers();
            }
        }
        suffer(now);
    }

    private void limit(Segment seen, long now) {
        long found = seen.limitBytes();
        if (!known) {
            firstSight(seen, now);
        } else if (attempt.isPresent()
                && (found == attempt.get().from() || found == attempt.get().to())) {
            if (found == attempt.get().to()) {
                proof.found(seen, committed());
                written(attempt.get(), now);
            }
            attempt = Optional.empty();
        } else if (found != standing && restarted(seen)) {
            begins(found, now);
        } else if (found != standing) {
            stop(seen);
        }
        standing = found;
    }

    private void firstSight(Segment seen, long now) {
        long found = seen.limitBytes();
        known = true;
        startup = found;
        if (remembered.isPresent()) {
            LimitRecord record = remembered.get();
            if (record.isOurs(found)) {
                startup = record.startupBytes();
                moved = found != startup;
                notBefore = now + settings.coolDown().toNanos();
                proof.found(seen, Math.max(record.from(), record.to()));
                record.requested().ifPresent(bytes -> wish(bytes, Origin.REQUEST, "requested before the last start"));
            } else if (record.to() > record.startupBytes()) {
                // Nothing of ours was left when the last process ended.
                remembered = Optional.empty();
            } else if (found == record.startupBytes()) {
                record.requested().ifPresent(bytes -> wish(bytes, Origin.REQUEST, "requested before the last start"));
            } else {
                foreign++;
                strange = true;
                stopped = Optional.of("The limit of " + name + " is " + ByteSize.text(found)
                        + ", and the last one written here was " + ByteSize.text(record.to())
                        + ": the engine started anew with another one, or somebody else moved it; say resume to go on"
                        + " from it as its startup limit.");
            }
        }
        standing = found;
    }

    /** An engine that starts writes its startup limit and counts its use from nothing. */
    private boolean restarted(Segment seen) {
        boolean fresh = seen.usedBytes() <= trust.bundle().orElse(0);
        boolean fell = before.isPresent() && seen.usedBytes() < before.get().usedBytes();
        return seen.limitBytes() == startup ? wasAway || seen.usedBytes() == 0 || (fell && fresh) : wasAway && fresh;
    }

    private void begins(long found, long now) {
        startup = found;
        moved = false;
        attempt = Optional.empty();
        proof.given();
        probation = Optional.empty();
        trust.begin();
        // Its first requests show what it needs, before its limit moves again.
        notBefore = Math.max(notBefore, now + settings.coolDown().toNanos());
    }

    private void stop(Segment seen) {
        foreign++;
        stopped = Optional.of("Somebody else moved the limit of " + name + " from " + ByteSize.text(standing) + " to "
                + ByteSize.text(seen.limitBytes())
                + ", so that it is left alone: say resume when nobody else moves it any more.");
        // What the engine follows is what it followed, until it allocates.
        proof.found(seen, Math.max(committed(), seen.limitBytes()));
        attempt = Optional.empty();
        probation = Optional.empty();
        moved = true;
    }

    /** Takes a smaller limit back under which the engine does worse. */
    private void suffer(long now) {
        if (probation.isEmpty()) {
            return;
        }
        Probation watched = probation.get();
        if (now - watched.sinceNanos > PROBATION_NANOS) {
            probation = Optional.empty();
            return;
        }
        strain.worseSince(watched.sinceNanos).ifPresent(worse -> {
            rollbacks++;
            takingBack =
                    Optional.of("The limit of " + ByteSize.text(standing) + " was taken back, since " + worse + ".");
            wish(watched.backTo, Origin.ROLLBACK, "the smaller limit is taken back, since " + worse);
            probation = Optional.empty();
            noShrinkBefore = now + AFTER_ROLLBACK_NANOS;
        });
    }

    /** Takes an operator's request, or refuses it with one sentence where it cannot or may not be met. */
    public Optional<Refusal> request(long bytes, long roomBytes) {
        Optional<Refusal> never = impossible(bytes);
        if (never.isPresent()) {
            return never;
        }
        Optional<String> idle = cannotMove();
        if (idle.isPresent()) {
            return Optional.of(new Refusal(false, idle.get()));
        }
        long target = bounds().whole(bytes);
        long lowest = lowest().orElse(Long.MAX_VALUE);
        if (target < standing && target < lowest) {
            return Optional.of(new Refusal(
                    false,
                    lowest == Long.MAX_VALUE
                            ? "How much the largest request needs is not known yet, so the limit cannot be lowered: ask"
                                    + " again when the engine has reported its context and its cache."
                            : "The engine holds " + ByteSize.text(segment().mappedBytes())
                                    + " and needs room for its largest" + " request: the lowest limit now is "
                                    + ByteSize.text(lowest) + "."));
        }
        if (target > standing && target - standing > roomBytes) {
            return Optional.of(new Refusal(
                    false,
                    "The engines of its device have " + ByteSize.text(Math.max(0, roomBytes))
                            + " left between them: lower another one first."));
        }
        takenBack = Optional.empty();
        wish(target, Origin.REQUEST, "requested");
        return Optional.empty();
    }

    private Optional<Refusal> impossible(long bytes) {
        if (bytes <= 0) {
            return Optional.of(
                    new Refusal(true, "A limit is more than 0 bytes: engines ignore any other, and some die of it."));
        }
        if (known && bytes > bounds().restored()) {
            return Optional.of(new Refusal(
                    true,
                    "The engine started with " + ByteSize.text(startup)
                            + " and has no blocks beyond it: ask for that or less."));
        }
        if (known && trust.bundle().isPresent() && bytes < trust.bundle().getAsLong()) {
            return Optional.of(new Refusal(
                    true,
                    "A page takes " + ByteSize.text(trust.bundle().getAsLong())
                            + " over all layers: ask for whole pages of that."));
        }
        return Optional.empty();
    }

    /** Requests the limit that the engine started with; refused where the limit may not be moved. */
    public Optional<Refusal> restore() {
        Optional<String> idle = cannotMove();
        if (idle.isPresent()) {
            return Optional.of(new Refusal(false, idle.get()));
        }
        takenBack = Optional.empty();
        wish = Optional.empty();
        if (moved) {
            wish(bounds().restored(), Origin.RESTORE, "back to what the engine started with");
        }
        return Optional.empty();
    }

    /**
     * Goes on from the limit that stands after somebody else moved it; answers whether there was anything to go on
     * from.
     */
    public boolean resume() {
        boolean followsAgain = trust.resume();
        boolean was = followsAgain || stopped.isPresent();
        stopped = Optional.empty();
        if (strange) {
            strange = false;
            remembered = Optional.empty();
            startup = standing;
            moved = false;
        }
        return was;
    }

    void wish(long bytes, Origin origin, String reason) {
        wish = Optional.of(new Wish(bytes, origin, reason));
    }

    /**
     * The next move, if there is one to make now.
     *
     * @param roomBytes by how much the limits of the device may grow together
     * @param another whether another engine of the device has a smaller limit on its way
     */
    Optional<Move> next(long roomBytes, boolean another, long now) {
        waits = "";
        Optional<String> idle = cannotMove();
        if (wish.isEmpty() || idle.isPresent() || attempt.isPresent()) {
            return Optional.empty();
        }
        Wish wanted = wish.get();
        long target = Math.min(
                wanted.origin == Origin.RESTORE ? bounds().restored() : bounds().whole(wanted.bytes),
                bounds().restored());
        if (target == standing || (!moved && target == bounds().restored())) {
            wish = wanted.origin == Origin.REQUEST ? wish : Optional.empty();
            return Optional.empty();
        }
        boolean back = wanted.origin == Origin.ROLLBACK || wanted.origin == Origin.RESTORE;
        if (back && target < standing) {
            // Somebody else went back further meanwhile.
            wish = Optional.empty();
            return Optional.empty();
        }
        if (!back && now < notBefore) {
            return waits("waits for the pause between two moves");
        }
        return target < standing ? lower(target, wanted, another, now) : raise(target, wanted, back, roomBytes);
    }

    private Optional<Move> lower(long target, Wish wanted, boolean another, long now) {
        if (proof.isOpen()) {
            return waits("waits for the engine to allocate, which puts the limit into force");
        }
        if (another) {
            return waits("waits for another engine of its device to follow its smaller limit");
        }
        if (now < noShrinkBefore) {
            return waits("waits a minute after a smaller limit was taken back");
        }
        OptionalLong lowest = lowest();
        if (lowest.isEmpty()) {
            return waits("waits for the engine to report its context and its cache");
        }
        long to = Math.max(bounds().up(Math.max(target, standing - bounds().step())), bounds().up(lowest.getAsLong()));
        return to >= standing
                ? waits("waits for the engine to give memory back, and can be " + ByteSize.text(lowest.getAsLong())
                        + " at the lowest")
                : move(to, wanted);
    }

    private Optional<Move> raise(long target, Wish wanted, boolean back, long roomBytes) {
        long most = roomBytes > Long.MAX_VALUE - standing ? Long.MAX_VALUE : standing + Math.max(0, roomBytes);
        long upTo = back ? target : Math.min(target, standing + bounds().step());
        long to = upTo >= bounds().restored() && most >= bounds().restored()
                ? bounds().restored()
                : bounds().down(Math.min(upTo, most));
        if (to == startup) {
            to = most >= bounds().restored() ? bounds().restored() : bounds().down(startup - 1);
        }
        // Whole bundles of a small step may be none at all.
        return to <= standing ? waits("waits for room on its device") : move(to, wanted);
    }

    private Optional<Move> move(long to, Wish wanted) {
        return Optional.of(new Move(standing, to, bounds().margin(), wanted.reason));
    }

    private Optional<Move> waits(String what) {
        waits = what;
        return Optional.empty();
    }

    /** Record to be written before a move. */
    LimitRecord record(Move move) {
        Optional<Wish> asked = wish.filter(wanted -> wanted.origin == Origin.REQUEST);
        return new LimitRecord(
                startup,
                move.from(),
                move.to(),
                asked.map(wanted -> OptionalLong.of(wanted.bytes)).orElse(OptionalLong.empty()));
    }

    /** A move is about to be made. */
    void begins(Move move) {
        attempt = Optional.of(move);
    }

    /** Takes the outcome of the move that was begun last. */
    void ended(Move move, WriteResult result, long now) {
        trouble = Optional.empty();
        switch (result) {
            case WriteResult.Applied applied -> {
                attempt = Optional.empty();
                proof.written(
                        applied.after(),
                        applied.lastWrittenNanos(),
                        Math.max(committed(), Math.max(move.from(), move.to())));
                written(move, now);
                standing = move.to();
                reading = applied.after();
                before = Optional.of(applied.after());
            }
            case WriteResult.Busy lock -> {
                busy++;
                attempt = Optional.empty();
                failed(lock.why(), now);
            }
            case WriteResult.Refused refused -> {
                attempt = Optional.empty();
                failed(refused.why(), now);
            }
            case WriteResult.Foreign other -> {
                // An engine that started again or somebody else: the next look knows.
                attempt = Optional.empty();
                failed("Its limit was changed to " + ByteSize.text(other.found()) + " at the same moment.", now);
            }
            case WriteResult.Unproven unproven -> failed(unproven.why(), now);
        }
    }

    private void failed(String why, long now) {
        trouble = Optional.of(why);
        notBefore = Math.max(notBefore, now + AFTER_TROUBLE_NANOS);
    }

    private void written(Move move, long now) {
        moves++;
        moved = move.to() != startup;
        notBefore = now + settings.coolDown().toNanos();
        if (move.shrinks()) {
            probation = Optional.of(new Probation(move.from(), now));
        } else {
            probation = Optional.empty();
        }
        if (wish.filter(wanted -> wanted.origin == Origin.ROLLBACK && move.to() >= wanted.bytes)
                .isPresent()) {
            wish = Optional.empty();
            takenBack = takingBack;
        }
    }

    /** The move that leaves a safe limit behind when nobody looks after it any more. */
    Optional<Move> last(long roomBytes) {
        boolean restores = settings.restores() && moved && cannotMove().isEmpty() && attempt.isEmpty();
        if (!restores || bounds().restored() - standing > roomBytes || bounds().restored() == standing) {
            return Optional.empty();
        }
        wish = Optional.empty();
        return Optional.of(new Move(standing, bounds().restored(), 0, "the sidecar ends"));
    }

    /** Bytes that the engine may take, by any limit that may be in force. */
    long committed() {
        long most = Math.max(
                Math.max(proof.mostBytes(standing), segment().mappedBytes()), trust.ignoresItsLimit() ? startup : 0);
        return attempt.map(move -> Math.max(most, Math.max(move.from(), move.to())))
                .orElse(most);
    }

    boolean seen() {
        return known;
    }

    /** Returns true while a smaller limit is written, or being written, that the engine has not shown to follow. */
    boolean shrinks() {
        return committed() > standing || attempt.filter(Move::shrinks).isPresent();
    }

    EngineLoad load() {
        return load;
    }

    long standing() {
        return standing;
    }

    boolean mayFollowPressure() {
        return settings.pressure()
                && cannotMove().isEmpty()
                && wish.filter(wanted -> wanted.origin != Origin.PRESSURE).isEmpty();
    }

    boolean hasWish() {
        return wish.isPresent();
    }

    /** Pressure is judged anew with each look. */
    void forgetPressure() {
        wish = wish.filter(wanted -> wanted.origin != Origin.PRESSURE);
    }

    /** Share of the limit that is mapped, 0 to 1 as a rule. */
    double pressure() {
        return reading instanceof Segment seen ? seen.mappedBytes() / (double) seen.limitBytes() : 0;
    }

    Optional<String> worseSince(long moment) {
        return strain.worseSince(moment);
    }

    long step() {
        return bounds().step();
    }

    long startup() {
        return startup;
    }

    private Optional<String> cannotMove() {
        if (reading instanceof Unknown unknown) {
            return Optional.of(unknown.why());
        }
        return stopped.or(this::observesOnly);
    }

    private Optional<String> observesOnly() {
        return host.or(() -> trust.doubt(segment(), load, startup));
    }

    private Segment segment() {
        return reading instanceof Segment seen ? seen : new Segment(standing, 0, 0);
    }

    private LimitBounds bounds() {
        return new LimitBounds(settings, startup, trust.bundle());
    }

    /** The least that may be requested now; absent while it is not known what the largest request needs. */
    OptionalLong lowest() {
        return bounds().lowest(load, segment().mappedBytes());
    }

    /** State of the limit now, for people. */
    public LimitView view() {
        State state = state();
        String sentence = switch (state) {
            case UNKNOWN -> reading instanceof Unknown unknown ? unknown.why() : "";
            case STOPPED -> stopped.orElse("");
            case OBSERVE_ONLY -> observesOnly().orElse("");
            case REQUESTED, IN_FORCE -> trouble.orElseGet(this::going);
        };
        return new LimitView(
                state,
                sentence,
                reading instanceof Segment seen ? Optional.of(seen) : Optional.empty(),
                known ? OptionalLong.of(startup) : OptionalLong.empty(),
                trust.bundle(),
                known ? lowest() : OptionalLong.empty(),
                wish.map(wanted -> OptionalLong.of(Math.min(bounds().whole(wanted.bytes), bounds().restored())))
                        .orElse(OptionalLong.empty()),
                moves,
                rollbacks,
                busy,
                foreign);
    }

    private State state() {
        if (reading instanceof Unknown) {
            return State.UNKNOWN;
        }
        if (stopped.isPresent()) {
            return State.STOPPED;
        }
        if (observesOnly().isPresent()) {
            return State.OBSERVE_ONLY;
        }
        return proof.isOpen() ? State.REQUESTED : State.IN_FORCE;
    }

    private String going() {
        String stands = proof.isOpen()
                ? "It counts from the engine's next allocation on; an idle engine makes none."
                : moved ? "The engine follows it." : "It is what the engine started with.";
        String after = takenBack.map(sentence -> " " + sentence).orElse("");
        return wish.filter(wanted -> !waits.isEmpty())
                .map(wanted -> stands + " The move to " + ByteSize.text(bounds().whole(wanted.bytes)) + " " + waits
                        + "." + after)
                .orElse(stands + after);
    }
}
