package io.holdfast.core.backend;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/** Chooses, each time it is probed, the first of several backends that can hold on this engine. */
public final class AutoBackend implements Backend {
    /*
     * The choice is made with every probe, so once for each process of the engine: a flag may be there after a restart,
     * or gone. It takes effect when the controller takes the answer, on its own thread: no plan is made with the traits
     * of one and carried out by another. What a backend pinned it unpins itself, whatever is chosen by then; so a
     * caller that pins asks for itself() and keeps it. Until something was chosen this is a dry run that cannot hold.
     *
     * What an engine says it can do may not work on it. So a backend that loses three pins within ten minutes is passed
     * over for an hour, where there is another one behind it; the last one has nothing to give way to.
     *
     * Pins that take memory for good are chosen only where the guard leaves room for the largest prefix that is to be
     * held; one that comes later and does not fit has it asked again. Where nothing else works it is a dry run for now:
     * what is wanted waits, and the choice is made again as soon as there is room. What such pins hold already they
     * keep, or one prefix that is too large would have all others released; that one waits and says why. Room that
     * comes back changes nothing before the next probe where something else was chosen, or large and small prefixes by
     * turns would have everything released and held again.
     */

    /** Name in the configuration. */
    public static final String NAME = "auto";

    private static final int LOSSES = 3;
    private static final long WITHIN_NANOS = 600_000_000_000L;
    private static final long PASSED_OVER_NANOS = 3_600_000_000_000L;

    private final List<Backend> inOrder;
    private final LongSupplier clock;
    private final Deque<Long> losses = new ArrayDeque<>();
    /** Time until which each backend is passed over. */
    private final Map<Backend, Long> distrusted = new ConcurrentHashMap<>();

    private final Backend none = new DryRunBackend();
    private volatile Backend found = none;
    private volatile Backend chosen = none;
    private volatile Room room = Room.unknown();
    private volatile boolean lackedRoom;
    /** Nothing but pins would work here, and they have no room. */
    private volatile boolean waitsForRoom;

    /**
     * Among these, the best first.
     *
     * @param clock in nanoseconds
     */
    public AutoBackend(List<Backend> inOrder, LongSupplier clock) {
        this.inOrder = List.copyOf(inOrder);
        this.clock = clock;
    }

    @Override
    public void probed() {
        chosen = found;
    }

    @Override
    public boolean lost() {
        long now = clock.getAsLong();
        losses.addLast(now);
        losses.removeIf(nanos -> now - nanos > WITHIN_NANOS);
        if (losses.size() < LOSSES || chosen.equals(inOrder.getLast())) {
            return false;
        }
        losses.clear();
        distrusted.put(chosen, now + PASSED_OVER_NANOS);
        return true;
    }

    @Override
    public boolean room(Room now) {
        room = now;
        boolean ask = chosen.traits().takesMemory() && !chosen.equals(none) && now.lacks() && !lackedRoom;
        lackedRoom &= now.lacks();
        if (waitsForRoom && chosen.equals(none) && !now.lacks()) {
            waitsForRoom = false;
            return true;
        }
        return ask;
    }

    @Override
    public Backend itself() {
        return chosen;
    }

    @Override
    public String name() {
        return chosen.equals(none) ? NAME : chosen.name();
    }

    @Override
    public BackendTraits traits() {
        return chosen.traits();
    }

    @Override
    public Optional<String> hindrance() {
        return chosen.hindrance();
    }

    /** Asks one after another, until one can. */
    @Override
    public CompletionStage<Capabilities> probe() {
        Room now = room;
        lackedRoom = now.lacks();
        waitsForRoom = false;
        return probe(0, now, Optional.empty(), new ArrayList<>());
    }

    /** Who could pin if there were room. */
    private record Roomless(Backend backend, Capabilities can) {}

    /** Backend that was not taken, and the reason. */
    private record PassedOver(String name, String why) {}

    private CompletionStage<Capabilities> probe(
            int index, Room beside, Optional<Roomless> withoutRoom, List<PassedOver> passedOver) {
        if (index == inOrder.size() && !distrusted.isEmpty()) {
            // What lost pins is better than nothing.
            distrusted.clear();
            return probe(0, beside, Optional.empty(), new ArrayList<>());
        }
        if (index == inOrder.size() && withoutRoom.isPresent()) {
            return CompletableFuture.completedFuture(withoutRoom(withoutRoom.get(), beside, passedOver));
        }
        if (index == inOrder.size()) {
            found = none;
            return CompletableFuture.completedFuture(new Capabilities(false, noWay(passedOver)));
        }
        Backend candidate = inOrder.get(index);
        if (distrusted.getOrDefault(candidate, Long.MIN_VALUE) > clock.getAsLong()) {
            passedOver.add(new PassedOver(
                    candidate.name() + " for an hour",
                    "it lost " + LOSSES + " pins within " + WITHIN_NANOS / 60_000_000_000L + " minutes."));
            return probe(index + 1, beside, withoutRoom, passedOver);
        }
        return candidate.probe().thenCompose(can -> {
            if (!can.canPin()) {
                passedOver.add(new PassedOver(candidate.name(), can.why()));
                return probe(index + 1, beside, withoutRoom, passedOver);
            }
            if (candidate.traits().takesMemory() && beside.lacks()) {
                passedOver.add(new PassedOver(candidate.name(), beside.said()));
                return probe(index + 1, beside, Optional.of(new Roomless(candidate, can)), passedOver);
            }
            found = candidate;
            return CompletableFuture.completedFuture(can.saying("Chosen: " + candidate.name() + ". " + can.why()
                    + (passedOver.isEmpty() ? "" : " " + said(passedOver))));
        });
    }

    /** Reason of the last resort first, which works on any engine but for what hinders all the others as well. */
    private static String noWay(List<PassedOver> passedOver) {
        return passedOver.isEmpty()
                ? "No way to hold is known for this engine."
                : passedOver.getLast().why() + " No way to hold works on this engine. " + said(passedOver);
    }

    /** Each reason once. */
    private static String said(List<PassedOver> passedOver) {
        SequencedMap<String, List<String>> byReason = new LinkedHashMap<>();
        passedOver.forEach(each ->
                byReason.computeIfAbsent(each.why(), why -> new ArrayList<>()).add(each.name()));
        return byReason.entrySet().stream()
                .map(each -> "Not " + String.join(", ", each.getValue()) + ": " + each.getKey())
                .collect(Collectors.joining(" "));
    }

    private Capabilities withoutRoom(Roomless pins, Room beside, List<PassedOver> passedOver) {
        String why = said(passedOver);
        if (chosen.equals(pins.backend) && beside.pinnedTokens() > 0) {
            found = pins.backend;
            return pins.can.saying("Kept: " + chosen.name() + ", for what it holds already. " + why);
        }
        found = none;
        waitsForRoom = true;
        return Capabilities.notNow(
                "No way to hold works on this engine now, so this is a dry run until there is room for" + " pins. "
                        + why);
    }

    @Override
    public String handle(PinCommand command) {
        return chosen.handle(command);
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return chosen.pin(command);
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        return chosen.renew(command);
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return chosen.unpin(handles);
    }
}
