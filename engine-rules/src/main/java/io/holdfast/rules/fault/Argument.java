package io.holdfast.rules.fault;

import java.math.BigDecimal;
import java.util.Optional;
import java.util.regex.Pattern;

/** One value that belongs to a fault; its name says the unit. */
public sealed interface Argument {
    String name();

    /** Absent where it must be given. */
    Optional<String> defaultValue();

    /** Values that it may have, in words that follow "as". */
    String bounds();

    boolean accepts(String text);

    static Quantity whole(String name, long least, long most) {
        return new Quantity(name, true, least, most, Optional.empty());
    }

    static Quantity number(String name, double least, double most) {
        return new Quantity(name, false, least, most, Optional.empty());
    }

    static Quantity percent() {
        return number("PERCENT", 0, 100);
    }

    /** A number within bounds, both included. */
    record Quantity(String name, boolean whole, double least, double most, Optional<String> defaultValue)
            implements Argument {
        private static final Pattern WHOLE = Pattern.compile("-?\\d{1,15}");
        private static final Pattern DECIMAL = Pattern.compile("-?\\d{1,15}(\\.\\d{1,9})?");

        public Quantity or(String value) {
            return new Quantity(name, whole, least, most, Optional.of(value));
        }

        @Override
        public String bounds() {
            return (whole ? "a whole number from " : "a number from ") + plain(least) + " to " + plain(most);
        }

        @Override
        public boolean accepts(String text) {
            return (whole ? WHOLE : DECIMAL).matcher(text).matches() && accepts(Double.parseDouble(text));
        }

        boolean accepts(double value) {
            return value >= least && value <= most;
        }
    }

    /** A name. */
    record Word(String name, Optional<String> defaultValue) implements Argument {
        private static final Pattern FORM = Pattern.compile("[\\w./:-]{1,200}");

        @Override
        public String bounds() {
            return "1 to 200 letters, digits and any of . _ / : -";
        }

        @Override
        public boolean accepts(String text) {
            return FORM.matcher(text).matches();
        }
    }

    private static String plain(double value) {
        return BigDecimal.valueOf(value).stripTrailingZeros().toPlainString();
    }
}
