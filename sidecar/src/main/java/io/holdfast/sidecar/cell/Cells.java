package io.holdfast.sidecar.cell;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.TokenSource;
import io.holdfast.embed.cell.WarmingBudget;
import io.holdfast.sidecar.config.DeclaredHold;
import io.holdfast.sidecar.config.FleetConfig;
import io.holdfast.sidecar.config.Secret;
import io.holdfast.sidecar.engine.EngineLink;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The engines of this process that take part in a fleet, each as soon as it has said what it serves.
 *
 * <p>An engine belongs to the cell of its model and block size; where it comes to serve another model, it leaves one cell
 * and joins the next.
 */
public final class Cells implements AutoCloseable {
    /** How often each engine's part is looked after. */
    public static final Duration LOOKS = Duration.ofSeconds(1);

    private static final Logger LOG = LoggerFactory.getLogger(Cells.class);
    private static final long DECLARED_EVERY_NANOS = Duration.ofSeconds(30).toNanos();
    private static final Duration DECLARED_LEASE = Duration.ofMinutes(5);

    private final FleetConfig config;
    private final FleetStore store;
    private final PeerTokens peers;
    private final Map<String, EngineLink> links;
    private final LongSupplier clock;
    private final RandomGenerator random;
    private final ExecutorService executor;
    private final String process;
    private final Map<String, Part> parts = new ConcurrentSkipListMap<>();
    /** Holds that a part took which has left, until another one of its cell goes on with them. */
    private final Map<Cell, Map<FleetHold, int[]>> orphans = new ConcurrentHashMap<>();

    /** Times at which what is declared was asked for last. */
    private final Map<String, Long> declared = new ConcurrentHashMap<>();

    /** Declared holds of which the log has told that they could not be asked for. */
    private final Set<String> troubled = ConcurrentHashMap.newKeySet();

    private final AtomicBoolean looking = new AtomicBoolean();
    private volatile boolean closed;

    /**
     * One engine's part.
     *
     * @param name of the engine in its cell
     */
    public record Part(EngineLink link, Cell cell, String name, SharedEngine engine) {
        /** Its part in the cell, for what is known there. */
        public CellMember member() {
            return engine.member();
        }
    }

    /**
     * Shares by a store, which is closed with it.
     *
     * @param token for peers, who have the same
     * @param process name of this process, which no other of the fleet has
     * @throws IOException with one sentence, where a file of certificates cannot be used
     */
    public Cells(
            FleetConfig config,
            FleetStore store,
            Optional<Secret> token,
            Map<String, EngineLink> links,
            LongSupplier clock,
            RandomGenerator random,
            ExecutorService executor,
            String process)
            throws IOException {
        this.config = config;
        this.store = store;
        this.peers = new PeerTokens(config, token, executor);
        this.links = links;
        this.clock = clock;
        this.random = random;
        this.executor = executor;
        this.process = process;
    }

    /** Name of a process, made of its machine's and of the directory that it alone has. */
    public static String process(String machine, Path stateDirectory) {
        String safe = machine.replaceAll("[^A-Za-z0-9.-]", "-");
        long directory = ContentNames.extra(stateDirectory.toAbsolutePath().toString());
        return safe.substring(0, Math.min(safe.length(), 100)) + "-" + Integer.toHexString((int) directory);
    }

    /** Looks after every engine's part, away from the caller's thread; one look at a time. */
    public void look() {
        if (!closed && looking.compareAndSet(false, true)) {
            executor.execute(() -> {
                try {
                    lookNow();
                } catch (RuntimeException e) {
                    LOG.error("Looking after the fleet failed; it is tried again.", e);
                } finally {
                    looking.set(false);
                }
            });
        }
    }

    private void lookNow() {
        if (closed) {
            return;
        }
        parts.values().removeIf(part -> {
            boolean over = links.get(part.link().id()) != part.link()
                    || !part.link().fault().isEmpty()
                    || !cell(part.link()).map(part.cell()::equals).orElse(true);
            if (over) {
                part.link().takesPart(Optional.empty(), config.readyWhenWarm());
                orphans.computeIfAbsent(part.cell(), cell -> new ConcurrentHashMap<>())
                        .putAll(part.engine().taken());
                part.engine().leave();
            }
            return over;
        });
        for (EngineLink link : links.values()) {
            if (!parts.containsKey(link.id()) && link.fault().isEmpty()) {
                link.takesPart(Optional.empty(), config.readyWhenWarm());
                cell(link).ifPresent(cell -> join(link, cell));
            }
        }
        parts.values().forEach(this::adoptOrphans);
        parts.values().forEach(part -> {
            try {
                part.engine().poll();
                part.link().config().fleetHolds().forEach(hold -> declare(part, hold));
            } catch (RuntimeException e) {
                LOG.error(
                        "Engine {}: its part in the fleet failed; it is tried again.",
                        part.link().id(),
                        e);
            }
        });
    }

    /** They are kept until they are adopted, so that their tokens are told at any time between. */
    private void adoptOrphans(Part part) {
        orphans.getOrDefault(part.cell(), Map.of()).forEach((hold, tokens) -> {
            boolean _ = part.engine().adopt(hold, tokens);
        });
        orphans.remove(part.cell());
    }

    /** Asks again and again, so that a hold that is no longer declared by any process ends. */
    private void declare(Part part, DeclaredHold hold) {
        String key = part.name() + " " + hold.name();
        long now = clock.getAsLong();
        if (now - declared.getOrDefault(key, now - DECLARED_EVERY_NANOS) < DECLARED_EVERY_NANOS) {
            return;
        }
        declared.put(key, now);
        CompletionStage<?> _ = CompletableFuture.supplyAsync(hold::source, executor)
                .thenCompose(part.link().prefixes()::sharedTokens)
                .thenAccept(tokens -> {
                    int number = hold.copies().orElse(DeclaredHold.ALL);
                    int copies = number == DeclaredHold.ALL ? FleetHold.ALL : number;
                    if (part.engine()
                            .declare(hold.name(), tokens, copies, DECLARED_LEASE)
                            .isEmpty()) {
                        throw new IllegalStateException("the fleet has as many holds as it can, or it was released");
                    }
                })
                .whenComplete((done, failure) -> {
                    if (failure == null) {
                        troubled.remove(key);
                    } else if (troubled.add(key)) {
                        Throwable cause = failure.getCause() == null ? failure : failure.getCause();
                        LOG.warn(
                                "Hold {} of engine {} is not asked for in the fleet yet ({}); it is tried again.",
                                hold.name(),
                                part.link().id(),
                                cause.getMessage());
                    }
                });
    }

    private Optional<Cell> cell(EngineLink link) {
        int blockTokens = (int) link.view().readings().blockTokens().number().orElse(0);
        return link.model()
                .filter(model -> blockTokens > 0 && !model.isBlank())
                .map(model -> new Cell(model, blockTokens, config.namespace().orElse("")));
    }

    private void join(EngineLink link, Cell cell) {
        String name = link.id().replaceAll("[^A-Za-z0-9._:-]", "-") + ":" + process;
        SharedEngine engine = new SharedEngine(
                store,
                cell,
                name,
                config.address().map(URI::toString).orElse(""),
                clock,
                random,
                link.controller(),
                link.prefixes().rule(),
                new Own(link),
                new WarmingBudget(config.warm(), config.warmTokens(), config.readyWhenWarm()));
        parts.put(link.id(), new Part(link, cell, name, engine));
        link.takesPart(Optional.of(engine), config.readyWhenWarm());
        LOG.info(
                "Engine {} shares what is hot with those that serve {} in blocks of {} tokens, as {}, by {}.",
                link.id(),
                cell.model(),
                cell.blockTokens(),
                name,
                store.said());
    }

    /** The parts that engines of this process take, by the engines' ids. */
    public List<Part> parts() {
        return new ArrayList<>(parts.values());
    }

    /** The part of one engine; absent before it has said what it serves. */
    public Optional<Part> part(String engine) {
        return Optional.ofNullable(parts.get(engine));
    }

    /** What the store is and whether it answers. */
    public String store() {
        return store.said();
    }

    /**
     * The tokens of a prefix that is hot at an engine of this process, or of a hold that was taken here; none where
     * fleet.address does not say that others may ask.
     */
    public Optional<int[]> tellTokens(long name) {
        return config.address().isEmpty() ? Optional.empty() : tokens(name);
    }

    private Optional<int[]> tokens(long name) {
        return parts.values().stream()
                .flatMap(part -> part.engine().tokens(name).stream())
                .findFirst();
    }

    /** The tokens of a hold of the fleet that this process took. */
    public Optional<int[]> tokens(String hold) {
        return parts.values().stream()
                .flatMap(part -> part.engine().tokens(hold).stream())
                .findFirst()
                .or(() -> orphans.values().stream()
                        .flatMap(holds -> holds.entrySet().stream())
                        .filter(taken -> taken.getKey().id().equals(hold))
                        .map(Map.Entry::getValue)
                        .findFirst());
    }

    /** What this process took itself needs no peer. */
    private final class Own implements TokenSource {
        private final EngineLink link;

        Own(EngineLink link) {
            this.link = link;
        }

        @Override
        public boolean mayAsk(String address) {
            return peers.mayAsk(address);
        }

        @Override
        public CompletionStage<int[]> tokens(String address, long name, int count) {
            return Cells.this
                    .tokens(name)
                    .filter(tokens -> tokens.length == count)
                    .<CompletionStage<int[]>>map(CompletableFuture::completedStage)
                    .orElseGet(() -> peers.tokens(address, name, count));
        }

        @Override
        public CompletionStage<Boolean> engineHas(long token) {
            return link.hasToken(token);
        }

        @Override
        public Optional<String> whyNot(FleetHold hold) {
            return Cells.this.tokens(hold.id()).isPresent() ? Optional.empty() : peers.whyNot(hold);
        }

        @Override
        public CompletionStage<int[]> tokens(FleetHold hold) {
            return Cells.this
                    .tokens(hold.id())
                    .<CompletionStage<int[]>>map(CompletableFuture::completedStage)
                    .orElseGet(() -> peers.tokens(hold));
        }
    }

    @Override
    public void close() {
        closed = true;
        parts.values().forEach(part -> part.engine().leave());
        parts.clear();
        peers.close();
        store.close();
    }
}
