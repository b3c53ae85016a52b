package io.holdfast.loadtest.table;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.table.Column.Side;
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

/**
 * A table with its columns understood.
 *
 * @param name its heading, for people
 * @param headings those that it stands under, the outermost first
 * @param settings what a line of names and values before it says of all its rows
 * @param levels the columns along which its rows can be ordered
 * @param statuses of its legs by name, where it has such a column
 */
record PublishedTable(
        String name,
        List<String> headings,
        Map<String, String> settings,
        List<String> levels,
        List<Observation> observations,
        List<Comparison> comparisons,
        List<LegStatus> statuses) {
    private static final Pattern SETTING = Pattern.compile("(?:[-*+]\\s+)?[`*]*([^:=`*]+?)[`*]*\\s*[:=]\\s*(.+)");
    private static final Pattern BRACKETS = Pattern.compile("(.*?)\\s*\\(([^()]*)\\)");
    private static final Set<String> ABSENT =
            Set.of("", "-", "--", "n/a", "na", "none", "?", "unknown", "not measured");

    PublishedTable {
        headings = List.copyOf(headings);
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        levels = List.copyOf(levels);
        observations = List.copyOf(observations);
        comparisons = List.copyOf(comparisons);
        statuses = List.copyOf(statuses);
    }

    /** One leg of a matrix and how it ended. */
    record LegStatus(Map<String, String> where, String status) {}

    /** Reads a table; what is not understood in it is said in a sentence. */
    static PublishedTable of(TableText text, String file) {
        return new Reading(text, file).table();
    }

    /** Those with this metric. */
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
        private final String file;
        private final String name;
        private final Map<String, String> settings;
        private final List<Column> columns = new ArrayList<>();
        private final List<Observation> observations = new ArrayList<>();
        private final List<Comparison> comparisons = new ArrayList<>();
        private final List<LegStatus> statuses = new ArrayList<>();
        private final Map<Observation, Figure> stated = new LinkedHashMap<>();

        /** By column, what rows that name a level say of its model. */
        private final Map<Integer, Map<String, String>> subjects = new LinkedHashMap<>();

        Reading(TableText text, String file) {
            this.text = text;
            this.file = file;
            this.name = text.headings().isEmpty()
                    ? "table at line " + text.line()
                    : text.headings().getLast();
            this.settings = settings(text.before());
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
            if (observations.isEmpty() && comparisons.isEmpty() && statuses.isEmpty()) {
                throw refusal("has no number of which it says what it is; give it a metric with its unit, as"
                        + " 'TTFT p50 (ms)'");
            }
            return new PublishedTable(name, text.headings(), settings, levels, observations, comparisons, statuses);
        }

        private LoadTestException refusal(String what) {
            return new LoadTestException(
                    "The table '" + name + "' (line " + text.line() + ") of " + file + " " + what + ".");
        }

        private Column column(int at, boolean byMetric) {
            String header = text.header().get(at);
            Optional<Column> known = Column.of(header);
            if (byMetric && (known.isEmpty() || known.get() instanceof Column.Value)) {
                return new Column.Subject(header);
            }
            if (known.isPresent()) {
                if (known.get() instanceof Column.Value value && value.unit().isEmpty() && needsUnit(value.metric())) {
                    return new Column.Value(
                            value.metric(), unitOfCells(at).orElseThrow(() -> withoutUnit(header)), value.side());
                }
                return known.get();
            }
            String unit = unitOfCells(at)
                    .orElseThrow(() -> header.isBlank()
                            ? refusal("has a column without a name; name it")
                            : refusal("has a column '" + header
                                    + "' that is not understood; name a metric with its unit, as 'TTFT p50 (ms)', a"
                                    + " level such as 'concurrency', an arm such as 'baseline', 'order', 'repetition'"
                                    + " or 'note'"));
            return Column.value(header + " (" + unit + ")").orElseThrow(() -> withoutUnit(header));
        }

        private LoadTestException withoutUnit(String header) {
            return refusal("has '" + header + "' without a unit; write it behind the name, as '" + header
                    + " (ms)' or '" + header + " (tok/s)'");
        }

        private static boolean needsUnit(Metric metric) {
            return !metric.equals(Metric.ERRORS) && !metric.equals(Metric.CACHED_SHARE);
        }

        /** The unit behind every number of a column, where each has one. */
        private Optional<String> unitOfCells(int at) {
            Set<String> units = new TreeSet<>();
            for (List<String> row : text.rows()) {
                String cell = Figure.plain(row.get(at));
                if (!isAbsent(cell)) {
                    String last = cell.contains("->") ? cell.substring(cell.indexOf("->") + 2) : cell;
                    units.add(Figure.of(BRACKETS.matcher(last.strip()).replaceFirst("$1"))
                            .map(Figure::unit)
                            .orElse(""));
                }
            }
            return units.size() == 1
                    ? units.stream().filter(unit -> !unit.isEmpty()).findFirst()
                    : Optional.empty();
        }

        private static boolean isAbsent(String cell) {
            return ABSENT.contains(cell.toLowerCase(Locale.ROOT));
        }

        private void row(List<String> cells, int line) {
            Map<String, String> where = new LinkedHashMap<>(settings);
            Optional<Side> side = Optional.empty();
            Optional<String> order = Optional.empty();
            Optional<String> repetition = Optional.empty();
            Optional<Column.Value> byMetric = Optional.empty();
            Optional<String> status = Optional.empty();
            for (int i = 0; i < columns.size(); i++) {
                String cell = Figure.plain(cells.get(i));
                if (isAbsent(cell) || isSubject(i)) {
                    continue;
                }
                switch (columns.get(i)) {
                    case Column.Level level -> where.put(level.name(), cell);
                    case Column.Label label -> where.put(label.name(), cell);
                    case Column.Arm any -> side = Optional.of(side(cell, i));
                    case Column.Order any -> order = Optional.of(cell);
                    case Column.Repetition any -> repetition = Optional.of(cell);
                    case Column.Status any -> status = Optional.of(cell);
                    case Column.MetricName any ->
                        byMetric = isSetting(cell) ? Optional.empty() : Optional.of(metric(cell));
                    case Column.Value any -> {}
                    case Column.Subject any -> {}
                    case Column.Stated any -> {}
                    case Column.Note any -> {}
                }
            }
            status.ifPresent(told -> statuses.add(new LegStatus(copy(where), told)));
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
                } else if (byMetric.isPresent() && isSubject(i)) {
                    Map<String, String> subject = new LinkedHashMap<>(where);
                    subject.putAll(subjects.getOrDefault(i, Map.of()));
                    Optional<Side> arm = Column.side(text.header().get(i));
                    if (arm.isEmpty()) {
                        subject.put(Column.MODEL, text.header().get(i));
                    }
                    numbers(cell, i, line, byMetric.get(), subject, arm.isPresent() ? arm : side, order, repetition);
                }
            }
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

        /** Whether a column is a model or an arm whose metrics are in the rows. */
        private boolean isSubject(int at) {
            return columns.get(at) instanceof Column.Subject;
        }

        private Column.Value metric(String cell) {
            Column.Value value = Column.value(cell)
                    .orElseThrow(() -> refusal("has a metric '" + cell + "' that is not understood; name it with its"
                            + " unit, as 'TTFT p50 (ms)'"));
            if (value.unit().isEmpty() && needsUnit(value.metric())) {
                throw withoutUnit(cell);
            }
            return value;
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
                    .orElseThrow(() -> refusal(
                            "has '" + cell.strip() + "' for " + text.header().get(at) + " in the row"
                                    + " '" + text.rows().get(line - text.line()).getFirst()
                                    + "', which is no number; write one, or leave the cell empty"));
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
