package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.HoldReport;
import io.holdfast.rules.engine.HoldReport.Result;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;

/*
 * Blocks that a connector holds: Holdfast's by name, or NIXL's by lease.
 *
 * By name
 * -------
 * A hold is one more user of each full block of a prompt. So the pool evicts none of them, everybody finds them as
 * before; the request that asked ends like any other, and nothing keeps an idle engine awake.
 *
 * A hold ends when it is released, when it was not renewed in time, when it gives way, or when the cache is emptied.
 * Time is looked at when a request arrives and in each pass: in an idle engine a hold that is over stays until the next
 * request of anybody.
 *
 * Giving way is the last resort. While anything is scheduled, a request that waits for blocks gets those of running
 * requests when they end. When nothing was for a while, only holds can be in its way: then they go one by one, the one
 * that was renewed the longest ago first, until the request is admitted.
 *
 * By lease
 * --------
 * NIXL does not let a finished request go: all its blocks stay in use, also the last one that is not full, until the
 * lease is over. Nothing ends it before, and nothing gives way. While there is one the engine's loop goes on without
 * work, so a lease ends on time in an idle engine too.
 */
final class HeldBlocks {
    private static final double NANOS = 1e9;

    /** Two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Hold(int[] blocks, long untilNanos) {}

    /** A lease; two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Lease(String id, int[] blocks, long untilNanos) {}

    /** Longest pass of a loop that goes on without work: it looks for requests again after that. */
    private static final long IDLE_PASS_NANOS = 10_000_000;

    private final Optional<Connector> connector;
    private final Optional<Duration> nixlLease;
    private final BlockPool pool;
    private final EngineClock clock;
    private final Faults faults;

    /** Holds by name, the one held or renewed the longest ago first. */
    private final SequencedMap<String, Hold> holds = new LinkedHashMap<>();

    /** Number of holds that refer to a block, for those with any. */
    private final Map<Integer, Integer> references = new HashMap<>();

    /** Leases in the order in which they end. */
    private final Deque<Lease> leases = new ArrayDeque<>();

    private long expired;

    private OptionalLong stalledSince = OptionalLong.empty();
    private long gaveWay;

    /** Has what the settings say is loaded; without a connector all orders are ignored. */
    HeldBlocks(VllmSettings settings, BlockPool pool, EngineClock clock, Faults faults) {
        this.connector = settings.connector();
        this.nixlLease = settings.nixlLease();
        this.pool = pool;
        this.clock = clock;
        this.faults = faults;
    }

    boolean any() {
        return !holds.isEmpty() || leased();
    }

    /** Returns true while a lease runs, for which the engine's loop goes on. */
    boolean leased() {
        return !leases.isEmpty();
    }

    /** Returns the number of leases that have ended. */
    long expired() {
        return expired;
    }

    /** Blocks that each hold or lease keeps, by the names that events give them. */
    Map<String, Set<Long>> hashes() {
        Map<String, Set<Long>> all = new HashMap<>();
        holds.forEach((id, hold) ->
                all.put(id, Arrays.stream(hold.blocks).mapToObj(pool::hash).collect(Collectors.toSet())));
        leases.forEach(lease -> all.computeIfAbsent(lease.id, _ -> new HashSet<>())
                .addAll(Arrays.stream(lease.blocks)
                        .filter(pool::isNamed)
                        .mapToObj(pool::hash)
                        .toList()));
        return all;
    }

    /** Ends holds that are over, and those that the request releases. */
    void arrived(VllmRequest request) {
        sweep();
        if (request.generation.terms().order().orElse(null) instanceof HoldOrder.Release(List<String> ids)) {
            List<String> names = ids.equals(HoldOrder.ALL) ? List.copyOf(holds.keySet()) : ids;
            request.released = names.stream().mapToInt(this::drop).sum();
        }
    }

    /** Ends holds and leases that are over. */
    void sweep() {
        long now = clock.nanos();
        while (leased() && now - leases.getFirst().untilNanos >= 0) {
            Lease over = leases.removeFirst();
            pool.release(over.blocks, over.blocks.length);
            expired++;
        }
        if (!holds.isEmpty()) {
            List<String> over = new ArrayList<>();
            holds.forEach((id, hold) -> {
                if (now - hold.untilNanos >= 0) {
                    over.add(id);
                }
            });
            over.forEach(this::drop);
        }
    }

    /** Does what a request that has said all wants done, while it has its blocks, and notes the report. */
    void finished(VllmRequest request, int blockTokens) {
        if (nixlLease.isPresent()
                && request.generation.terms().order().orElse(null) instanceof HoldOrder.Lease(String id)) {
            lease(request, id, nixlLease.get());
        } else if (connector.isPresent()) {
            request.generation
                    .terms()
                    .order()
                    .ifPresent(order -> request.generation.reported(
                            report(connector.get(), perform(connector.get(), request, order, blockTokens))));
        }
    }

    /**
     * Gives up the oldest hold if nothing has been scheduled for long enough; false if not, or if there is none. To be
     * asked in passes without work only.
     */
    boolean givesWay() {
        if (holds.isEmpty()) {
            return false;
        }
        long now = clock.nanos();
        if (stalledSince.isEmpty()) {
            stalledSince = OptionalLong.of(now);
        }
        if (now - giveWayNanos() < 0) {
            return false;
        }
        gaveWay += drop(holds.firstEntry().getKey());
        return true;
    }

    /** Notes that a pass had work, or that nobody waits for it. */
    void moves() {
        stalledSince = OptionalLong.empty();
    }

    /**
     * Time at which an engine without work has something to do about holds: one is over, or has to give way. With a lease
     * it looks for requests all the time.
     */
    long nextNanos() {
        if (leased()) {
            long next = clock.nanos() + IDLE_PASS_NANOS;
            return next - leases.getFirst().untilNanos < 0 ? next : leases.getFirst().untilNanos;
        }
        return holds.values().stream()
                .mapToLong(Hold::untilNanos)
                .reduce(giveWayNanos(), (one, other) -> one - other < 0 ? one : other);
    }

    /** Ends all holds before the cache is emptied, unless a request's blocks keep that from happening anyway. */
    void beforeReset() {
        if (pool.inUse() == references.size()) {
            List.copyOf(holds.keySet()).forEach(this::drop);
        }
    }

    private long giveWayNanos() {
        return stalledSince.orElseGet(clock::nanos)
                + connector.orElseThrow().giveWayAfter().toNanos();
    }

    private Result perform(Connector limits, VllmRequest request, HoldOrder order, int blockTokens) {
        return switch (order) {
            case HoldOrder.Hold(String id, long ttl) -> {
                int full = Math.min(request.generation.prompt().length / blockTokens, request.registered);
                yield hold(limits, id, Math.min(ttl, limits.maxTtlSeconds()), Arrays.copyOf(request.table, full));
            }
            case HoldOrder.Release _ -> new Result.Released(request.released);
            case HoldOrder.Listing _ -> listed();
            // An order to another connector is nothing to this one.
            case HoldOrder.Lease _ -> new Result.Refused("request");
        };
    }

    private void lease(VllmRequest request, String id, Duration time) {
        int[] blocks = Arrays.copyOf(request.table, request.held);
        if (!faults.has(CacheFault.PinIgnored.class)) {
            for (int block : blocks) {
                pool.touch(block);
            }
            leases.addLast(new Lease(id, blocks, clock.nanos() + time.toNanos()));
        }
        Result leased = new Result.Leased(Arrays.stream(blocks).boxed().toList(), request.computed);
        request.generation.reported(new HoldReport(leased, 0, 0, pool.capacity(), 0));
    }

    private Result hold(Connector limits, String id, long ttl, int[] blocks) {
        if (blocks.length == 0) {
            return new Result.Refused("request");
        }
        if (distinctWith(id, blocks) > most(limits)) {
            return new Result.Refused("share");
        }
        if (!faults.has(CacheFault.PinIgnored.class)) {
            for (int block : blocks) {
                pool.touch(block);
                references.merge(block, 1, Integer::sum);
            }
            drop(id);
            holds.put(id, new Hold(blocks, clock.nanos() + Math.round(ttl * NANOS)));
        }
        return new Result.Held(blocks.length, ttl);
    }

    /** Blocks that all holds would refer to once these have taken the place of what the hold of that name has. */
    private int distinctWith(String id, int[] blocks) {
        Set<Integer> after = new HashSet<>(references.keySet());
        Hold replaced = holds.get(id);
        if (replaced != null) {
            for (int block : replaced.blocks) {
                if (references.getOrDefault(block, 0) == 1) {
                    after.remove(block);
                }
            }
        }
        for (int block : blocks) {
            after.add(block);
        }
        return after.size();
    }

    private Result listed() {
        long now = clock.nanos();
        Map<String, HoldReport.Left> left = new LinkedHashMap<>();
        holds.forEach(
                (id, hold) -> left.put(id, new HoldReport.Left(hold.blocks.length, (hold.untilNanos - now) / NANOS)));
        return new Result.Listed(left);
    }

    private HoldReport report(Connector limits, Result result) {
        return new HoldReport(result, references.size(), most(limits), pool.capacity(), gaveWay);
    }

    private int most(Connector limits) {
        return (int) (limits.maxShare() * pool.capacity());
    }

    /** Ends a hold; the number of holds that there were under the name. */
    private int drop(String id) {
        Hold hold = holds.remove(id);
        if (hold == null) {
            return 0;
        }
        for (int block : hold.blocks) {
            references.computeIfPresent(block, (_, users) -> users == 1 ? null : users - 1);
        }
        pool.release(hold.blocks, hold.blocks.length);
        return 1;
    }
}
