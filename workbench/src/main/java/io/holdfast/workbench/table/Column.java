package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Metric.Better;
import java.util.Arrays;
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

/**
 * Content of a column of a published table, by its name.
 *
 * @param name of a level, a label or a subject; empty for all others
 * @param value what a column of numbers has
 */
record Column(Kind kind, String name, Optional<Value> value) {
    /** Kinds of columns. */
    enum Kind {
        NUMBER,
        /** Name of the rows' numbers, one metric a row; the other columns are then models, arms or the like. */
        METRIC,
        /** A model or an arm that has its metrics in the rows. */
        SUBJECT,
        /** Amount of something, along which rows can be ordered. */
        LEVEL,
        /** Subject of a row. */
        LABEL,
        /** Arm of a row. */
        ARM,
        /** Place of a row among two legs, in time. */
        ORDER,
        /** Number of a row among several repetitions. */
        REPETITION,
        /** A change that was printed beside the numbers that it was made from. */
        STATED,
        /** Outcome of a leg. */
        STATUS,
        /** Text for people. */
        NOTE
    }

    /** One of the two sides that are compared. */
    enum Side {
        BASELINE("baseline|bl|base|before|control|without|off|unpinned|run a"),
        TREATMENT("pinned|pin|treatment|treated|after|candidate|with|on|held|run b");

        private final String words;

        Side(String words) {
            this.words = words;
        }
    }

    /** Numbers of one metric, of one arm or of none that the name tells. */
    record Value(Metric metric, String unit, Optional<Side> side) {
        Value in(String other) {
            return new Value(metric, other, side);
        }

        /** Returns true if it names how times were reduced, and not of which quantity they are. */
        boolean isBareStatistic() {
            return metric.name().startsWith("time_");
        }

        /** Returns the quantity of single requests that it reduces; empty where it is another number. */
        String quantity() {
            String quantity = metric.name().replaceFirst("_.*", "");
            return TIMED.contains(quantity) ? quantity : "";
        }

        /** Returns what a bare statistic is beside columns of some quantity. */
        Value of(String quantity) {
            return new Value(time(quantity + metric.name().substring("time".length())), unit, side);
        }

        boolean needsUnit() {
            return !metric.equals(Metric.ERRORS)
                    && !metric.equals(Metric.CACHED_SHARE)
                    && metric.unit() != Metric.Unit.TOKENS;
        }
    }

    static final String MEMORY = "memory fraction";
    static final String CAPACITY = "capacity";
    static final String CONCURRENCY = "concurrency";
    static final String RATE = "rate";
    static final String REQUESTS = "requests";
    static final String SHARED_TOKENS = "shared tokens";
    static final String UNIQUE_TOKENS = "unique tokens";
    static final String OUTPUT_TOKENS = "output tokens";
    static final String WORKLOAD = "workload";
    static final String WORKLOAD_ID = "workload id";
    static final String MODEL = "model";
    static final String VARIANT = "variant";
    static final String LEG = "leg";
    static final String BATCH = "batch";
    static final String LENGTH = "length";
    static final String TP = "tp";
    static final String BLOCKS = "blocks";
    static final String PLANNED = "planned";
    static final String CAP = "cool-down cap";
    static final String ARRIVAL = "arrival";

    /** A column, and the names that are used for it. */
    private record Known(Column column, Pattern names) {}

    private static final List<Known> KNOWN = List.of(
            known(Kind.METRIC, "", "metric|measure|measurement"),
            known(Kind.LEVEL, CONCURRENCY, "concurrency|conc|users|clients|in flight"),
            known(Kind.LEVEL, MEMORY, "mem|memory|mem(ory)? ?frac(tion)?( static)?"),
            known(Kind.LEVEL, CAPACITY, "(kv )?(cache )?capacity|kv slots|max total (num )?tokens"),
            known(Kind.LEVEL, "pressure", "(memory )?pressure"),
            known(Kind.LEVEL, RATE, "(request |arrival )?rate|offered rate"),
            known(Kind.LEVEL, BATCH, "(max )?batch( size)?"),
            known(
                    Kind.LEVEL,
                    LENGTH,
                    "seq|seq(uence)? len(gth)?|sequence|context( length)?|(prompt|input|prefix)"
                            + " (len(gths?)?|tokens)|kv( len(gth)?)?|length"),
            known(Kind.LEVEL, TP, "tp( size)?|tensor parallel(ism)?|gpus"),
            known(Kind.LEVEL, BLOCKS, "(num )?(gpu )?blocks"),
            known(Kind.LEVEL, REQUESTS, "(num )?requests|n"),
            known(Kind.LEVEL, SHARED_TOKENS, "shared (tokens|prefix)"),
            known(Kind.LEVEL, UNIQUE_TOKENS, "unique tokens|unshared tokens"),
            known(Kind.LEVEL, OUTPUT_TOKENS, "(max )?output tokens|max tokens|output len(gth)?"),
            known(Kind.LEVEL, PLANNED, "planned( legs)?"),
            known(Kind.LEVEL, CAP, "cool ?down cap"),
            known(Kind.LABEL, MODEL, "model"),
            known(Kind.LABEL, WORKLOAD, "workload|benchmark|dataset|scenario"),
            known(Kind.LABEL, WORKLOAD_ID, "workload id|id|sha ?256"),
            known(Kind.LABEL, LEG, "leg|measurement id"),
            known(Kind.LABEL, ARRIVAL, "arrivals?( pattern| process)?"),
            known(
                    Kind.LABEL,
                    VARIANT,
                    "variant|backend|config(uration)?|server|kernel|name|mode|phase|hardware|gpu|topology|user"),
            known(Kind.ARM, "", "arm|treatment arm|condition"),
            known(Kind.ORDER, "", "order|position|ran|leg order"),
            known(Kind.REPETITION, "", "rep|reps?|repetition|run|pass|trial|seed|pair|life"),
            known(
                    Kind.STATED,
                    "",
                    "(change|delta|δ|diff(erence)?|gain|improvement|speed ?up|reduction|effect)( .*)?|(.*"
                            + " )?(change|delta|δ|speed ?up)"),
            known(Kind.STATUS, "", "status|outcome|result"),
            known(Kind.NOTE, "", "notes?|comments?|remarks?|better|why|evidence|measures|purpose|description"));

    private static final Pattern UNIT_AT_END =
            Pattern.compile("(.*?)(?:\\s*[(\\[]\\s*([^()\\[\\]]*?)\\s*[)\\]]|,\\s*([^,()\\[\\]]+?))\\s*");
    private static final Pattern PAIR = Pattern.compile("(.*?)\\(?\\b([\\w ]+?)\\s*->\\s*([\\w ]+?)\\)?\\s*");
    private static final Set<String> TIMED = Set.of("ttft", "itl", "tpot", "e2e");
    private static final Pattern STATISTIC =
            Pattern.compile("\\b(p ?\\d{1,2}(?:\\.\\d+)?|median|mean|avg|average|std|sd|stdev|min|max)\\b");

    private static Known known(Kind kind, String name, String names) {
        return new Known(new Column(kind, name, Optional.empty()), Pattern.compile(names));
    }

    static Column subject(String name) {
        return new Column(Kind.SUBJECT, name, Optional.empty());
    }

    static Column of(Value value) {
        return new Column(Kind.NUMBER, "", Optional.of(value));
    }

    boolean is(Kind other) {
        return kind == other;
    }

    boolean is(Kind other, String named) {
        return kind == other && name.equals(named);
    }

    /** Returns the content of the column of this name; absent where that is not known. */
    static Optional<Column> of(String header) {
        String name = Figure.plain(header);
        Optional<Value> value = value(name);
        Optional<Column> number = value.map(Column::of);
        // A level may have a unit as well, as tokens or requests a second.
        Optional<Column> level =
                known(withoutUnit(name)).filter(column -> column.is(Kind.LEVEL) || column.is(Kind.STATED));
        return value.filter(is -> !is.unit().isEmpty()).isPresent()
                ? level.or(() -> number)
                : known(name).or(() -> level).or(() -> number);
    }

    private static Optional<Column> known(String name) {
        String words = words(name);
        return KNOWN.stream()
                .filter(known -> known.names().matcher(words).matches())
                .map(Known::column)
                .findFirst();
    }

    /** Returns the name of the level that a cell names; absent where it names something else. */
    static Optional<String> level(String cell) {
        return of(cell).filter(column -> column.is(Kind.LEVEL)).map(Column::name);
    }

    /** Returns the number that a name stands for, as {@code TTFT p50 (ms)}; absent where it stands for none. */
    static Optional<Value> value(String header) {
        String name = Figure.plain(header);
        Matcher pair = PAIR.matcher(name.replaceAll("\\([^)]*\\)$", ""));
        if (pair.matches()
                && words(pair.group(2)).matches("(.*\\b)?(" + Side.BASELINE.words + ")")
                && words(pair.group(3)).matches(Side.TREATMENT.words)) {
            String before = pair.group(1).strip();
            String unit = unit(name).isEmpty() ? unit(before) : unit(name);
            String named = withoutUnit(before) + " "
                    + words(pair.group(2)).replaceFirst("\\b(" + Side.BASELINE.words + ")$", "");
            return metric(named, unit).map(metric -> new Value(metric, unit, Optional.empty()));
        }
        String unit = unit(name);
        String rest = withoutUnit(name);
        for (Side side : Side.values()) {
            Matcher armed = Pattern.compile("(?:" + side.words + ")\\b(.*)|(.*)\\b(?:" + side.words + ")")
                    .matcher(words(rest));
            if (armed.matches()) {
                Optional<Metric> metric =
                        metric(Optional.ofNullable(armed.group(1)).orElseGet(() -> armed.group(2)), unit);
                if (metric.isPresent()) {
                    return metric.map(of -> new Value(of, unit, Optional.of(side)));
                }
            }
        }
        return metric(rest, unit).map(metric -> new Value(metric, unit, Optional.empty()));
    }

    /** Returns the number that a line above a table says its cells are, as {@code Throughput in tok/s:}. */
    static Optional<Value> caption(String paragraph) {
        String line = Figure.plain(paragraph).replaceAll("[:.]+$", "");
        String last = line.substring(line.lastIndexOf(". ") + 1).strip();
        return value(last.replaceFirst("\\s+in\\s+(\\S+)$", " ($1)")
                        .replaceFirst("(?i)\\s+(comparison|results?)\\b", ""))
                .filter(value -> !value.unit().isEmpty()
                        && Metric.named(value.metric().name()).isPresent());
    }

    /** Returns the arm that a name alone stands for. */
    static Optional<Side> side(String header) {
        String words = words(withoutUnit(Figure.plain(header)));
        return Arrays.stream(Side.values())
                .filter(side -> words.matches(side.words))
                .findFirst();
    }

    /** Returns true if a cell of a column of orders means the first of two legs. */
    static boolean isFirst(String order) {
        return order.toLowerCase(Locale.ROOT).matches("1|1st|first|a|run a");
    }

    private static String unit(String header) {
        Matcher matcher = UNIT_AT_END.matcher(header);
        String unit =
                matcher.matches() ? Optional.ofNullable(matcher.group(2)).orElseGet(() -> matcher.group(3)) : header;
        return Figure.Unit.of(unit).isPresent() ? unit : "";
    }

    private static String withoutUnit(String header) {
        Matcher matcher = UNIT_AT_END.matcher(header);
        return matcher.matches() && !unit(header).isEmpty() ? matcher.group(1) : header;
    }

    /** Returns a name in small letters, with one blank between words. */
    static String words(String name) {
        return name.toLowerCase(Locale.ROOT)
                .replaceAll("[_\\-/:()\\[\\],]", " ")
                .replaceAll("\\s+", " ")
                .strip();
    }

    private static Optional<Metric> metric(String name, String unit) {
        String words = words(name).replaceAll("(^| )(tok|req) s$", "").strip();
        if (words.matches("errors?|failures?|failed( requests)?")) {
            return Optional.of(Metric.ERRORS);
        } else if (words.matches("(cache )?hit( rate)?|cached share|hits")) {
            return Optional.of(Metric.CACHED_SHARE);
        } else if (words.matches("cached tokens?( total)?")) {
            return Optional.of(new Metric("cached_tokens", Metric.Unit.TOKENS, Better.HIGHER));
        }
        Optional<Metric.Unit> of = Figure.Unit.of(unit.isEmpty() && words.endsWith(" tps") ? "tok/s" : unit)
                .map(Figure.Unit::of);
        Matcher statistic = STATISTIC.matcher(words);
        boolean reduced = statistic.find();
        String reduction = reduced ? "_" + reduction(statistic.group(1).replace(" ", "")) : "";
        String quantity = reduced ? words(words.replaceFirst(Pattern.quote(statistic.group(1)), " ")) : words;
        String timed = timed(quantity);
        boolean noName = quantity.isEmpty() && !reduced;
        if (!timed.isEmpty()) {
            return Optional.of(time(timed + reduction));
        } else if (of.filter(is -> is != Metric.Unit.TOKENS_PER_SECOND).isEmpty()
                && (quantity.matches("(output |token |total )?throughput|output tokens per second|tps")
                        || (noName && of.isPresent()))) {
            return Optional.of(Metric.OUTPUT_THROUGHPUT);
        } else if (quantity.matches("request throughput|throughput|rps")
                || (noName && of.equals(Optional.of(Metric.Unit.REQUESTS_PER_SECOND)))) {
            return Optional.of(Metric.REQUEST_THROUGHPUT);
        } else if (quantity.isEmpty() && reduced) {
            return of.filter(is -> is == Metric.Unit.MILLIS).map(any -> time("time" + reduction));
        }
        return of.filter(any -> !words.isEmpty()).map(is -> new Metric(words.replace(' ', '_'), is, better(is)));
    }

    /** Returns the quantity of single requests that is meant; empty where it is none. */
    private static String timed(String words) {
        if (words.matches("ttft|time to first token")) {
            return "ttft";
        } else if (words.matches("itl|inter token( latency)?")) {
            return "itl";
        } else if (words.matches("tpot|time per output token")) {
            return "tpot";
        }
        return words.matches("(e2e|end to end)( latency)?|(request )?latency") ? "e2e" : "";
    }

    private static Better better(Metric.Unit unit) {
        return switch (unit) {
            case MILLIS, SECONDS -> Better.LOWER;
            case TOKENS_PER_SECOND, REQUESTS_PER_SECOND -> Better.HIGHER;
            case TOKENS, SHARE, COUNT -> Better.NEITHER;
        };
    }

    private static Metric time(String name) {
        return Metric.named(name).orElseGet(() -> new Metric(name, Metric.Unit.MILLIS, Better.LOWER));
    }

    private static String reduction(String word) {
        return switch (word) {
            case "median" -> "p50";
            case "avg", "average", "mean" -> "mean";
            case "sd", "stdev", "std" -> "std";
            default -> word;
        };
    }
}
