package io.holdfast.embed;

import io.holdfast.core.Controller;
import io.holdfast.core.hash.ContentNames;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetHoldView;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.TokenSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * Part that a fleet's engines take in a cell: by a store they tell each other, and the engines of other processes, what
 * is hot, and prefixes are held in copies.
 *
 * <p>Those take part that hold, from the next {@link #poll} after they were added on. Any thread may call its methods.
 */
public final class SharedFleet implements AutoCloseable {
    /*
     * A hold is taken by each engine's part, under an id that comes from its requester and its prefix: so it is one hold
     * wherever it is requested, each engine has its tokens at once, and it lives for as long as one of them does. An
     * engine that is added later has it with the next renewal, or asks the others for the tokens.
     */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9.-]{1,99}");

    private final Fleet fleet;
    private final FleetStore store;
    private final Cell cell;
    private final String process;
    private final RandomGenerator random;
    private final TokenSource others;
    private final Map<String, Part> parts = new ConcurrentSkipListMap<>();
    private boolean closed;

    private record Part(Engine engine, SharedEngine shared) {}

    /**
     * Takes part by a store, which stays its owner's to close.
     *
     * @param process name of this process, of letters, digits, dots and dashes, which no other of the cell has
     * @throws IllegalArgumentException with one sentence, where that is no name or the cell's blocks are not the fleet's
     */
    public SharedFleet(Fleet fleet, FleetStore store, Cell cell, String process, RandomGenerator random) {
        this(fleet, store, cell, process, random, TokenSource.NONE);
    }

    /**
     * Takes part where tokens of holds that another process took can be had.
     *
     * @param others asked where no engine of this fleet has them
     * @throws IllegalArgumentException with one sentence, as the other
     */
    public SharedFleet(
            Fleet fleet, FleetStore store, Cell cell, String process, RandomGenerator random, TokenSource others) {
        if (cell.blockTokens() != fleet.blockTokens()) {
            throw new IllegalArgumentException("The cell's blocks have " + cell.blockTokens()
                    + " tokens and the fleet's have " + fleet.blockTokens() + ": give both the engines' size.");
        }
        if (!NAME.matcher(process).matches()) {
            throw new IllegalArgumentException("The name of a process in a cell has 1 to 99 letters, digits, dots and"
                    + " dashes, not \"" + process + "\"; give it another one.");
        }
        this.fleet = fleet;
        this.store = store;
        this.cell = cell;
        this.process = process;
        this.random = random;
        this.others = others;
    }

    /** Does what is due; to be called about once a second, by preference not by the thread that works for the fleet. */
    public synchronized void poll() {
        if (closed) {
            return;
        }
        List<Engine> engines = fleet.engines();
        parts.values().removeIf(part -> {
            boolean over =
                    !engines.contains(part.engine()) || part.engine().fault().isPresent();
            if (over) {
                part.shared().leave();
            }
            return over;
        });
        for (Engine engine : engines) {
            if (!parts.containsKey(engine.id()) && engine.fault().isEmpty()) {
                engine.controller().ifPresent(driven -> join(engine, driven));
            }
        }
        parts.values().forEach(part -> part.shared().poll());
    }

    private void join(Engine engine, Controller driven) {
        parts.put(
                engine.id(),
                new Part(
                        engine,
                        new SharedEngine(
                                store,
                                cell,
                                name(engine.id()) + ":" + process,
                                "",
                                fleet.clock(),
                                random,
                                driven,
                                engine.options().naming(),
                                new OursFirst())));
    }

    /** Engines of this fleet need nobody else for what one of them has. */
    private final class OursFirst implements TokenSource {
        @Override
        public Optional<String> whyNot(FleetHold hold) {
            return kept(hold).isPresent() ? Optional.empty() : others.whyNot(hold);
        }

        @Override
        public CompletionStage<int[]> tokens(FleetHold hold) {
            return kept(hold)
                    .<CompletionStage<int[]>>map(CompletableFuture::completedStage)
                    .orElseGet(() -> others.tokens(hold));
        }

        private Optional<int[]> kept(FleetHold hold) {
            return parts.values().stream()
                    .map(Part::shared)
                    .flatMap(shared -> shared.tokens(hold.id()).or(() -> shared.tokens(hold.name())).stream())
                    .findFirst();
        }
    }

    /** Name of an engine in its cell: its id, where that can be one. */
    private static String name(String id) {
        String safe = id.replaceAll("[^A-Za-z0-9.-]", "-");
        return NAME.matcher(id).matches()
                ? id
                : safe.substring(0, Math.min(safe.length(), 80)) + "-" + Long.toHexString(ContentNames.extra(id));
    }

    /**
     * Has engines of the cell hold the whole blocks of a prompt. Requesting it again, here or in another process,
     * prolongs the hold; it ends with its lease.
     *
     * @param requester who asks: what another one asks for is another hold
     * @param copies how many engines should keep it; {@link FleetHold#ALL} for each
     * @return what was taken; absent where no engine takes part yet, the cell has as many holds as it can, or this one
     *     was released a moment ago
     * @throws IllegalArgumentException with one sentence, where the prompt is shorter than a block or a number is out of
     *     bounds
     */
    public Optional<FleetHold> hold(String requester, int[] tokens, int copies, Duration lease) {
        Optional<FleetHold> taken = Optional.empty();
        for (Part part : parts.values()) {
            Optional<FleetHold> before = taken;
            taken = part.shared().declare(requester, tokens, copies, lease).or(() -> before);
        }
        return taken;
    }

    /** Ends a hold of the fleet, whoever took it; false where there is none. */
    public boolean release(String id) {
        boolean was = false;
        for (Part part : parts.values()) {
            was |= part.shared().release(id);
        }
        return was;
    }

    /** All holds of the cell, and what engines said about their copies of each. */
    public List<FleetHoldView> holds() {
        return parts.values().stream()
                .findFirst()
                .map(part -> part.shared().member().fleetHolds())
                .orElse(List.of());
    }

    /** Parts that the engines take now, for what is known of the cell. */
    public List<CellMember> members() {
        List<CellMember> members = new ArrayList<>();
        parts.values().forEach(part -> members.add(part.shared().member()));
        return members;
    }

    /** Ends all parts: what engines told ends by itself, and what they hold for the cell is given up. */
    @Override
    public synchronized void close() {
        closed = true;
        parts.values().forEach(part -> part.shared().leave());
        parts.clear();
    }
}
