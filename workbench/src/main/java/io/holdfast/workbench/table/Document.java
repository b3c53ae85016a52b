package io.holdfast.workbench.table;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.PublishedTable.Told;
import io.holdfast.workbench.table.TableText.Paragraph;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A file with tables, as far as they are understood: people write tables of many things into one document, and one that
 * is of something else takes nothing from the others.
 *
 * @param claims of a ledger that it has
 * @param criteria that it names
 * @param skipped a sentence for each table that is not understood
 * @param notes on what its text says of all its tables
 */
record Document(
        String file,
        List<PublishedTable> tables,
        List<Paragraph> prose,
        List<Claim> claims,
        List<Criterion> criteria,
        List<String> skipped,
        List<String> notes) {
    private static final Pattern OWN_TOKENS =
            Pattern.compile("(\\d[\\d,]{0,8}) (?:unique|own|unshared) tokens (?:each|per request|a request)");
    private static final Pattern ALL_TOKENS = Pattern.compile("(\\d[\\d,]{0,8}) tokens (?:each|per request|a request)");

    Document {
        tables = List.copyOf(tables);
        prose = List.copyOf(prose);
        claims = List.copyOf(claims);
        criteria = List.copyOf(criteria);
        skipped = List.copyOf(skipped);
        notes = List.copyOf(notes);
    }

    /**
     * Reads what is understood; a file of which that is nothing is refused.
     *
     * @param settings that the tables do not tell
     */
    static Document of(TableText.Contents contents, Map<String, String> settings) {
        List<PublishedTable> tables = new ArrayList<>();
        List<Claim> claims = new ArrayList<>();
        List<Criterion> criteria = new ArrayList<>();
        List<String> skipped = new ArrayList<>(contents.torn());
        List<String> notes = new ArrayList<>();
        Map<String, String> all = new LinkedHashMap<>(settings);
        if (!all.containsKey(Column.SHARED_TOKENS) && !all.containsKey(Column.UNIQUE_TOKENS)) {
            tokens(contents.prose(), all).ifPresent(notes::add);
        }
        Told told = new Told(all, units(contents));
        Map<String, String> capacities = capacities(contents, told);
        for (TableText text : contents.tables()) {
            try {
                Optional<List<Claim>> ledger = Claim.ledger(text);
                Optional<List<Criterion>> named = Criterion.named(text);
                if (ledger.isPresent()) {
                    claims.addAll(ledger.get());
                } else if (named.isPresent()) {
                    criteria.addAll(named.get());
                } else {
                    tables.add(withCapacity(text, told, capacities));
                }
            } catch (LoadTestException e) {
                skipped.add(String.valueOf(e.getMessage()));
            }
        }
        boolean nothing = tables.stream().noneMatch(PublishedTable::hasNumbers);
        if (nothing && claims.isEmpty() && criteria.isEmpty()) {
            throw new LoadTestException(
                    skipped.isEmpty()
                            ? "The tables of " + contents.file() + " have no result; name a file with numbers."
                            : (skipped.size() == 1
                                            ? "Nothing in " + contents.file() + " can be read. "
                                            : "None of the " + skipped.size() + " tables of " + contents.file()
                                                    + " can be read. ")
                                    + skipped.getFirst());
        }
        return new Document(contents.file(), tables, contents.prose(), claims, criteria, skipped, notes);
    }

    /**
     * Returns the tokens of each request by the text, where it states both how many there are and how many are its own.
     */
    private static Optional<String> tokens(List<Paragraph> prose, Map<String, String> settings) {
        Optional<Integer> own = number(prose, OWN_TOKENS);
        Optional<Integer> each = number(prose, ALL_TOKENS);
        if (own.isEmpty() || each.isEmpty() || each.get() <= own.get()) {
            return Optional.empty();
        }
        settings.put(Column.SHARED_TOKENS, Integer.toString(each.get() - own.get()));
        settings.put(Column.UNIQUE_TOKENS, Integer.toString(own.get()));
        return Optional.of("Its text says " + each.get() + " tokens each, and " + own.get()
                + " unique tokens each, so " + (each.get() - own.get())
                + " are taken as shared; --shared-tokens and --own-tokens say it otherwise.");
    }

    private static Optional<Integer> number(List<Paragraph> prose, Pattern pattern) {
        return prose.stream()
                .map(paragraph -> pattern.matcher(Figure.plain(paragraph.text())))
                .filter(Matcher::find)
                .map(matcher -> Integer.parseInt(matcher.group(1).replace(",", "")))
                .findFirst();
    }

    /** The units that names of metrics have anywhere in a document. */
    private static Map<String, String> units(TableText.Contents contents) {
        Map<String, String> units = new LinkedHashMap<>();
        contents.tables().stream()
                .flatMap(table -> Stream.concat(
                        table.header().stream(), table.rows().stream().map(List::getFirst)))
                .flatMap(cell -> Column.value(cell).stream())
                .filter(value -> !value.unit().isEmpty())
                .filter(value -> Metric.named(value.metric().name()).isPresent())
                .forEach(value -> units.putIfAbsent(value.metric().name(), value.unit()));
        return units;
    }

    /** Returns the size of the cache at a memory fraction, by any table that has it. */
    private static Map<String, String> capacities(TableText.Contents contents, Told told) {
        Map<String, String> capacities = new LinkedHashMap<>();
        for (TableText text : contents.tables()) {
            try {
                PublishedTable.of(text, told).observations().forEach(each -> {
                    Map<String, String> where = each.where();
                    if (where.containsKey(Column.MEMORY) && where.containsKey(Column.CAPACITY)) {
                        capacities.putIfAbsent(
                                where.getOrDefault(Column.MEMORY, ""), where.getOrDefault(Column.CAPACITY, ""));
                    }
                });
            } catch (LoadTestException e) {
                // It is told once, when the table itself is read.
            }
        }
        return capacities;
    }

    private static PublishedTable withCapacity(TableText text, Told told, Map<String, String> capacities) {
        PublishedTable table = PublishedTable.of(text, told);
        Optional<String> capacity = table.levels().contains(Column.CAPACITY)
                ? Optional.empty()
                : Optional.ofNullable(table.settings().get(Column.MEMORY))
                        .flatMap(memory -> Optional.ofNullable(capacities.get(memory)));
        if (capacity.isEmpty() || table.settings().containsKey(Column.CAPACITY)) {
            return table;
        }
        Map<String, String> settings = new LinkedHashMap<>(told.settings());
        settings.put(Column.CAPACITY, capacity.get());
        return PublishedTable.of(text, new Told(settings, told.units()));
    }
}
