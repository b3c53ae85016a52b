package io.holdfast.emulator.api;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/*
 * What a field of a body may be, after Pydantic, which both engines read their bodies with: lenient where it is ("3", 3.0 and
 * true are whole numbers, "yes" is true), and complaining in its words where it is not.
 *
 * Alternatives
 * ------------
 * A value that is exactly of one of the alternatives is of that one; otherwise the first one that can be made of it counts,
 * and when there is none, each one's complaints are told, with its label as one more step of the place.
 */
interface Rule {
    /** The value as it will be used; or nothing, and at least one complaint. */
    Optional<Json> read(Json value, List<Object> place, List<Complaint> complaints);

    /**
     * The body as it will be used.
     *
     * @throws Complaint.Invalid with all that is wrong with it
     */
    default Values require(Json body) {
        List<Complaint> complaints = new ArrayList<>();
        Optional<Json> read = read(body, List.of("body"), complaints);
        if (read.isPresent() && read.get() instanceof Json.Obj object) {
            return new Values(object);
        }
        throw new Complaint.Invalid(complaints);
    }

    /** The name by which alternatives are told apart. */
    default String label() {
        return "";
    }

    /** The same under another name. */
    default Rule named(String label) {
        return new Labelled(label, this);
    }

    /** The same or null. */
    default Rule orNull() {
        Rule rule = this;
        return new Labelled(
                label(),
                (value, place, complaints) ->
                        value == Json.Null.NULL ? Optional.of(value) : rule.read(value, place, complaints));
    }

    /** The same, if what it gives passes one more look; {@code problem} says what is wrong, empty for nothing. */
    default Rule and(Function<Json, Optional<String>> problem) {
        Rule rule = this;
        return new Labelled(
                label(),
                (value, place, complaints) -> rule.read(value, place, complaints)
                        .filter(read -> problem.apply(read)
                                .map(message -> complaints.add(Complaint.value(place, message, value)))
                                .isEmpty()));
    }

    record Labelled(String label, Rule rule) implements Rule {
        @Override
        public Optional<Json> read(Json value, List<Object> place, List<Complaint> complaints) {
            return rule.read(value, place, complaints);
        }
    }

    static Rule any() {
        return (value, place, complaints) -> Optional.of(value);
    }

    static Rule text() {
        return new Labelled("str", (value, place, complaints) -> {
            if (value instanceof Json.Str) {
                return Optional.of(value);
            }
            return refuse(complaints, "string_type", place, "Input should be a valid string", value);
        });
    }

    /** One of some texts. */
    static Rule literal(String... texts) {
        List<String> quoted = Arrays.stream(texts).map(Python::repr).toList();
        String expected = quoted.size() == 1
                ? quoted.getFirst()
                : String.join(", ", quoted.subList(0, quoted.size() - 1)) + " or " + quoted.getLast();
        return (value, place, complaints) -> {
            if (value instanceof Json.Str(String text) && List.of(texts).contains(text)) {
                return Optional.of(value);
            }
            complaints.add(new Complaint(
                    "literal_error",
                    place,
                    "Input should be " + expected,
                    value,
                    Optional.of("{'expected': " + Python.repr(expected) + "}")));
            return Optional.empty();
        };
    }

    static Rule integer() {
        return new Labelled("int", Rule::readInteger);
    }

    private static Optional<Json> readInteger(Json value, List<Object> place, List<Complaint> complaints) {
        return switch (value) {
            case Json.Int _, Json.Big _ -> Optional.of(value);
            case Json.Bool bool -> Optional.of(new Json.Int(bool.value() ? 1 : 0));
            case Json.Real(double real)
            when Double.isNaN(real) || Double.isInfinite(real) ->
                refuse(complaints, "finite_number", place, "Input should be a finite number", value);
            case Json.Real(double real)
            when real != Math.rint(real) ->
                refuse(
                        complaints,
                        "int_from_float",
                        place,
                        "Input should be a valid integer, got a number with a fractional part",
                        value);
            case Json.Real(double real)
            when Math.abs(real) >= 0x1p63 ->
                refuse(
                        complaints,
                        "int_parsing_size",
                        place,
                        "Unable to parse input string as an integer, exceeded maximum size",
                        value);
            case Json.Real(double real) -> Optional.of(new Json.Int((long) real));
            case Json.Str(String text)
            when text.strip().matches("[+-]?\\d+(\\.0*)?") -> Optional.of(whole(text.strip()));
            case Json.Str _ ->
                refuse(
                        complaints,
                        "int_parsing",
                        place,
                        "Input should be a valid integer, unable to parse string as an integer",
                        value);
            case Json.Null _, Json.Arr _, Json.Obj _, Json.Bytes _ ->
                refuse(complaints, "int_type", place, "Input should be a valid integer", value);
        };
    }

    private static Json whole(String text) {
        int point = text.indexOf('.');
        BigInteger value = new BigInteger(point < 0 ? text : text.substring(0, point));
        return value.bitLength() < Long.SIZE ? new Json.Int(value.longValue()) : new Json.Big(value);
    }

    /** A whole number that is not negative. */
    static Rule natural() {
        return new Labelled(
                "int",
                (value, place, complaints) -> readInteger(value, place, complaints)
                        .filter(read -> {
                            boolean negative = (read instanceof Json.Int(long whole) && whole < 0)
                                    || (read instanceof Json.Big big
                                            && big.value().signum() < 0);
                            if (negative) {
                                complaints.add(new Complaint(
                                        "greater_than_equal",
                                        place,
                                        "Input should be greater than or equal to 0",
                                        value,
                                        Optional.of("{'ge': 0}")));
                            }
                            return !negative;
                        }));
    }

    /** A whole number of 64 bits with its sign. */
    static Rule seed() {
        return new Labelled(
                "int",
                (value, place, complaints) -> readInteger(value, place, complaints)
                        .filter(read -> {
                            if (read instanceof Json.Big big) {
                                boolean high = big.value().signum() > 0;
                                long limit = high ? Long.MAX_VALUE : Long.MIN_VALUE;
                                complaints.add(new Complaint(
                                        high ? "less_than_equal" : "greater_than_equal",
                                        place,
                                        "Input should be " + (high ? "less" : "greater") + " than or equal to " + limit,
                                        value,
                                        Optional.of("{'" + (high ? "le" : "ge") + "': " + limit + "}")));
                            }
                            return read instanceof Json.Int;
                        }));
    }

    /** At most so many. */
    default Rule atMost(int most) {
        Rule rule = this;
        return new Labelled(
                label(),
                (value, place, complaints) -> rule.read(value, place, complaints)
                        .filter(read -> {
                            boolean fits = !(read instanceof Json.Arr(List<Json> items)) || items.size() <= most;
                            if (!fits && value instanceof Json.Arr(List<Json> given)) {
                                complaints.add(new Complaint(
                                        "too_long",
                                        place,
                                        "List should have at most " + most + " items after validation, not "
                                                + given.size(),
                                        value,
                                        Optional.of("{'field_type': 'List', 'max_length': " + most
                                                + ", 'actual_length': " + given.size() + "}")));
                            }
                            return fits;
                        }));
    }

    static Rule number() {
        return new Labelled("float", Rule::readNumber);
    }

    private static Optional<Json> readNumber(Json value, List<Object> place, List<Complaint> complaints) {
        return switch (value) {
            case Json.Real _ -> Optional.of(value);
            case Json.Int(long whole) -> Optional.of(new Json.Real(whole));
            case Json.Big(BigInteger whole) -> Optional.of(new Json.Real(whole.doubleValue()));
            case Json.Bool bool -> Optional.of(new Json.Real(bool.value() ? 1 : 0));
            case Json.Str(String text) -> {
                Optional<Json> parsed = parse(text.strip());
                yield parsed.isPresent()
                        ? parsed
                        : refuse(
                                complaints,
                                "float_parsing",
                                place,
                                "Input should be a valid number, unable to parse string as a number",
                                value);
            }
            case Json.Null _, Json.Arr _, Json.Obj _, Json.Bytes _ ->
                refuse(complaints, "float_type", place, "Input should be a valid number", value);
        };
    }

    private static Optional<Json> parse(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "nan", "+nan", "-nan" -> Optional.of(new Json.Real(Double.NaN));
            case "inf", "+inf", "infinity", "+infinity" -> Optional.of(new Json.Real(Double.POSITIVE_INFINITY));
            case "-inf", "-infinity" -> Optional.of(new Json.Real(Double.NEGATIVE_INFINITY));
            default ->
                text.matches("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?")
                        ? Optional.of(new Json.Real(Double.parseDouble(text)))
                        : Optional.empty();
        };
    }

    static Rule bool() {
        return new Labelled("bool", Rule::readBool);
    }

    private static Optional<Json> readBool(Json value, List<Object> place, List<Complaint> complaints) {
        Optional<Boolean> read = switch (value) {
            case Json.Bool bool -> Optional.of(bool.value());
            case Json.Int(long whole) when whole == 0 || whole == 1 -> Optional.of(whole == 1);
            case Json.Real(double real) when real == 0 || real == 1 -> Optional.of(real == 1);
            case Json.Str(String text) ->
                switch (text.toLowerCase(Locale.ROOT)) {
                    case "true", "t", "yes", "y", "on", "1" -> Optional.of(true);
                    case "false", "f", "no", "n", "off", "0" -> Optional.of(false);
                    default -> Optional.empty();
                };
            case Json.Int _, Json.Big _, Json.Real _, Json.Null _, Json.Arr _, Json.Obj _, Json.Bytes _ ->
                Optional.empty();
        };
        if (read.isPresent()) {
            return read.map(Json.Bool::of);
        }
        boolean scalar = value instanceof Json.Str
                || value instanceof Json.Int
                || (value instanceof Json.Real(double real) && real == Math.rint(real));
        return scalar
                ? refuse(
                        complaints,
                        "bool_parsing",
                        place,
                        "Input should be a valid boolean, unable to interpret input",
                        value)
                : refuse(complaints, "bool_type", place, "Input should be a valid boolean", value);
    }

    static Rule list(Rule item) {
        return new Labelled("list[" + item.label() + "]", (value, place, complaints) -> {
            if (!(value instanceof Json.Arr(List<Json> items))) {
                return refuse(complaints, "list_type", place, "Input should be a valid list", value);
            }
            if (items instanceof Json.Ints numbers && item.label().equals("int") && !numbers.hasNegative()) {
                return Optional.of(value);
            }
            List<Json> read = new ArrayList<>(items.size());
            int before = complaints.size();
            for (int i = 0; i < items.size(); i++) {
                item.read(items.get(i), Complaint.below(place, i), complaints).ifPresent(read::add);
            }
            return complaints.size() == before ? Optional.of(new Json.Arr(read)) : Optional.empty();
        });
    }

    static Rule dictionary() {
        return new Labelled("dict", (value, place, complaints) -> {
            if (value instanceof Json.Obj) {
                return Optional.of(value);
            }
            return refuse(complaints, "dict_type", place, "Input should be a valid dictionary", value);
        });
    }

    static Rule oneOf(Rule... rules) {
        String label = Arrays.stream(rules).map(Rule::label).collect(Collectors.joining(",", "union[", "]"));
        return new Labelled(label, (value, place, complaints) -> {
            List<Complaint> all = new ArrayList<>();
            Optional<Json> lenient = Optional.empty();
            for (Rule rule : rules) {
                List<Complaint> own = new ArrayList<>();
                Optional<Json> read = rule.read(value, Complaint.below(place, rule.label()), own);
                if (read.isPresent() && own.isEmpty()) {
                    if (read.get().equals(value)) {
                        return read;
                    }
                    lenient = lenient.isPresent() ? lenient : read;
                }
                all.addAll(own);
            }
            if (lenient.isEmpty()) {
                complaints.addAll(all);
            }
            return lenient;
        });
    }

    private static Optional<Json> refuse(
            List<Complaint> complaints, String type, List<Object> place, String message, Json value) {
        complaints.add(Complaint.of(type, place, message, value));
        return Optional.empty();
    }
}
