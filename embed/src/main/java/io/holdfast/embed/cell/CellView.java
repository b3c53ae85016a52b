package io.holdfast.embed.cell;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * What one member knows of its cell at one moment. It does not change, and questions about a name allocate nothing, so
 * that a tick may ask for thousands.
 */
public final class CellView {
    /** Nothing is known: everything is worth what it is worth for one engine alone. */
    public static final CellView NONE = new CellView("", List.of(), List.of(), 0, 0, false);

    private final String here;
    private final List<CellEngine> engines;
    private final Rendezvous rendezvous;
    private final List<CellPrefix> prefixes;
    private final double follows;
    /** The most touches of one prefix that an engine is seen to serve. */
    private final double served;

    private final boolean sums;
    /** Sorted, and beside each what is known of it. */
    private final long[] names;

    private final CellPrefix[] byName;
    private final double[] worth;

    private CellView(
            String here,
            List<CellEngine> engines,
            List<CellPrefix> prefixes,
            double follows,
            double served,
            boolean sums) {
        this.here = here;
        this.engines = List.copyOf(engines);
        this.rendezvous = new Rendezvous(engines.stream().map(CellEngine::id).toList());
        this.prefixes = prefixes.stream()
                .sorted(Comparator.comparingDouble(CellPrefix::touchesAnHour)
                        .reversed()
                        .thenComparingLong(CellPrefix::name))
                .toList();
        this.follows = follows;
        this.served = served;
        this.sums = sums;
        this.byName = prefixes.stream()
                .sorted(Comparator.comparingLong(CellPrefix::name))
                .toArray(CellPrefix[]::new);
        this.names = Arrays.stream(byName).mapToLong(CellPrefix::name).toArray();
        this.worth = Arrays.stream(byName).mapToDouble(this::factor).toArray();
    }

    /** Returns what digests say together. */
    static CellView of(String here, List<CellEngine> engines, Map<String, Hot> digests, double follows) {
        Map<Long, List<CellPrefix.Copy>> copies = new HashMap<>();
        Map<Long, Integer> tokens = new HashMap<>();
        double served = 0;
        for (Map.Entry<String, Hot> digest : new TreeMap<>(digests).entrySet()) {
            for (HotEnd end : digest.getValue().ends()) {
                copies.computeIfAbsent(end.name(), name -> new ArrayList<>(2))
                        .add(new CellPrefix.Copy(digest.getKey(), end.touchesAnHour(), end.resident(), end.held()));
                // One name has one length; where somebody lies, the shorter one costs less.
                tokens.merge(end.name(), end.tokens(), Math::min);
                served = Math.max(served, end.touchesAnHour());
            }
        }
        List<CellPrefix> prefixes = new ArrayList<>(copies.size());
        copies.forEach((name, each) -> prefixes.add(new CellPrefix(
                name,
                OptionalInt.of(tokens.getOrDefault(name, 1)),
                each.stream().mapToDouble(CellPrefix.Copy::touchesAnHour).sum(),
                each.stream()
                        .filter(copy -> copy.engine().equals(here))
                        .mapToDouble(CellPrefix.Copy::touchesAnHour)
                        .sum(),
                List.copyOf(each))));
        return new CellView(here, engines, prefixes, follows, served, false);
    }

    /** Returns what sums of touches an hour and our own digest say together. */
    static CellView ofSums(String here, List<CellEngine> engines, Map<Long, Double> touches, Hot own) {
        Map<Long, HotEnd> ours = new HashMap<>();
        own.ends().forEach(end -> ours.put(end.name(), end));
        Map<Long, Double> all = new HashMap<>(touches);
        ours.forEach((name, end) -> all.merge(name, (double) end.touchesAnHour(), Math::max));
        List<CellPrefix> prefixes = new ArrayList<>(all.size());
        all.forEach((name, sum) -> prefixes.add(Optional.ofNullable(ours.get(name))
                .map(end -> new CellPrefix(
                        name,
                        OptionalInt.of(end.tokens()),
                        sum,
                        end.touchesAnHour(),
                        List.of(new CellPrefix.Copy(here, end.touchesAnHour(), end.resident(), end.held()))))
                .orElseGet(() -> new CellPrefix(name, OptionalInt.empty(), sum, 0, List.of()))));
        return new CellView(here, engines, prefixes, 0, 0, true);
    }

    /** The engines that are there, by their ids, this one among them; none where nothing is known. */
    public List<CellEngine> engines() {
        return engines;
    }

    /** How the engines are chosen for holds of the fleet. */
    Rendezvous rendezvous() {
        return rendezvous;
    }

    /** What is hot in the cell, the most touched first. */
    public List<CellPrefix> prefixes() {
        return prefixes;
    }

    /** What is known of a prefix; absent where no engine says that it is hot. */
    public Optional<CellPrefix> prefix(long name) {
        int at = Arrays.binarySearch(names, name);
        return at < 0 ? Optional.empty() : Optional.of(byName[at]);
    }

    /** Share of a prefix's touches that come to this engine, 0 to 1; 1 where nothing is known of it. */
    public double share(long name) {
        int at = Arrays.binarySearch(names, name);
        return at < 0 || !(byName[at].touchesAnHour() > 0) ? 1 : byName[at].touchesHere() / byName[at].touchesAnHour();
    }

    /**
     * How far touches go where their prefix is cached: 0 where they do not more often than by chance, 1 where all do
     * that could.
     */
    public double follows() {
        return follows;
    }

    /** Returns true where only sums are read, since the cell is large; then no copy is called superfluous. */
    public boolean sums() {
        return sums;
    }

    /** Returns true if another engine's copy serves, at least in part, what a copy here would. */
    public boolean superfluous(long name) {
        return worthHere(name) < 1;
    }

    /**
     * What a hold of a prefix is worth here, as a part of what it would be worth if this engine were alone: 1 for the
     * first copy, and for a further one what the first cannot serve. It serves what follows it, as far as no more come
     * to it than the busiest prefix of any engine has.
     */
    public double worthHere(long name) {
        int at = Arrays.binarySearch(names, name);
        return at < 0 ? 1 : worth[at];
    }

    /** The engine whose copy is the first one; absent where no engine that serves it has any. */
    Optional<String> first(CellPrefix prefix) {
        // One that nobody sends requests to relieves nobody.
        List<CellPrefix.Copy> serving = prefix.copies().stream()
                .filter(copy -> copy.touchesAnHour() > 0)
                .toList();
        List<String> holding = serving.stream()
                .filter(CellPrefix.Copy::held)
                .map(CellPrefix.Copy::engine)
                .toList();
        // Who holds it stays first: otherwise two that merely have it would take turns as one evicts it.
        List<String> having = holding.isEmpty()
                ? serving.stream()
                        .filter(CellPrefix.Copy::resident)
                        .map(CellPrefix.Copy::engine)
                        .toList()
                : holding;
        return rendezvous.first(having, prefix.name());
    }

    private double factor(CellPrefix prefix) {
        if (sums || engines.size() < 2 || follows <= 0) {
            return 1;
        }
        return first(prefix)
                .filter(first -> !first.equals(here))
                .map(first -> 1 - follows * served(prefix, first))
                .orElse(1.0);
    }

    /** Returns the part of the touches that come elsewhere which the first copy's engine could take as well. */
    private double served(CellPrefix prefix, String first) {
        double there = prefix.copies().stream()
                .filter(copy -> copy.engine().equals(first))
                .mapToDouble(CellPrefix.Copy::touchesAnHour)
                .sum();
        double elsewhere = prefix.touchesAnHour() - there;
        return elsewhere <= 0 ? 1 : Math.min(1, Math.max(0, served - there) / elsewhere);
    }
}
