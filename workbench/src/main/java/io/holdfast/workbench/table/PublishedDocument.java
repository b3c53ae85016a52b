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
import java.util.OptionalInt;
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
record PublishedDocument(
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

    /**
     * Reads what is understood; a file of which that is nothing is refused.
     *
     * @param settings that the tables do not tell
     */
    static PublishedDocument of(TableText.Contents contents, Map<String, String> settings) {
        PublishedDocument document = new PublishedDocument(
                contents.file(),
                new ArrayList<>(),
                contents.prose(),
                new ArrayList<>(),
                new ArrayList<>(),
                new ArrayList<>(contents.torn()),
                new ArrayList<>());
        Map<String, String> all = new LinkedHashMap<>(settings);
        if (!all.containsKey(Column.SHARED_TOKENS) && !all.containsKey(Column.UNIQUE_TOKENS)) {
            document.readTokens(all);
        }
        Told told = new Told(all, units(contents));
        for (TableText text : contents.tables()) {
            try {
                document.read(text, told);
            } catch (LoadTestException e) {
                document.skipped.add(String.valueOf(e.getMessage()));
            }
        }
        Map<String, String> capacities = document.capacities();
        document.tables.replaceAll(table -> withCapacity(table, told, capacities));
        document.refuseNothing();
        return document;
    }

    private void read(TableText text, Told told) {
        Optional<List<Claim>> ledger = Claim.ledger(text);
        Optional<List<Criterion>> named = Criterion.named(text);
        ledger.ifPresent(claims::addAll);
        named.ifPresent(criteria::addAll);
        if (ledger.isEmpty() && named.isEmpty()) {
            tables.add(PublishedTable.of(text, told));
        }
    }

    /** Returns the size of the cache at a memory fraction, by any table that has it. */
    private Map<String, String> capacities() {
        Map<String, String> capacities = new LinkedHashMap<>();
        tables.stream()
                .flatMap(table -> table.observations().stream())
                .map(Observation::where)
                .filter(where -> where.containsKey(Column.MEMORY) && where.containsKey(Column.CAPACITY))
                .forEach(where -> capacities.putIfAbsent(
                        where.getOrDefault(Column.MEMORY, ""), where.getOrDefault(Column.CAPACITY, "")));
        return capacities;
    }

    /** Returns a table with the size of the cache that another one tells of its memory fraction. */
    private static PublishedTable withCapacity(PublishedTable table, Told told, Map<String, String> capacities) {
        String capacity = capacities.getOrDefault(table.settings().getOrDefault(Column.MEMORY, ""), "");
        if (capacity.isEmpty()
                || table.levels().contains(Column.CAPACITY)
                || table.settings().containsKey(Column.CAPACITY)) {
            return table;
        }
        Map<String, String> more = new LinkedHashMap<>(told.settings());
        more.put(Column.CAPACITY, capacity);
        return PublishedTable.of(table.text(), new Told(more, told.units()));
    }

    /** Returns the numbers of all tables, each with its workload, which is a table's heading where nothing else is. */
    List<Observation> results() {
        return tables.stream()
                .flatMap(table ->
                        table.observations().stream().map(each -> Phases.named(each, Phases.plain(table.name()))))
                .toList();
    }

    private void refuseNothing() {
        if (tables.stream().anyMatch(PublishedTable::hasNumbers) || !claims.isEmpty() || !criteria.isEmpty()) {
            return;
        }
        if (skipped.isEmpty()) {
            throw new LoadTestException("The tables of " + file + " have no result; name a file with numbers.");
        }
        throw new LoadTestException((skipped.size() == 1
                        ? "Nothing in " + file + " can be read. "
                        : "None of the " + skipped.size() + " tables of " + file + " can be read. ")
                + skipped.getFirst());
    }

    /** Takes the tokens of each request from the text, where it states both how many there are and how many are own. */
    private void readTokens(Map<String, String> settings) {
        OptionalInt own = number(OWN_TOKENS);
        OptionalInt each = number(ALL_TOKENS);
        if (own.isPresent() && each.isPresent() && each.getAsInt() > own.getAsInt()) {
            int shared = each.getAsInt() - own.getAsInt();
            settings.put(Column.SHARED_TOKENS, Integer.toString(shared));
            settings.put(Column.UNIQUE_TOKENS, Integer.toString(own.getAsInt()));
            notes.add("Its text says " + each.getAsInt() + " tokens each, and " + own.getAsInt()
                    + " unique tokens each, so " + shared
                    + " are taken as shared; --shared-tokens and --own-tokens say it otherwise.");
        }
    }

    private OptionalInt number(Pattern pattern) {
        return prose.stream()
                .flatMap(paragraph -> pattern.matcher(Figure.plain(paragraph.text()))
                        .results()
                        .limit(1))
                .mapToInt(match -> Integer.parseInt(match.group(1).replace(",", "")))
                .findFirst();
    }

    /** Returns the units that names of metrics have anywhere in a document. */
    private static Map<String, String> units(TableText.Contents contents) {
        Map<String, String> units = new LinkedHashMap<>();
        contents.tables().stream()
                .flatMap(table -> Stream.concat(
                        table.header().stream(), table.rows().stream().map(List::getFirst)))
                .flatMap(cell -> Column.value(cell).stream())
                .filter(value -> !value.unit().isEmpty()
                        && Metric.named(value.metric().name()).isPresent())
                .forEach(value -> units.putIfAbsent(value.metric().name(), value.unit()));
        return units;
    }
}
