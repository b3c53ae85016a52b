package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * Pace of a suite: says now and then how long it will still take, lets the server rest between legs, and ends the suite
 * when its time is over: never between the two legs of a pair, and with all that is over in the folder.
 */
public final class Pace implements Suite.Between {
    private static final int LEGS_BETWEEN_WORDS = 10;

    private final Suite.Between inner;
    private final TimeLeft left;
    private final Limits limits;
    private final RunClock clock;
    private final Consumer<String> tell;
    private final List<String> missing;
    private OptionalLong began = OptionalLong.empty();
    private OptionalLong lastEnded = OptionalLong.empty();
    private String lastPair = "";
    private final int planned;
    private int begun;

    /**
     * Limits of a suite's time.
     *
     * @param rest from the end of a leg to the beginning of the next
     * @param most time after which no more legs begin
     */
    public record Limits(Duration rest, Optional<Duration> most) {}

    /**
     * @param inner what happens before each leg
     * @param left which knows of the legs that are there
     * @param missing ids of the legs that are to run
     */
    Pace(
            Suite.Between inner,
            TimeLeft left,
            List<String> missing,
            Limits limits,
            RunClock clock,
            Consumer<String> tell) {
        this.inner = inner;
        this.left = left;
        this.missing = new ArrayList<>(missing);
        this.planned = missing.size();
        this.limits = limits;
        this.clock = clock;
        this.tell = tell;
    }

    /** Returns the pace for the legs that a folder still lacks. */
    public static Pace of(
            Suite.Between inner,
            List<Suite.Leg> legs,
            LoadFolder folder,
            Limits limits,
            RunClock clock,
            Consumer<String> tell) {
        TimeLeft left = new TimeLeft(legs);
        folder.legs().forEach(left::add);
        return new Pace(inner, left, folder.missing(), limits, clock, tell);
    }

    @Override
    public boolean goesOn(Suite.Leg next) {
        if (began.isEmpty()) {
            began = OptionalLong.of(clock.nanos());
        }
        long took = clock.nanos() - began.getAsLong();
        String pair = pairOf(next);
        boolean inPair = !pair.isEmpty() && pair.equals(lastPair);
        if (!inPair && limits.most().filter(limit -> took >= limit.toNanos()).isPresent()) {
            tell.accept("The time is over: " + missing.size() + " legs are not begun; go on with them by --resume.");
            return false;
        }
        lastPair = pair;
        return true;
    }

    private static String pairOf(Suite.Leg leg) {
        return leg.settings().containsKey(Staggered.ACROSS)
                ? leg.settings().get(Staggered.ACROSS) + " " + leg.settings().getOrDefault(Staggered.PAIR, "")
                : "";
    }

    @Override
    public Map<String, String> before(Suite.Leg next, EngineUnderTest engine) {
        if (planned > LEGS_BETWEEN_WORDS && begun++ % LEGS_BETWEEN_WORDS == 0) {
            tell.accept(left.text(missing));
        }
        Map<String, String> notes = new LinkedHashMap<>(inner.before(next, engine));
        if (lastEnded.isPresent() && !limits.rest().isZero()) {
            clock.sleepUntil(lastEnded.getAsLong() + limits.rest().toNanos());
            notes.put("cooldown_s", String.format(Locale.ROOT, "%.3f", (clock.nanos() - lastEnded.getAsLong()) / 1e9));
        }
        return notes;
    }

    @Override
    public void after(LoadLeg leg) {
        lastEnded = OptionalLong.of(clock.nanos());
        missing.remove(leg.id());
        left.add(leg);
        inner.after(leg);
    }
}
