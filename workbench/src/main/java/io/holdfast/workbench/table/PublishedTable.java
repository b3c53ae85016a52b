package io.holdfast.workbench.table;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Column.Kind;
import io.holdfast.workbench.table.Column.Side;
import io.holdfast.workbench.table.Column.Value;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A table with its columns understood.
 *
 * @param text as it stands in its file
 * @param settings what a heading, or a line of names and values before it, says of all its rows
 * @param levels the columns along which its rows can be ordered
 * @param stated changes that it prints without the numbers that they were made from, in percent
 * @param facts settings by row of a table without results, as the blocks of each model
 * @param statuses of its legs, where it has such a column
 * @param notes on how it was read, where its own words did not do
 */
record PublishedTable(
        TableText text,
        Map<String, String> settings,
        List<String> levels,
        List<Observation> observations,
        List<Comparison> comparisons,
        List<Observation> stated,
        List<Map<String, String>> facts,
        List<LegStatus> statuses,
        List<String> notes) {
    private static final Pattern SETTING = Pattern.compile("(?:[-*+]\\s+)?[`*]*([^:=`*]+?)[`*]*\\s*[:=]\\s*(.+)");
    private static final Pattern BRACKETS = Pattern.compile("(.*?)\\s*\\(([^()]*)\\)");
    private static final Pattern IN_BRACKETS = Pattern.compile("\\(([^()]*=[^()]*)\\)");
    private static final Pattern STEP = Pattern.compile("(.+?)\\s+\\S+\\s*->\\s*\\S+");
    private static final Pattern OF_PINS = Pattern.compile("\\bpin(ned)?\\b", Pattern.CASE_INSENSITIVE);
    private static final Pattern CHANGE = Pattern.compile("[+-]?[\\d,]+(\\.\\d+)?[%x]?");
    private static final Pattern ONE_AFTER_THE_OTHER =
            Pattern.compile("sequential\\b.*|.*\\bone after (the other|another)\\b.*", Pattern.CASE_INSENSITIVE);
    private static final Set<String> ABSENT =
            Set.of("", "-", "--", "n/a", "na", "none", "?", "unknown", "not measured");

    /** One leg of a matrix and how it ended. */
    record LegStatus(Map<String, String> where, String status) {}

    /**
     * Facts on a table from the rest of its document, or from the person who asks.
     *
     * @param settings where the table has none of that name
     * @param units by the names of metrics
     */
    record Told(Map<String, String> settings, Map<String, String> units) {
        static Told nothing() {
            return new Told(Map.of(), Map.of());
        }
    }

    /** Reads a table; what is not understood in it is said in a sentence. */
    static PublishedTable of(TableText text, Told told) {
        return new Reading(text, told).table();
    }

    /** Returns its heading, for people. */
    String name() {
        return text.name();
    }

    /** Returns true if it has any number, of a result or of a change. */
    boolean hasNumbers() {
        return !observations.isEmpty() || !stated.isEmpty() || !statuses.isEmpty();
    }

    /** Returns the comparisons of this metric. */
    List<Comparison> comparisons(Metric metric) {
        return comparisons.stream().filter(each -> each.metric().equals(metric)).toList();
    }

    /** Returns true if one of its arms is called pinned. */
    boolean isOfPins() {
        return Stream.concat(text.header().stream(), text.rows().stream().flatMap(List::stream))
                .anyMatch(cell -> OF_PINS.matcher(cell).find());
    }

    /** Returns the settings that lines before a table give, as {@code concurrency = 32, requests = 128}. */
    static Map<String, String> settings(List<String> paragraphs) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String paragraph : paragraphs) {
            Map<String, String> found = new LinkedHashMap<>();
            boolean all = true;
            for (String part : paragraph.replaceAll("\\.$", "").split("[,;]", -1)) {
                Matcher matcher = SETTING.matcher(part.strip());
                Optional<String> name = Optional.of(matcher)
                        .filter(Matcher::matches)
                        .flatMap(is -> Column.of(is.group(1).strip()))
                        .filter(column -> column.is(Kind.LEVEL) || column.is(Kind.LABEL))
                        .map(Column::name);
                all &= name.isPresent();
                name.ifPresent(known -> found.put(known, Figure.plain(matcher.group(2))));
            }
            if (all) {
                settings.putAll(found);
            }
        }
        return settings;
    }

    /** Returns the settings in brackets in headings, as {@code (memory=0.08, requests=128, concurrency varies)}. */
    private static Map<String, String> settingsOfHeadings(List<String> headings) {
        return settings(headings.stream()
                .flatMap(heading -> IN_BRACKETS.matcher(heading).results())
                .flatMap(brackets -> Stream.of(brackets.group(1).split("[,;]", -1)))
                .toList());
    }

    private static boolean isAbsent(String cell) {
        return ABSENT.contains(cell.toLowerCase(Locale.ROOT));
    }

    /** Returns a cell without the brackets behind its number. */
    private static String withoutBrackets(String cell) {
        Matcher brackets = BRACKETS.matcher(cell);
        return brackets.matches() ? brackets.group(1) : cell;
    }

    /** Facts that a row tells of all its numbers. */
    private record Row(
            Map<String, String> where, Optional<Side> side, Optional<String> order, Optional<String> repetition) {
        Row of(Optional<Side> other) {
            return other.isPresent() ? new Row(where, other, order, repetition) : this;
        }

        Row at(Map<String, String> more) {
            Map<String, String> all = new LinkedHashMap<>(where);
            all.putAll(more);
            return new Row(all, side, order, repetition);
        }
    }

    /** One table on its way from text to numbers. */
    private static final class Reading {
        private final TableText text;
        private final Told told;
        private final Map<String, String> settings;
        private final Optional<Value> caption;

        /** The times that all other columns are of, where that is one quantity alone. */
        private final Optional<Value> sibling;

        private final List<Column> columns = new ArrayList<>();
        private final List<Observation> observations = new ArrayList<>();
        private final List<Observation> changes = new ArrayList<>();
        private final List<Map<String, String>> facts = new ArrayList<>();
        private final List<LegStatus> statuses = new ArrayList<>();

        /** Changes that are printed beside numbers. */
        private final Map<Observation, Figure> stated = new LinkedHashMap<>();

        /** Names of columns or rows by what was made of them. */
        private final Map<String, List<String>> notes = new LinkedHashMap<>();

        /** Facts on the model of each column, from rows that name a level. */
        private final Map<Integer, Map<String, String>> subjects = new LinkedHashMap<>();

        Reading(TableText text, Told told) {
            this.text = text;
            this.told = told;
            this.settings = new LinkedHashMap<>(told.settings());
            settings.putAll(settingsOfHeadings(text.headings()));
            settings.putAll(settings(text.before()));
            this.caption = text.before().reversed().stream().findFirst().flatMap(Column::caption);
            this.sibling = sibling();
        }

        PublishedTable table() {
            boolean byMetric = text.header().stream()
                    .flatMap(header -> Column.of(header).stream())
                    .anyMatch(column -> column.is(Kind.METRIC));
            IntStream.range(0, text.header().size()).forEach(at -> columns.add(column(at, byMetric)));
            text.rows().forEach(this::settingOfSubjects);
            text.rows().forEach(this::row);
            PublishedTable table = new PublishedTable(
                    text,
                    settings,
                    columns.stream()
                            .filter(column -> column.is(Kind.LEVEL))
                            .map(Column::name)
                            .toList(),
                    observations,
                    comparisons(),
                    changes,
                    isOfFacts() ? facts : List.of(),
                    statuses,
                    notes.entrySet().stream()
                            .map(each -> "'" + String.join("', '", each.getValue()) + "': " + each.getKey() + ".")
                            .toList());
            if (!table.hasNumbers() && table.facts().isEmpty()) {
                throw refusal("has no number of which it says what it is; give it a metric with its unit, as"
                        + " 'TTFT p50 (ms)'");
            }
            return table;
        }

        /** Returns true if rows describe how a model or a workload was set up, and none of its results. */
        private boolean isOfFacts() {
            return columns.stream()
                            .anyMatch(column ->
                                    column.is(Kind.LABEL, Column.MODEL) || column.is(Kind.LABEL, Column.WORKLOAD))
                    && facts.stream().anyMatch(each -> each.size() > 1)
                    && columns.stream()
                            .noneMatch(column -> column.is(Kind.METRIC)
                                    || column.is(Kind.STATUS)
                                    || column.is(Kind.SUBJECT)
                                    || column.value()
                                            .filter(value -> value.metric().better() != Metric.Better.NEITHER)
                                            .isPresent());
        }

        private LoadTestException refusal(String what) {
            return new LoadTestException((text.headings().isEmpty()
                            ? "The " + text.name()
                            : "The table '" + text.name() + "' (line " + text.line() + ")")
                    + " " + what + ".");
        }

        private Column column(int at, boolean byMetric) {
            String header = text.header().get(at);
            Optional<Column> known = Column.of(header);
            Optional<Value> value = known.flatMap(Column::value);
            if (known.isPresent() && value.isEmpty()) {
                return known.get();
            }
            Optional<String> unit = unitOf(text.column(at));
            if (byMetric || (value.isEmpty() && caption.isPresent() && hasNumbers(at))) {
                return Column.subject(subject(header));
            } else if (value.isPresent()) {
                return Column.of(likeItsSiblings(withUnit(value.get(), header, unit), header));
            }
            Optional<Value> bare = Column.value(header + " (ms)").filter(Value::isBareStatistic);
            Optional<String> is = bare.isEmpty() ? unit : unit.or(() -> sibling.map(Value::unit));
            if (is.isEmpty()) {
                throw refusal(
                        header.isBlank()
                                ? "has a column without a name; name it"
                                : "has a column '" + header
                                        + "' that is not understood; name a metric with its unit, as 'TTFT p50 (ms)', a"
                                        + " level such as 'concurrency', an arm such as 'baseline', 'order',"
                                        + " 'repetition' or 'note'");
            }
            return Column.of(likeItsSiblings(
                    Column.value(header + " (" + is.get() + ")").orElseThrow(() -> withoutUnit(header)), header));
        }

        /** Returns a number with its own unit, that of its cells, or the usual one; changes alone need none. */
        private Value withUnit(Value value, String name, Optional<String> ofCells) {
            return !value.unit().isEmpty() || !value.needsUnit() || ofCells.equals(Optional.of("%"))
                    ? value
                    : value.in(ofCells.or(() -> usualUnit(value.metric(), name)).orElseThrow(() -> withoutUnit(name)));
        }

        /** Returns a bare {@code p99} beside columns of one quantity as one of that quantity. */
        private Value likeItsSiblings(Value value, String header) {
            if (!value.isBareStatistic() || sibling.isEmpty()) {
                return value;
            }
            String quantity = sibling.get().quantity();
            note("taken as " + quantity.toUpperCase(Locale.ROOT) + ", which the other columns are", header);
            return value.of(quantity);
        }

        private void note(String what, String name) {
            notes.computeIfAbsent(what, any -> new ArrayList<>()).add(name);
        }

        private Optional<Value> sibling() {
            Map<String, Value> quantities = new LinkedHashMap<>();
            for (int at = 0; at < text.header().size(); at++) {
                Optional<String> ofCells = unitOf(text.column(at));
                Column.value(text.header().get(at))
                        .filter(value -> !value.quantity().isEmpty())
                        .flatMap(value -> Optional.of(value.unit())
                                .filter(unit -> !unit.isEmpty())
                                .or(() -> ofCells)
                                .map(value::in))
                        .ifPresent(value -> quantities.put(value.quantity(), value));
            }
            return quantities.size() == 1 ? quantities.values().stream().findFirst() : Optional.empty();
        }

        /** Returns the model of a column that also shows a step, as {@code Llama P8 -> P9}. */
        private static String subject(String header) {
            Matcher step = STEP.matcher(Figure.plain(header));
            return step.matches() ? step.group(1) : header;
        }

        private LoadTestException withoutUnit(String header) {
            return refusal("has '" + header + "' without a unit; write it behind the name, as '" + header
                    + " (ms)' or '" + header + " (tok/s)'");
        }

        /** Returns the unit of the same metric elsewhere in the document, or the usual one of tokens a second. */
        private Optional<String> usualUnit(Metric metric, String name) {
            Optional<String> elsewhere = Optional.ofNullable(told.units().get(metric.name()));
            Optional<String> usual =
                    metric.unit() == Metric.Unit.TOKENS_PER_SECOND ? Optional.of("tok/s") : Optional.empty();
            Optional<String> unit = elsewhere.or(() -> usual);
            unit.ifPresent(is -> note(
                    "without a unit, taken in " + is
                            + (elsewhere.isPresent() ? ", as elsewhere in the document" : ", as is usual"),
                    Figure.plain(name)));
            return unit;
        }

        /** Returns the unit behind every number of some cells, where each has one. */
        private static Optional<String> unitOf(List<String> cells) {
            List<String> units = cells.stream()
                    .filter(cell -> !isAbsent(cell))
                    .map(cell -> number(cell).map(Figure::unit).orElse(""))
                    .distinct()
                    .toList();
            return units.size() == 1
                    ? units.stream().filter(unit -> !unit.isEmpty()).findFirst()
                    : Optional.empty();
        }

        /** Returns the last number of a cell, without what stands behind it in brackets. */
        private static Optional<Figure> number(String cell) {
            return Figure.of(withoutBrackets(cell.replaceFirst("^.*?->", "").strip()));
        }

        private boolean hasNumbers(int at) {
            return text.column(at).stream()
                    .filter(cell -> !isAbsent(cell))
                    .allMatch(cell -> number(cell).isPresent());
        }

        private void row(List<String> cells) {
            Map<String, String> own = new LinkedHashMap<>();
            Map<Kind, String> says = new EnumMap<>(Kind.class);
            Optional<Value> byMetric = caption;
            List<String> plain = cells.stream().map(Figure::plain).toList();
            for (int at = 0; at < columns.size(); at++) {
                String cell = plain.get(at);
                Column column = columns.get(at);
                if (isAbsent(cell)) {
                    continue;
                }
                if (column.is(Kind.LABEL, Column.ARRIVAL)) {
                    if (ONE_AFTER_THE_OTHER.matcher(cell).matches()) {
                        own.put(Column.CONCURRENCY, "1");
                    }
                } else if (column.is(Kind.LEVEL)) {
                    own.put(column.name(), number(cell).isPresent() ? withoutBrackets(cell) : cell);
                } else if (column.is(Kind.LABEL)) {
                    own.put(column.name(), cell);
                } else if (column.is(Kind.METRIC)) {
                    byMetric = Column.level(cell).isPresent() ? Optional.empty() : Optional.of(metric(cell, cells));
                } else {
                    says.put(column.kind(), cell);
                }
            }
            facts.add(own);
            Row row = new Row(
                            settings,
                            Optional.ofNullable(says.get(Kind.ARM)).map(this::side),
                            Optional.ofNullable(says.get(Kind.ORDER)),
                            Optional.ofNullable(says.get(Kind.REPETITION)))
                    .at(own);
            Optional.ofNullable(says.get(Kind.STATUS))
                    .ifPresent(status -> statuses.add(new LegStatus(row.where(), status)));
            for (int at = 0; at < columns.size(); at++) {
                String cell = plain.get(at);
                Column column = columns.get(at);
                if (isAbsent(cell)) {
                    continue;
                }
                if (column.value().isPresent()) {
                    numbers(
                            cell,
                            at,
                            plain,
                            column.value().get(),
                            row.of(column.value().get().side()));
                } else if (column.is(Kind.STATED) && !observations.isEmpty()) {
                    change(cell).ifPresent(figure -> stated.put(observations.getLast(), figure));
                } else if (column.is(Kind.SUBJECT) && byMetric.isPresent()) {
                    Map<String, String> subject = new LinkedHashMap<>(subjects.getOrDefault(at, Map.of()));
                    Optional<Side> side = Column.side(column.name());
                    if (side.isEmpty()) {
                        subject.put(Column.MODEL, column.name());
                    }
                    numbers(cell, at, plain, byMetric.get(), row.at(subject).of(side));
                }
            }
        }

        /** Takes a level that a row gives in place of a metric, as the blocks that each model had. */
        private void settingOfSubjects(List<String> cells) {
            IntStream.range(0, cells.size())
                    .filter(at -> columns.get(at).is(Kind.METRIC))
                    .mapToObj(at -> Column.level(cells.get(at)))
                    .flatMap(Optional::stream)
                    .forEach(level -> IntStream.range(0, cells.size())
                            .filter(at -> columns.get(at).is(Kind.SUBJECT) && !isAbsent(Figure.plain(cells.get(at))))
                            .forEach(at -> subjects.computeIfAbsent(at, any -> new LinkedHashMap<>())
                                    .put(level, Figure.plain(cells.get(at)))));
        }

        /** Returns the metric of a row, whose unit may stand behind the numbers of the row alone. */
        private Value metric(String cell, List<String> cells) {
            Optional<String> unit = unitOf(IntStream.range(0, cells.size())
                    .filter(at -> columns.get(at).is(Kind.SUBJECT))
                    .mapToObj(at -> Figure.plain(cells.get(at)))
                    .toList());
            Value value = Column.value(cell)
                    .or(() -> unit.flatMap(is -> Column.value(cell + " (" + is + ")")))
                    .orElseThrow(() -> refusal("has a metric '" + cell + "' that is not understood; name it with its"
                            + " unit, as 'TTFT p50 (ms)'"));
            // The cells keep units of their own.
            return unit.isPresent() ? value : withUnit(value, cell, unit);
        }

        private Side side(String cell) {
            return Column.side(cell).orElseGet(() -> {
                List<String> arms = IntStream.range(0, columns.size())
                        .filter(at -> columns.get(at).is(Kind.ARM))
                        .mapToObj(text::column)
                        .flatMap(List::stream)
                        .distinct()
                        .toList();
                if (arms.size() != 2) {
                    throw refusal("has " + arms.size() + " arms (" + String.join(", ", arms)
                            + ") and does not say which is the baseline; call one of two 'baseline'");
                }
                String other = arms.getFirst().equals(cell) ? arms.getLast() : arms.getFirst();
                Side ofOther = Column.side(other).orElse(other.equals(arms.getLast()) ? Side.TREATMENT : Side.BASELINE);
                return ofOther == Side.BASELINE ? Side.TREATMENT : Side.BASELINE;
            });
        }

        private void numbers(String cell, int at, List<String> cells, Value value, Row row) {
            int arrow = cell.indexOf("->");
            if (arrow < 0) {
                add(cell, at, cells, value, row);
            } else {
                add(cell.substring(0, arrow), at, cells, value, row.of(Optional.of(Side.BASELINE)));
                add(cell.substring(arrow + 2), at, cells, value, row.of(Optional.of(Side.TREATMENT)));
            }
        }

        private void add(String part, int at, List<String> cells, Value value, Row row) {
            String cell = part.strip();
            String header = text.header().get(at);
            Figure figure = Figure.of(withoutBrackets(cell))
                    .orElseThrow(() -> refusal("has '" + cell + "' for " + header + " in the row '" + cells.getFirst()
                            + "', which is no number; write one, or leave the cell empty"));
            boolean isChange = figure.unit().equals("%")
                    && value.metric().unit() != Metric.Unit.SHARE
                    && !value.unit().equals("%");
            if (!isChange && figure.number().signum() < 0 && value.metric().better() != Metric.Better.NEITHER) {
                throw refusal(
                        "has '" + cell + "' for " + header + ", and no time, rate or count is below 0; correct it");
            }
            String unit = figure.unit().isEmpty() ? value.unit() : figure.unit();
            BigDecimal factor = Figure.Unit.of(unit).map(Figure.Unit::factor).orElse(BigDecimal.ONE);
            double number = figure.number().multiply(factor).doubleValue();
            Observation observation = new Observation(
                    row.where(),
                    row.side(),
                    row.order(),
                    row.repetition(),
                    value.metric(),
                    figure,
                    value.metric().unit() == Metric.Unit.SECONDS ? number / 1e3 : number,
                    unit);
            (isChange ? changes : observations).add(observation);
            Matcher brackets = BRACKETS.matcher(cell);
            if (!isChange && brackets.matches()) {
                change(brackets.group(2)).ifPresent(change -> stated.put(observation, change));
            }
        }

        private static Optional<Figure> change(String text) {
            String plain = text.replace(" ", "").replaceFirst(",.*", "");
            return CHANGE.matcher(plain).matches() ? Figure.of(plain) : Optional.empty();
        }

        /** Puts the arms of the same place together. */
        private List<Comparison> comparisons() {
            return observations.stream()
                    .filter(each -> each.side().isPresent())
                    .collect(Collectors.groupingBy(
                            each -> List.of(each.where(), each.metric(), each.repetition()),
                            LinkedHashMap::new,
                            Collectors.toList()))
                    .values()
                    .stream()
                    .filter(place -> place.size() > 1)
                    .map(this::pair)
                    .toList();
        }

        private Comparison pair(List<Observation> place) {
            Observation first = place.getFirst();
            Observation last = place.getLast();
            String at = first.metric().title() + " at the same place (" + Place.text(first.where())
                    + "); tell them apart by a column 'repetition'";
            if (place.size() > 2) {
                throw refusal("has " + place.size() + " numbers for " + at);
            }
            boolean control = first.side().equals(last.side());
            if (control && first.order().isEmpty()) {
                throw refusal("has two numbers of one arm for " + at + " or 'order'");
            }
            boolean turned = control ? !first.ranFirst() : first.side().equals(Optional.of(Side.TREATMENT));
            Observation baseline = turned ? last : first;
            Observation treatment = turned ? first : last;
            Optional<PairOrder> order = baseline.order().isEmpty()
                            || treatment.order().isEmpty()
                    ? Optional.empty()
                    : Optional.of(
                            control
                                    ? PairOrder.AA
                                    : baseline.ranFirst() || !treatment.ranFirst() ? PairOrder.BP : PairOrder.PB);
            return new Comparison(
                    baseline.where(),
                    baseline,
                    treatment,
                    order,
                    Optional.ofNullable(stated.get(treatment)).or(() -> Optional.ofNullable(stated.get(baseline))));
        }
    }
}
