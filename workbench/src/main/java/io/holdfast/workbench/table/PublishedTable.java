package io.holdfast.workbench.table;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Column.Side;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A table with its columns understood.
 *
 * @param name its heading, for people
 * @param headings those that it stands under, the outermost first
 * @param before the paragraphs between its heading and it
 * @param settings what a heading, or a line of names and values before it, says of all its rows
 * @param levels the columns along which its rows can be ordered
 * @param stated changes that it prints without the numbers that they were made from
 * @param facts settings by row of a table without results, as the blocks of each model
 * @param statuses of its legs by name, where it has such a column
 * @param isOfPins whether its second arm is called pinned
 * @param notes on how it was read, where its own words did not do
 */
record PublishedTable(
        String name,
        List<String> headings,
        List<String> before,
        Map<String, String> settings,
        List<String> levels,
        List<Observation> observations,
        List<Comparison> comparisons,
        List<StatedChange> stated,
        List<Map<String, String>> facts,
        List<LegStatus> statuses,
        boolean isOfPins,
        List<String> notes) {
    private static final Pattern SETTING = Pattern.compile("(?:[-*+]\\s+)?[`*]*([^:=`*]+?)[`*]*\\s*[:=]\\s*(.+)");
    private static final Pattern BRACKETS = Pattern.compile("(.*?)\\s*\\(([^()]*)\\)");
    private static final Pattern IN_BRACKETS = Pattern.compile("\\(([^()]*=[^()]*)\\)");
    private static final Pattern STEP = Pattern.compile("(.+?)\\s+\\S+\\s*->\\s*\\S+");
    private static final Pattern OF_PINS = Pattern.compile("\\bpin(ned)?\\b", Pattern.CASE_INSENSITIVE);
    private static final Pattern ONE_AFTER_THE_OTHER =
            Pattern.compile("sequential\\b.*|.*\\bone after (the other|another)\\b.*", Pattern.CASE_INSENSITIVE);
    private static final Set<String> ABSENT =
            Set.of("", "-", "--", "n/a", "na", "none", "?", "unknown", "not measured");

    PublishedTable {
        headings = List.copyOf(headings);
        before = List.copyOf(before);
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        levels = List.copyOf(levels);
        observations = List.copyOf(observations);
        comparisons = List.copyOf(comparisons);
        stated = List.copyOf(stated);
        facts = List.copyOf(facts);
        statuses = List.copyOf(statuses);
        notes = List.copyOf(notes);
    }

    /** One leg of a matrix and how it ended. */
    record LegStatus(Map<String, String> where, String status) {}

    /** A change that is printed alone, as {@code +25 %}. */
    record StatedChange(Map<String, String> where, Metric metric, Figure percent) {}

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

    /** Returns true if it has any number, of a result or of a change. */
    boolean hasNumbers() {
        return !observations.isEmpty() || !comparisons.isEmpty() || !stated.isEmpty() || !statuses.isEmpty();
    }

    /** Returns the comparisons of this metric. */
    List<Comparison> comparisons(Metric metric) {
        return comparisons.stream().filter(each -> each.metric().equals(metric)).toList();
    }

    /** The level with the most different values among these comparisons, if there is one along which they differ. */
    Optional<String> axis() {
        return levels.stream()
                .filter(level -> values(level).size() > 1)
                .filter(level -> !level.equals(Column.CAPACITY) || !levels.contains(Column.MEMORY))
                .findFirst();
    }

    private Set<String> values(String level) {
        return comparisons.stream()
                .map(each -> each.where().getOrDefault(level, ""))
                .collect(Collectors.toSet());
    }

    /** Returns the settings in brackets in headings, as {@code (memory=0.08, requests=128, concurrency varies)}. */
    private static Map<String, String> settingsOfHeadings(List<String> headings) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String heading : headings) {
            Matcher brackets = IN_BRACKETS.matcher(heading);
            while (brackets.find()) {
                for (String part : brackets.group(1).split("[,;]", -1)) {
                    settings.putAll(settings(List.of(part)));
                }
            }
        }
        return settings;
    }

    /** The settings that lines before a table give, as {@code concurrency = 32, requests = 128}. */
    static Map<String, String> settings(List<String> paragraphs) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String paragraph : paragraphs) {
            Map<String, String> found = new LinkedHashMap<>();
            boolean all = true;
            for (String part : paragraph.replaceAll("\\.$", "").split("[,;]", -1)) {
                Matcher matcher = SETTING.matcher(part.strip());
                Optional<String> name = matcher.matches() ? setting(matcher.group(1)) : Optional.empty();
                all &= name.isPresent();
                name.ifPresent(known -> found.put(known, Figure.plain(matcher.group(2))));
            }
            if (all) {
                settings.putAll(found);
            }
        }
        return settings;
    }

    private static Optional<String> setting(String name) {
        return Column.of(name.strip()).flatMap(column -> switch (column) {
            case Column.Level level -> Optional.of(level.name());
            case Column.Label label -> Optional.of(label.name());
            default -> Optional.empty();
        });
    }

    /** One table on its way from text to numbers. */
    private static final class Reading {
        private final TableText text;
        private final Told told;
        private final Map<String, String> settings;
        private final Optional<Column.Value> caption;

        /** The times that all other columns are of, where that is one quantity alone. */
        private final Optional<Column.Value> sibling;

        private final List<Column> columns = new ArrayList<>();
        private final List<Observation> observations = new ArrayList<>();
        private final List<Comparison> comparisons = new ArrayList<>();
        private final List<StatedChange> changes = new ArrayList<>();
        private final List<Map<String, String>> facts = new ArrayList<>();
        private final List<LegStatus> statuses = new ArrayList<>();
        /** Names of columns or rows by what was made of them. */
        private final Map<String, List<String>> notes = new LinkedHashMap<>();

        private final Map<Observation, Figure> stated = new LinkedHashMap<>();

        /** Facts on the model of each column, from rows that name a level. */
        private final Map<Integer, Map<String, String>> subjects = new LinkedHashMap<>();

        Reading(TableText text, Told told) {
            this.text = text;
            this.told = told;
            this.settings = new LinkedHashMap<>(told.settings());
            settings.putAll(settingsOfHeadings(text.headings()));
            settings.putAll(settings(text.before()));
            this.caption = text.before().isEmpty()
                    ? Optional.empty()
                    : Column.caption(text.before().getLast());
            this.sibling = sibling();
        }

        PublishedTable table() {
            boolean byMetric = text.header().stream()
                    .map(Column::of)
                    .anyMatch(column ->
                            column.filter(Column.MetricName.class::isInstance).isPresent());
            for (int i = 0; i < text.header().size(); i++) {
                columns.add(column(i, byMetric));
            }
            if (byMetric) {
                text.rows().forEach(this::settingOfSubjects);
            }
            for (int row = 0; row < text.rows().size(); row++) {
                row(text.rows().get(row), text.line() + row);
            }
            pair();
            List<String> levels = columns.stream()
                    .filter(Column.Level.class::isInstance)
                    .map(column -> ((Column.Level) column).name())
                    .toList();
            PublishedTable table = new PublishedTable(
                    text.headings().isEmpty()
                            ? "table at line " + text.line()
                            : text.headings().getLast(),
                    text.headings(),
                    text.before(),
                    settings,
                    levels,
                    observations,
                    comparisons,
                    changes,
                    isOfFacts() ? facts : List.of(),
                    statuses,
                    isOfPins(),
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
            boolean about = columns.stream()
                    .anyMatch(column -> column instanceof Column.Label label
                            && (label.name().equals(Column.MODEL)
                                    || label.name().equals(Column.WORKLOAD)));
            boolean results = columns.stream()
                    .anyMatch(column -> column instanceof Column.MetricName
                            || column instanceof Column.Status
                            || column instanceof Column.Subject
                            || (column instanceof Column.Value value
                                    && value.metric().better() != Metric.Better.NEITHER));
            boolean some = facts.stream().anyMatch(each -> each.size() > 1);
            return about && some && !results;
        }

        private boolean isOfPins() {
            return Stream.concat(text.header().stream(), text.rows().stream().flatMap(List::stream))
                    .anyMatch(cell -> OF_PINS.matcher(cell).find());
        }

        private LoadTestException refusal(String what) {
            return new LoadTestException((text.headings().isEmpty()
                            ? "The table at line " + text.line()
                            : "The table '" + text.headings().getLast() + "' (line " + text.line() + ")")
                    + " " + what + ".");
        }

        private Column column(int at, boolean byMetric) {
            String header = text.header().get(at);
            Optional<Column> known = Column.of(header);
            if (byMetric && (known.isEmpty() || known.get() instanceof Column.Value)) {
                return new Column.Subject(subject(header));
            }
            if (known.isPresent() && !(known.get() instanceof Column.Value)) {
                return known.get();
            }
            Optional<Column.Value> value = known.map(Column.Value.class::cast);
            if (value.isPresent()
                    && (!value.get().unit().isEmpty() || !needsUnit(value.get().metric()))) {
                return likeItsSiblings(value.get(), header);
            }
            Optional<String> unit = unitOfCells(at);
            boolean onlyChanges = unit.equals(Optional.of("%"));
            if (value.isPresent()) {
                Column.Value plain = value.get();
                return onlyChanges
                        ? plain
                        : new Column.Value(
                                plain.metric(),
                                unit.or(() -> usualUnit(plain.metric(), header)).orElseThrow(() -> withoutUnit(header)),
                                plain.side());
            }
            if (caption.isPresent() && hasNumbers(at)) {
                return new Column.Subject(subject(header));
            }
            Optional<Column.Value> bare = Column.value(header + " (ms)")
                    .filter(Column::isBareStatistic)
                    .flatMap(column -> unit.or(() -> sibling.map(Column.Value::unit))
                            .map(is -> new Column.Value(column.metric(), is, column.side())));
            if (bare.isPresent() && sibling.isPresent()) {
                return likeItsSiblings(bare.get(), header);
            }
            String ofCells = unit.orElseThrow(() -> header.isBlank()
                    ? refusal("has a column without a name; name it")
                    : refusal("has a column '" + header
                            + "' that is not understood; name a metric with its unit, as 'TTFT p50 (ms)', a"
                            + " level such as 'concurrency', an arm such as 'baseline', 'order', 'repetition'"
                            + " or 'note'"));
            return Column.value(header + " (" + ofCells + ")").orElseThrow(() -> withoutUnit(header));
        }

        /** A bare {@code p99} beside columns of one quantity is of that quantity. */
        private Column.Value likeItsSiblings(Column.Value value, String header) {
            if (!Column.isBareStatistic(value) || sibling.isEmpty()) {
                return value;
            }
            Metric is = Column.likeSibling(value, sibling.get());
            String quantity = Column.quantity(sibling.get()).orElseThrow().toUpperCase(Locale.ROOT);
            notes.computeIfAbsent("taken as " + quantity + ", which the other columns are", any -> new ArrayList<>())
                    .add(header);
            return new Column.Value(is, value.unit(), value.side());
        }

        private Optional<Column.Value> sibling() {
            Map<String, Column.Value> quantities = new LinkedHashMap<>();
            for (int at = 0; at < text.header().size(); at++) {
                int column = at;
                Optional<Column.Value> value = Column.value(text.header().get(at));
                Optional<String> unit = value.map(Column.Value::unit)
                        .filter(is -> !is.isEmpty())
                        .or(() -> unitOfCells(column));
                if (value.isPresent() && unit.isPresent()) {
                    Column.Value with = new Column.Value(
                            value.get().metric(), unit.get(), value.get().side());
                    Column.quantity(with).ifPresent(name -> quantities.put(name, with));
                }
            }
            return quantities.size() == 1 ? quantities.values().stream().findFirst() : Optional.empty();
        }

        /** A model with the step that its column shows, as {@code Llama P8 -> P9}, is the model. */
        private static String subject(String header) {
            Matcher step = STEP.matcher(Figure.plain(header));
            return step.matches() ? step.group(1) : header;
        }

        private LoadTestException withoutUnit(String header) {
            return refusal("has '" + header + "' without a unit; write it behind the name, as '" + header
                    + " (ms)' or '" + header + " (tok/s)'");
        }

        private static boolean needsUnit(Metric metric) {
            return !metric.equals(Metric.ERRORS)
                    && !metric.equals(Metric.CACHED_SHARE)
                    && metric.unit() != Metric.Unit.TOKENS;
        }

        /** Returns the unit of the same metric elsewhere in the document, or the usual one of tokens a second. */
        private Optional<String> usualUnit(Metric metric, String name) {
            Optional<String> elsewhere = Optional.ofNullable(told.units().get(metric.name()));
            Optional<String> unit = elsewhere.or(
                    () -> metric.unit() == Metric.Unit.TOKENS_PER_SECOND ? Optional.of("tok/s") : Optional.empty());
            unit.ifPresent(is -> notes.computeIfAbsent(
                            "without a unit, taken in " + is
                                    + (elsewhere.isPresent() ? ", as elsewhere in the document" : ", as is usual"),
                            any -> new ArrayList<>())
                    .add(Figure.plain(name)));
            return unit;
        }

        /** The unit behind every number of a column, where each has one. */
        private Optional<String> unitOfCells(int at) {
            return unitOf(text.rows().stream().map(row -> row.get(at)).toList());
        }

        private static Optional<String> unitOf(List<String> cells) {
            Set<String> units = new TreeSet<>();
            for (String each : cells) {
                String cell = Figure.plain(each);
                if (!isAbsent(cell)) {
                    units.add(number(cell).map(Figure::unit).orElse(""));
                }
            }
            return units.size() == 1
                    ? units.stream().filter(unit -> !unit.isEmpty()).findFirst()
                    : Optional.empty();
        }

        /** The last number of a cell, without what stands behind it in brackets. */
        private static Optional<Figure> number(String plain) {
            String last = plain.contains("->") ? plain.substring(plain.indexOf("->") + 2) : plain;
            return Figure.of(BRACKETS.matcher(last.strip()).replaceFirst("$1"));
        }

        private boolean hasNumbers(int at) {
            return text.rows().stream()
                    .map(row -> Figure.plain(row.get(at)))
                    .filter(cell -> !isAbsent(cell))
                    .allMatch(cell -> number(cell).isPresent());
        }

        private static boolean isAbsent(String cell) {
            return ABSENT.contains(cell.toLowerCase(Locale.ROOT));
        }

        private void row(List<String> cells, int line) {
            Map<String, String> where = new LinkedHashMap<>(settings);
            Map<String, String> own = new LinkedHashMap<>();
            Optional<Side> side = Optional.empty();
            Optional<String> order = Optional.empty();
            Optional<String> repetition = Optional.empty();
            Optional<Column.Value> byMetric = caption;
            Optional<String> status = Optional.empty();
            for (int i = 0; i < columns.size(); i++) {
                String cell = Figure.plain(cells.get(i));
                if (isAbsent(cell) || isSubject(i)) {
                    continue;
                }
                switch (columns.get(i)) {
                    case Column.Level level -> own.put(level.name(), level(cell));
                    case Column.Label label
                    when label.name().equals(Column.ARRIVAL) -> {
                        if (ONE_AFTER_THE_OTHER.matcher(cell).matches()) {
                            own.put(Column.CONCURRENCY, "1");
                        }
                    }
                    case Column.Label label -> own.put(label.name(), cell);
                    case Column.Arm any -> side = Optional.of(side(cell, i));
                    case Column.Order any -> order = Optional.of(cell);
                    case Column.Repetition any -> repetition = Optional.of(cell);
                    case Column.Status any -> status = Optional.of(cell);
                    case Column.MetricName any ->
                        byMetric = isSetting(cell) ? Optional.empty() : Optional.of(metric(cell, cells));
                    case Column.Value any -> {}
                    case Column.Subject any -> {}
                    case Column.Stated any -> {}
                    case Column.Note any -> {}
                }
            }
            where.putAll(own);
            facts.add(copy(own));
            status.ifPresent(is -> statuses.add(new LegStatus(copy(where), is)));
            for (int i = 0; i < columns.size(); i++) {
                String cell = Figure.plain(cells.get(i));
                if (isAbsent(cell)) {
                    continue;
                }
                if (columns.get(i) instanceof Column.Value value) {
                    numbers(
                            cell,
                            i,
                            line,
                            value,
                            where,
                            value.side().isPresent() ? value.side() : side,
                            order,
                            repetition);
                } else if (columns.get(i) instanceof Column.Stated && !observations.isEmpty()) {
                    stated(cell).ifPresent(figure -> stated.put(observations.getLast(), figure));
                } else if (byMetric.isPresent() && columns.get(i) instanceof Column.Subject of) {
                    Map<String, String> subject = new LinkedHashMap<>(where);
                    subject.putAll(subjects.getOrDefault(i, Map.of()));
                    Optional<Side> arm = Column.side(of.name());
                    if (arm.isEmpty()) {
                        subject.put(Column.MODEL, of.name());
                    }
                    numbers(cell, i, line, byMetric.get(), subject, arm.isPresent() ? arm : side, order, repetition);
                }
            }
        }

        /** Returns a level without the brackets behind it. */
        private static String level(String cell) {
            Matcher brackets = BRACKETS.matcher(cell);
            return brackets.matches() && Figure.of(brackets.group(1)).isPresent() ? brackets.group(1) : cell;
        }

        /** A row may give a level in place of a metric, as the blocks that each model had. */
        private void settingOfSubjects(List<String> cells) {
            for (int i = 0; i < cells.size(); i++) {
                if (columns.get(i) instanceof Column.MetricName
                        && Column.of(cells.get(i))
                                .filter(Column.Level.class::isInstance)
                                .isPresent()) {
                    for (int subject = 0; subject < cells.size(); subject++) {
                        String cell = Figure.plain(cells.get(subject));
                        if (isSubject(subject) && !isAbsent(cell)) {
                            subjects.computeIfAbsent(subject, any -> new LinkedHashMap<>())
                                    .put(setting(cells.get(i)).orElseThrow(), cell);
                        }
                    }
                }
            }
        }

        private static boolean isSetting(String cell) {
            return Column.of(cell).filter(Column.Level.class::isInstance).isPresent();
        }

        /** Returns true if a column is a model or an arm whose metrics are in the rows. */
        private boolean isSubject(int at) {
            return columns.get(at) instanceof Column.Subject;
        }

        /** The metric of a row, whose unit may stand behind the numbers of the row alone. */
        private Column.Value metric(String cell, List<String> cells) {
            List<String> numbers = IntStream.range(0, cells.size())
                    .filter(this::isSubject)
                    .mapToObj(cells::get)
                    .toList();
            Optional<String> unit = unitOf(numbers);
            Column.Value value = Column.value(cell)
                    .or(() -> unit.flatMap(is -> Column.value(cell + " (" + is + ")")))
                    .orElseThrow(() -> refusal("has a metric '" + cell + "' that is not understood; name it with its"
                            + " unit, as 'TTFT p50 (ms)'"));
            return value.unit().isEmpty() && needsUnit(value.metric()) && unit.isEmpty()
                    ? new Column.Value(
                            value.metric(),
                            usualUnit(value.metric(), cell).orElseThrow(() -> withoutUnit(cell)),
                            value.side())
                    : value;
        }

        private Side side(String cell, int at) {
            return Column.side(cell).orElseGet(() -> {
                List<String> arms = text.rows().stream()
                        .map(row -> Figure.plain(row.get(at)))
                        .distinct()
                        .toList();
                if (arms.size() != 2) {
                    throw refusal("has " + arms.size() + " arms (" + String.join(", ", arms)
                            + ") and does not say which is the baseline; call one of two 'baseline'");
                }
                boolean named = arms.stream().anyMatch(arm -> Column.side(arm).isPresent());
                if (named) {
                    String other = arms.getFirst().equals(cell) ? arms.getLast() : arms.getFirst();
                    return Column.side(other).orElseThrow() == Side.BASELINE ? Side.TREATMENT : Side.BASELINE;
                }
                return arms.getFirst().equals(cell) ? Side.BASELINE : Side.TREATMENT;
            });
        }

        private void numbers(
                String cell,
                int at,
                int line,
                Column.Value value,
                Map<String, String> where,
                Optional<Side> side,
                Optional<String> order,
                Optional<String> repetition) {
            int arrow = cell.indexOf("->");
            if (arrow < 0) {
                add(cell, at, line, value, where, side, order, repetition);
                return;
            }
            add(cell.substring(0, arrow), at, line, value, where, Optional.of(Side.BASELINE), order, repetition);
            add(cell.substring(arrow + 2), at, line, value, where, Optional.of(Side.TREATMENT), order, repetition);
        }

        private void add(
                String cell,
                int at,
                int line,
                Column.Value value,
                Map<String, String> where,
                Optional<Side> side,
                Optional<String> order,
                Optional<String> repetition) {
            Matcher brackets = BRACKETS.matcher(cell.strip());
            String number = brackets.matches() ? brackets.group(1) : cell.strip();
            Figure figure = Figure.of(number)
                    .orElseThrow(() -> refusal("has '" + cell.strip() + "' for "
                            + text.header().get(at) + " in the row"
                            + " '"
                            + Figure.plain(text.rows().get(line - text.line()).getFirst())
                            + "', which is no number; write one, or leave the cell empty"));
            boolean share =
                    value.metric().unit() == Metric.Unit.SHARE || value.unit().equals("%");
            if (figure.unit().equals("%") && !share) {
                changes.add(new StatedChange(copy(where), value.metric(), figure));
                return;
            }
            if (figure.number().signum() < 0 && value.metric().better() != Metric.Better.NEITHER) {
                throw refusal("has '" + cell.strip() + "' for " + text.header().get(at)
                        + ", and no time, rate or count is below 0; correct it");
            }
            String unit = figure.unit().isEmpty() ? value.unit() : figure.unit();
            Observation observation = new Observation(
                    copy(where),
                    value.metric(),
                    side,
                    order,
                    repetition,
                    figure,
                    inItsUnit(figure.number(), unit, value.metric()),
                    unit);
            observations.add(observation);
            if (brackets.matches()) {
                stated(brackets.group(2)).ifPresent(change -> stated.put(observation, change));
            }
        }

        private static double inItsUnit(BigDecimal number, String unit, Metric metric) {
            BigDecimal factor = Figure.Unit.of(unit).map(Figure.Unit::factor).orElse(BigDecimal.ONE);
            double value = number.multiply(factor).doubleValue();
            return metric.unit() == Metric.Unit.SECONDS ? value / 1e3 : value;
        }

        private static Optional<Figure> stated(String text) {
            String plain = text.replace(" ", "").replaceFirst(",.*", "");
            return plain.matches("[+-]?[\\d,]+(\\.\\d+)?[%x]?") && !plain.isEmpty()
                    ? Figure.of(plain)
                    : Optional.empty();
        }

        /** Puts the arms of the same place together. */
        private void pair() {
            Map<List<Object>, List<Observation>> places = new LinkedHashMap<>();
            for (Observation each : observations) {
                if (each.side().isPresent()) {
                    places.computeIfAbsent(
                                    List.of(each.where(), each.metric(), each.repetition()), any -> new ArrayList<>())
                            .add(each);
                }
            }
            places.values().forEach(this::pair);
        }

        private void pair(List<Observation> place) {
            if (place.size() != 2) {
                if (place.size() > 2) {
                    throw refusal("has " + place.size() + " numbers for "
                            + place.getFirst().metric().title()
                            + " at the same place (" + text(place.getFirst().where())
                            + "); tell them apart by a column 'repetition'");
                }
                return;
            }
            boolean control = place.getFirst().side().equals(place.getLast().side());
            boolean turned = control
                    ? place.getFirst().order().map(PublishedTable::rank).orElse(1) > 1
                    : place.getFirst().side().equals(Optional.of(Side.TREATMENT));
            if (control && place.getFirst().order().isEmpty()) {
                throw refusal("has two numbers of one arm for "
                        + place.getFirst().metric().title() + " at the same place ("
                        + text(place.getFirst().where())
                        + "); tell them apart by a column 'repetition' or 'order'");
            }
            Observation baseline = turned ? place.getLast() : place.getFirst();
            Observation treatment = turned ? place.getFirst() : place.getLast();
            comparisons.add(new Comparison(
                    baseline.where(),
                    baseline.metric(),
                    baseline,
                    treatment,
                    order(baseline, treatment),
                    baseline.repetition(),
                    Optional.ofNullable(stated.get(treatment)).or(() -> Optional.ofNullable(stated.get(baseline)))));
        }

        private static Optional<PairOrder> order(Observation baseline, Observation treatment) {
            if (baseline.order().isEmpty() || treatment.order().isEmpty()) {
                return Optional.empty();
            }
            if (treatment.side().equals(Optional.of(Side.BASELINE))) {
                return Optional.of(PairOrder.AA);
            }
            return Optional.of(
                    rank(baseline.order().get()) <= rank(treatment.order().get()) ? PairOrder.BP : PairOrder.PB);
        }
    }

    /** 1 for the first of two legs, and 2 for the other. */
    static int rank(String order) {
        return order.toLowerCase(Locale.ROOT).matches("1|1st|first|a|run a") ? 1 : 2;
    }

    private static Map<String, String> copy(Map<String, String> where) {
        return Collections.unmodifiableMap(new LinkedHashMap<>(where));
    }

    /** A place for people, as {@code concurrency 32, model Qwen3}. */
    static String text(Map<String, String> where) {
        return where.entrySet().stream()
                .map(each -> each.getKey() + " " + each.getValue())
                .sorted()
                .collect(Collectors.joining(", "));
    }
}
