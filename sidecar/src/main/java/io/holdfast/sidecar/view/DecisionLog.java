package io.holdfast.sidecar.view;

import io.holdfast.core.EngineView;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.Plan;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The last decisions of all engines, one line for each hold whose state or whose reason's code changed.
 *
 * <p>It is fed by looking at what an engine shows and comparing that with the look before, so that it costs the thread that
 * decides nothing; of what changed twice between two looks, the second is told. Numbers are of this process and grow; they begin
 * with the time at which it started, so that those of a later process are larger and who comes back with one of an earlier
 * process is told everything. Any thread.
 */
public final class DecisionLog {
    /** Ids that one millisecond of a start has, so that no process ever reaches those of the next one. */
    private static final long IDS_A_MILLI = 1_000;
    /** Shared prefixes that are not held, and whose last decision is remembered so that it is told once. */
    private static final int PREFIXES = 1_024;

    private final int most;
    private final InstantSource wall;
    private final Deque<Decision> last = new ArrayDeque<>();
    private final Map<String, Seen> engines = new HashMap<>();
    private long newest;

    /**
     * One decision.
     *
     * @param about what it was made about
     * @param what the state of a hold, the action on a prefix, or what became of the engine's holding
     * @param code which of all reasons; empty where there is none but the sentence
     * @param open what those may read who may not act; empty where the reason may be read by all
     */
    public record Decision(
            long id,
            Instant at,
            String engine,
            About about,
            OptionalLong hold,
            String what,
            String code,
            int blocks,
            String reason,
            String open) {
        /** Subjects of decisions. */
        enum About {
            HOLD,
            PREFIX,
            ENGINE
        }

        /** Returns the reason as far as this reader may see it. */
        String reason(boolean why) {
            return why || open.isEmpty() ? reason : open;
        }
    }

    /** An engine's state at the last look. */
    private static final class Seen {
        private Map<Long, String> holds = new HashMap<>();
        private final Map<Long, String> prefixes = new LinkedHashMap<>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Long, String> eldest) {
                return size() > PREFIXES;
            }
        };
        private Optional<String> paused = Optional.empty();
        private TtftEffect.State effect = TtftEffect.State.UNPROVEN;
        private long tick = -1;
    }

    public DecisionLog(int most, InstantSource wall) {
        this.most = most;
        this.wall = wall;
        this.newest = wall.millis() * IDS_A_MILLI;
    }

    /** Notes what has changed at an engine since the last look at it. */
    synchronized void look(String engine, EngineView view, List<HoldView> holds) {
        Seen seen = engines.computeIfAbsent(engine, id -> new Seen());
        Instant now = wall.instant();
        lookAtEngine(engine, view, seen, now);
        Map<Long, Plan.Line> lines = view.lastPlan().lines().stream()
                .filter(line -> line.holdId() != 0)
                .collect(Collectors.toMap(Plan.Line::holdId, line -> line, (first, second) -> second));
        Map<Long, String> shown = new HashMap<>();
        for (HoldView hold : holds) {
            String code = Optional.ofNullable(lines.get(hold.id()))
                    .map(line -> ApiJson.lower(line.code()))
                    .orElse("");
            boolean waits = hold.state() == HoldState.REQUESTED || hold.state() == HoldState.LOST;
            String key = hold.state() + (waits ? " " + code : "");
            shown.put(hold.id(), key);
            if (!key.equals(seen.holds.get(hold.id()))) {
                add(new Decision(
                        0,
                        now,
                        engine,
                        Decision.About.HOLD,
                        OptionalLong.of(hold.id()),
                        ApiJson.lower(hold.state()),
                        code,
                        hold.wantedBlocks(),
                        hold.reason(),
                        ApiJson.withheld(hold)));
            }
        }
        for (Map.Entry<Long, String> before : seen.holds.entrySet()) {
            if (!shown.containsKey(before.getKey()) && !before.getValue().startsWith(HoldState.RELEASED.name())) {
                add(new Decision(
                        0,
                        now,
                        engine,
                        Decision.About.HOLD,
                        OptionalLong.of(before.getKey()),
                        ApiJson.lower(HoldState.RELEASED),
                        "",
                        0,
                        "it is over, and not listed any more",
                        ""));
            }
        }
        seen.holds = shown;
        if (view.lastPlan().tick() != seen.tick) {
            seen.tick = view.lastPlan().tick();
            view.lastPlan().lines().stream().filter(line -> line.holdId() == 0).forEach(line -> {
                String key = line.action() + " " + line.code();
                if (!key.equals(seen.prefixes.put(line.prefix(), key))) {
                    add(new Decision(
                            0,
                            now,
                            engine,
                            Decision.About.PREFIX,
                            OptionalLong.empty(),
                            ApiJson.lower(line.action()),
                            ApiJson.lower(line.code()),
                            line.blocks(),
                            line.reason(),
                            "decided" + ApiJson.WITHHELD));
                }
            });
        }
    }

    private void lookAtEngine(String engine, EngineView view, Seen seen, Instant now) {
        if (!view.paused().equals(seen.paused)) {
            about(
                    engine,
                    now,
                    view.paused().isPresent() ? "paused" : "resumed",
                    view.paused().orElse("holding goes on"));
            seen.paused = view.paused();
        }
        if (view.ttft().state() != seen.effect) {
            about(engine, now, ApiJson.lower(view.ttft().state()), view.ttft().reason());
            seen.effect = view.ttft().state();
        }
    }

    private void about(String engine, Instant now, String what, String reason) {
        add(new Decision(0, now, engine, Decision.About.ENGINE, OptionalLong.empty(), what, "", 0, reason, ""));
    }

    private void add(Decision made) {
        newest++;
        last.addLast(new Decision(
                newest,
                made.at,
                made.engine,
                made.about,
                made.hold,
                made.what,
                made.code,
                made.blocks,
                made.reason,
                made.open));
        if (last.size() > most) {
            last.removeFirst();
        }
    }

    /** Forgets what engines showed that are followed no more; what was decided stays. */
    synchronized void keepOnly(Set<String> followed) {
        engines.keySet().retainAll(followed);
    }

    /** Returns decisions after the one that a reader had last, oldest first. */
    public synchronized List<Decision> after(long id, int limit) {
        List<Decision> found = new ArrayList<>();
        Iterator<Decision> newestFirst = last.descendingIterator();
        while (newestFirst.hasNext()) {
            Decision each = newestFirst.next();
            if (each.id <= id) {
                break;
            }
            found.addFirst(each);
        }
        return found.size() > limit ? List.copyOf(found.subList(0, limit)) : found;
    }

    /** Returns decisions before one, newest first. */
    public synchronized List<Decision> before(long id, int limit, Optional<String> engine) {
        List<Decision> found = new ArrayList<>();
        Iterator<Decision> newestFirst = last.descendingIterator();
        while (newestFirst.hasNext() && found.size() < limit) {
            Decision each = newestFirst.next();
            if (each.id < id && engine.map(each.engine::equals).orElse(true)) {
                found.add(each);
            }
        }
        return found;
    }

    /** The id of the last one, and that before the first one where there is none yet. */
    public synchronized long newest() {
        return newest;
    }

    /** Returns true if some decisions after this one are not kept any more. */
    public synchronized boolean forgotAfter(long id) {
        return !last.isEmpty() && id < last.getFirst().id - 1;
    }
}
