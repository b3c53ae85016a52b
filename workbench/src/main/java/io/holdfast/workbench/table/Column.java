package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Metric.Better;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * How a column is recognised
 * --------------------------
 * By its name alone, in three steps, none of which guesses.
 *
 * 1. A text in brackets at its end, or behind its last comma, is its unit if it is one of Figure.Unit.
 * 2. A word for an arm at its beginning or end (baseline, BL, pinned, PIN) names the arm of these numbers; two of them
 *    with an arrow between mean that each cell has both. Such words count only beside the name of a number.
 * 3. The rest is a number's name, or is looked up in the list below. Whatever has a unit is a number: of a time less
 *    is better, of a rate more, of anything else neither.
 */

/** Content of a column of a published table, by its name. */
sealed interface Column {
    /** One of the two sides that are compared. */
    enum Side {
        BASELINE,
        TREATMENT
    }

    /** A number, of one arm or of none that the name tells. */
    record Value(Metric metric, String unit, Optional<Side> side) implements Column {}

    /** Name of the rows' numbers, one metric a row; the other columns are then models, arms or the like. */
    record MetricName() implements Column {}

    /** A model or an arm that has its metrics in the rows. */
    record Subject(String name) implements Column {}

    /** Amount of something, along which rows can be ordered. */
    record Level(String name) implements Column {}

    /** Subject of a row. */
    record Label(String name) implements Column {}

    /** Arm of a row. */
    record Arm() implements Column {}

    /** Place of a row among two legs, in time. */
    record Order() implements Column {}

    /** Number of a row among several repetitions. */
    record Repetition() implements Column {}

    /** A change that was printed beside the numbers that it was made from. */
    record Stated() implements Column {}

    /** Outcome of a leg. */
    record Status() implements Column {}

    /** Text for people. */
    record Note() implements Column {}

    String MEMORY = "memory fraction";

    String CAPACITY = "capacity";
    String CONCURRENCY = "concurrency";
    String RATE = "rate";
    String REQUESTS = "requests";
    String SHARED_TOKENS = "shared tokens";
    String UNIQUE_TOKENS = "unique tokens";
    String OUTPUT_TOKENS = "output tokens";
    String WORKLOAD = "workload";
    String WORKLOAD_ID = "workload id";
    String MODEL = "model";
    String LEG = "leg";
    String BATCH = "batch";
    String LENGTH = "length";
    String TP = "tp";
    String BLOCKS = "blocks";
    String PLANNED = "planned";
    String CAP = "cool-down cap";
    String ARRIVAL = "arrival";

    /** A name, and the columns that are meant by it. */
    record Known(Column column, Pattern names) {
        static Known of(Column column, String names) {
            return new Known(column, Pattern.compile(names));
        }
    }

    List<Known> KNOWN = List.of(
            Known.of(new MetricName(), "metric|measure|measurement"),
            Known.of(new Level(CONCURRENCY), "concurrency|conc|users|clients|in flight"),
            Known.of(new Level(MEMORY), "mem|memory|mem(ory)? ?frac(tion)?( static)?"),
            Known.of(new Level(CAPACITY), "(kv )?(cache )?capacity|kv slots|max total (num )?tokens"),
            Known.of(new Level("pressure"), "(memory )?pressure"),
            Known.of(new Level(RATE), "(request |arrival )?rate|offered rate"),
            Known.of(new Level(BATCH), "(max )?batch( size)?"),
            Known.of(
                    new Level(LENGTH),
                    "seq|seq(uence)? len(gth)?|sequence|context( length)?|(prompt|input|prefix)"
                            + " (len(gths?)?|tokens)|kv( len(gth)?)?|length"),
            Known.of(new Level(TP), "tp( size)?|tensor parallel(ism)?|gpus"),
            Known.of(new Level(BLOCKS), "(num )?(gpu )?blocks"),
            Known.of(new Level(REQUESTS), "(num )?requests|n"),
            Known.of(new Level(SHARED_TOKENS), "shared (tokens|prefix)"),
            Known.of(new Level(UNIQUE_TOKENS), "unique tokens|unshared tokens"),
            Known.of(new Level(OUTPUT_TOKENS), "(max )?output tokens|max tokens|output len(gth)?"),
            Known.of(new Level(PLANNED), "planned( legs)?"),
            Known.of(new Level(CAP), "cool ?down cap"),
            Known.of(new Label(MODEL), "model"),
            Known.of(new Label(WORKLOAD), "workload|benchmark|dataset|scenario"),
            Known.of(new Label(WORKLOAD_ID), "workload id|id|sha ?256"),
            Known.of(new Label(LEG), "leg|measurement id"),
            Known.of(new Label(ARRIVAL), "arrivals?( pattern| process)?"),
            Known.of(
                    new Label("variant"),
                    "variant|backend|config(uration)?|server|kernel|name|mode|phase|hardware|gpu|topology|user"),
            Known.of(new Arm(), "arm|treatment arm|condition"),
            Known.of(new Order(), "order|position|ran|leg order"),
            Known.of(new Repetition(), "rep|reps?|repetition|run|pass|trial|seed|pair|life"),
            Known.of(
                    new Stated(),
                    "(change|delta|δ|diff(erence)?|gain|improvement|speed ?up|reduction|effect)( .*)?|(.*"
                            + " )?(change|delta|δ|speed ?up)"),
            Known.of(new Status(), "status|outcome|result"),
            Known.of(new Note(), "notes?|comments?|remarks?|better|why|evidence|measures|purpose|description"));

    Pattern UNIT_AT_END = Pattern.compile("(.*?)(?:\\s*[(\\[]\\s*([^()\\[\\]]*?)\\s*[)\\]]|,\\s*([^,()\\[\\]]+?))\\s*");
    Pattern PAIR = Pattern.compile("(.*?)\\(?\\b([\\w ]+?)\\s*->\\s*([\\w ]+?)\\)?\\s*");
    String BASELINE = "baseline|bl|base|before|control|without|off|unpinned|run a";
    String TREATMENT = "pinned|pin|treatment|treated|after|candidate|with|on|held|run b";
    Set<String> TIMED = Set.of("ttft", "itl", "tpot", "e2e");
    Pattern STATISTIC = Pattern.compile("\\b(p ?\\d{1,2}(?:\\.\\d+)?|median|mean|avg|average|std|sd|stdev|min|max)\\b");

    /** Returns the content of the column of this name; absent where that is not known. */
    static Optional<Column> of(String header) {
        String name = Figure.plain(header);
        Optional<Value> value = value(name);
        if (value.isPresent() && !value.get().unit().isEmpty()) {
            return level(withoutUnit(name)).or(() -> value.map(Column.class::cast));
        }
        return known(words(name)).or(() -> level(withoutUnit(name))).or(() -> value.map(Column.class::cast));
    }

    /** The number that a name stands for, as {@code TTFT p50 (ms)}; absent where it stands for none. */
    static Optional<Value> value(String header) {
        String name = Figure.plain(header);
        Matcher pair = PAIR.matcher(name.replaceAll("\\([^)]*\\)$", ""));
        if (pair.matches()
                && words(pair.group(2)).matches("(.*\\b)?(" + BASELINE + ")")
                && words(pair.group(3)).matches(TREATMENT)) {
            String before = pair.group(1).strip();
            String unit = unit(name).isEmpty() ? unit(before) : unit(name);
            String named = withoutUnit(before) + " " + words(pair.group(2)).replaceFirst("\\b(" + BASELINE + ")$", "");
            return metric(named, unit).map(metric -> new Value(metric, unit, Optional.empty()));
        }
        String unit = unit(name);
        String rest = withoutUnit(name);
        String words = words(rest);
        for (Side side : Side.values()) {
            String arm = side == Side.BASELINE ? BASELINE : TREATMENT;
            Matcher armed = Pattern.compile("(?:" + arm + ")\\b(.*)|(.*)\\b(?:" + arm + ")")
                    .matcher(words);
            if (armed.matches()) {
                String left = Optional.ofNullable(armed.group(1)).orElseGet(() -> armed.group(2));
                Optional<Metric> metric = metric(left, unit);
                if (metric.isPresent()) {
                    return metric.map(of -> new Value(of, unit, Optional.of(side)));
                }
            }
        }
        return metric(rest, unit).map(metric -> new Value(metric, unit, Optional.empty()));
    }

    /** The number that a line above a table says its cells are, as {@code Throughput in tok/s:}. */
    static Optional<Value> caption(String paragraph) {
        String line = Figure.plain(paragraph).replaceAll("[:.]+$", "");
        String last = line.substring(line.lastIndexOf(". ") + 1).strip();
        return value(last.replaceFirst("\\s+in\\s+(\\S+)$", " ($1)")
                        .replaceFirst("(?i)\\s+(comparison|results?)\\b", ""))
                .filter(value -> !value.unit().isEmpty()
                        && Metric.named(value.metric().name()).isPresent());
    }

    /** Returns true if it names how times were reduced, and not of which quantity they are. */
    static boolean isBareStatistic(Value value) {
        return value.metric().name().startsWith("time_");
    }

    /** The quantity of single requests that a column reduces; absent where it has another number. */
    static Optional<String> quantity(Value value) {
        return Optional.of(value.metric().name().replaceFirst("_.*", "")).filter(TIMED::contains);
    }

    /** Returns the metric of a bare statistic beside a column of some quantity. */
    static Metric likeSibling(Value bare, Value sibling) {
        String name = quantity(sibling).orElseThrow() + bare.metric().name().substring("time".length());
        return Metric.named(name).orElseGet(() -> time(name));
    }

    /** Whose numbers a column has that is named by an arm alone. */
    static Optional<Side> side(String header) {
        String words = words(withoutUnit(Figure.plain(header)));
        if (words.matches(BASELINE)) {
            return Optional.of(Side.BASELINE);
        }
        return words.matches(TREATMENT) ? Optional.of(Side.TREATMENT) : Optional.empty();
    }

    static String unit(String header) {
        Matcher matcher = UNIT_AT_END.matcher(header);
        if (!matcher.matches()) {
            return Figure.Unit.of(header).isPresent() ? header : "";
        }
        String unit = Optional.ofNullable(matcher.group(2)).orElseGet(() -> matcher.group(3));
        return Figure.Unit.of(unit).isPresent() ? unit : "";
    }

    private static String withoutUnit(String header) {
        Matcher matcher = UNIT_AT_END.matcher(header);
        return matcher.matches() && !unit(header).isEmpty() ? matcher.group(1) : header;
    }

    /** Returns a name in small letters, with one blank between words. */
    static String words(String name) {
        return name.toLowerCase(Locale.ROOT)
                .replaceAll("[_\\-/:]+", " ")
                .replaceAll("[()\\[\\],]", " ")
                .replaceAll("\\s+", " ")
                .strip();
    }

    private static Optional<Column> known(String words) {
        return KNOWN.stream()
                .filter(known -> known.names().matcher(words).matches())
                .map(Known::column)
                .findFirst();
    }

    /** A level may have a unit as well, as tokens or requests a second. */
    private static Optional<Column> level(String name) {
        return known(words(name)).filter(column -> column instanceof Level || column instanceof Stated);
    }

    private static Optional<Metric> metric(String name, String unit) {
        String words = words(name).replaceAll("(^| )(tok|req) s$", "").strip();
        if (words.matches("errors?|failures?|failed( requests)?")) {
            return Optional.of(Metric.ERRORS);
        }
        Optional<Figure.Unit> of = Figure.Unit.of(unit.isEmpty() && words.endsWith(" tps") ? "tok/s" : unit);
        if (words.matches("(cache )?hit( rate)?|cached share|hits")) {
            return Optional.of(Metric.CACHED_SHARE);
        }
        if (words.matches("cached tokens?( total)?")) {
            return Optional.of(new Metric("cached_tokens", Metric.Unit.TOKENS, Better.HIGHER));
        }
        Matcher statistic = STATISTIC.matcher(words);
        boolean reduced = statistic.find();
        String reduction = reduced ? reduction(statistic.group(1)) : "";
        String quantity = reduced ? words(words.replaceFirst(Pattern.quote(statistic.group(1)), " ")) : words;
        Optional<String> timed = timed(quantity);
        if (timed.isPresent()) {
            String metric = timed.get() + (reduced ? "_" + reduction : "");
            return Optional.of(Metric.named(metric).orElseGet(() -> time(metric)));
        }
        boolean tokenRate =
                of.map(each -> each.kind() == Figure.Unit.Kind.TOKEN_RATE).orElse(true);
        boolean noName = quantity.isEmpty() && !reduced && of.isPresent();
        boolean throughput = quantity.matches("(output |token |total )?throughput|output tokens per second|tps");
        if ((throughput || noName) && tokenRate) {
            return Optional.of(Metric.OUTPUT_THROUGHPUT);
        }
        boolean requestRate =
                of.map(each -> each.kind() == Figure.Unit.Kind.REQUEST_RATE).orElse(false);
        if (quantity.matches("request throughput|throughput|rps") || (noName && requestRate)) {
            return Optional.of(Metric.REQUEST_THROUGHPUT);
        }
        if (quantity.isEmpty() && reduced) {
            return of.filter(each -> each.kind() == Figure.Unit.Kind.TIME).map(each -> time("time_" + reduction));
        }
        return of.filter(each -> !words.isEmpty()).map(each -> named(words.replace(' ', '_'), each.kind()));
    }

    /** The quantity of single requests that is meant. */
    private static Optional<String> timed(String words) {
        if (words.matches("ttft|time to first token")) {
            return Optional.of("ttft");
        } else if (words.matches("itl|inter token( latency)?")) {
            return Optional.of("itl");
        } else if (words.matches("tpot|time per output token")) {
            return Optional.of("tpot");
        } else if (words.matches("(e2e|end to end)( latency)?|(request )?latency")) {
            return Optional.of("e2e");
        }
        return Optional.empty();
    }

    private static Metric named(String name, Figure.Unit.Kind kind) {
        return switch (kind) {
            case TIME -> time(name);
            case TOKEN_RATE -> new Metric(name, Metric.Unit.TOKENS_PER_SECOND, Better.HIGHER);
            case REQUEST_RATE -> new Metric(name, Metric.Unit.REQUESTS_PER_SECOND, Better.HIGHER);
            case TOKENS -> new Metric(name, Metric.Unit.TOKENS, Better.NEITHER);
            case SHARE -> new Metric(name, Metric.Unit.SHARE, Better.NEITHER);
            case OTHER -> new Metric(name, Metric.Unit.COUNT, Better.NEITHER);
        };
    }

    private static Metric time(String name) {
        return new Metric(name, Metric.Unit.MILLIS, Better.LOWER);
    }

    private static String reduction(String word) {
        return switch (word.replace(" ", "")) {
            case "median" -> "p50";
            case "avg", "average", "mean" -> "mean";
            case "sd", "stdev", "std" -> "std";
            default -> word.replace(" ", "");
        };
    }
}
