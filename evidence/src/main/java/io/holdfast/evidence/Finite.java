package io.holdfast.evidence;

/** The check that numbers are numbers before anything is concluded from them. */
final class Finite {
    private Finite() {}

    /** A copy of {@code sample}, so that no caller can change it afterwards. */
    static double[] copy(String name, double[] sample) {
        double[] copy = sample.clone();
        for (int i = 0; i < copy.length; i++) {
            if (!Double.isFinite(copy[i])) {
                throw new IllegalArgumentException("Value " + (i + 1) + " of " + copy.length + " in " + name + " is "
                        + copy[i] + "; leave out what was not measured.");
            }
        }
        return copy;
    }

    static double value(String name, double value) {
        if (!Double.isFinite(value)) {
            throw new IllegalArgumentException(name + " is " + value + "; leave out what was not measured.");
        }
        return value;
    }
}
