package io.holdfast.rules.fault;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** One kind of fault as people name it, with its arguments, what it does and which incident it imitates. */
public final class FaultKind {
    private final String name;
    private final List<Argument> arguments;
    private final String effect;
    private final String incident;
    private final Function<Values, Fault> maker;

    FaultKind(String name, List<Argument> arguments, String effect, String incident, Function<Values, Fault> maker) {
        this.name = name;
        this.arguments = List.copyOf(arguments);
        this.effect = effect;
        this.incident = incident;
        this.maker = maker;
    }

    public String name() {
        return name;
    }

    /** In the order in which they are given; those with a default come last. */
    public List<Argument> arguments() {
        return arguments;
    }

    /** Effect of the fault, in one sentence. */
    public String effect() {
        return effect;
    }

    /** Real incident that it imitates, or what it stands for where none is recorded, in one sentence. */
    public String incident() {
        return incident;
    }

    /** Form in which it is written, as {@code http-error[=PERCENT[,STATUS]]}. */
    public String form() {
        StringBuilder form = new StringBuilder(name);
        int open = 0;
        for (int i = 0; i < arguments.size(); i++) {
            Argument argument = arguments.get(i);
            if (argument.defaultValue().isPresent()) {
                form.append('[');
                open++;
            }
            form.append(i == 0 ? "=" : ",").append(argument.name());
        }
        return form.append("]".repeat(open)).toString();
    }

    @Override
    public String toString() {
        return form();
    }

    /** The fault with the given values, and the defaults for those that are missing. */
    Fault make(List<String> given) {
        if (given.size() > arguments.size()) {
            throw refused("takes " + count() + ", not \"" + String.join(",", given) + "\"");
        }
        List<String> values = new ArrayList<>();
        for (int i = 0; i < arguments.size(); i++) {
            Argument argument = arguments.get(i);
            String value = i < given.size()
                    ? given.get(i).strip()
                    : argument.defaultValue().orElseThrow(() -> refused(wanted(argument) + ", which is missing"));
            if (!argument.accepts(value)) {
                throw refused(wanted(argument) + ", not \"" + value + "\"");
            }
            values.add(value);
        }
        return maker.apply(new Values(values));
    }

    /** Refuses quantities out of bounds, in the arguments' order, for those who make a fault without its text. */
    void check(double... values) {
        for (int i = 0; i < values.length; i++) {
            if (arguments.get(i) instanceof Argument.Quantity quantity && !quantity.accepts(values[i])) {
                String value = Double.isFinite(values[i])
                        ? BigDecimal.valueOf(values[i]).stripTrailingZeros().toPlainString()
                        : Double.toString(values[i]);
                throw refused(wanted(quantity) + ", not " + value);
            }
        }
    }

    /** Checks the word of a kind whose one argument is a word. */
    void check(String word) {
        Argument argument = arguments.getFirst();
        if (!argument.accepts(word)) {
            throw refused(wanted(argument) + ", not \"" + word + "\"");
        }
    }

    private String count() {
        return switch (arguments.size()) {
            case 0 -> "no arguments";
            case 1 -> "one argument";
            default -> String.format(Locale.ROOT, "at most %d arguments", arguments.size());
        };
    }

    private static String wanted(Argument argument) {
        return "wants " + argument.name() + " as " + argument.bounds();
    }

    private IllegalArgumentException refused(String why) {
        return new IllegalArgumentException("The fault " + form() + " " + why + ".");
    }

    /** Values that the arguments accepted. */
    record Values(List<String> texts) {
        int whole(int index) {
            return Integer.parseInt(texts.get(index));
        }

        double number(int index) {
            return Double.parseDouble(texts.get(index));
        }

        Duration millis(int index) {
            return Duration.ofMillis(Long.parseLong(texts.get(index)));
        }

        String text(int index) {
            return texts.get(index);
        }
    }
}
