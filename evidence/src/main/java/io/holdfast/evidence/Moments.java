package io.holdfast.evidence;

/** Count, mean and sum of squared deviations of a sample: all that the Student intervals need of it. */
record Moments(int count, double mean, double squares) {
    static Moments of(double[] sample) {
        if (sample.length == 0) {
            return new Moments(0, 0, 0);
        }
        double sum = 0;
        for (double value : sample) {
            sum += value;
        }
        double rough = sum / sample.length;
        // A second pass makes a constant sample exactly constant: its interval must be a point, not rounding noise.
        double rest = 0;
        for (double value : sample) {
            rest += value - rough;
        }
        double mean = rough + rest / sample.length;
        double squares = 0;
        for (double value : sample) {
            squares += (value - mean) * (value - mean);
        }
        return new Moments(sample.length, mean, squares);
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Number of values left to judge the spread by, once the mean is taken from them. */
    int freedom() {
        return Math.max(0, count - 1);
    }

    /** The spread common to several samples that may differ in their means. */
    static Pool pool(Moments... samples) {
        double squares = 0;
        int freedom = 0;
        for (Moments sample : samples) {
            squares += sample.squares;
            freedom += sample.freedom();
        }
        return new Pool(squares, freedom);
    }

    /** Squared deviations put together, and their degrees of freedom. */
    record Pool(double squares, int freedom) {
        /** Defined only with at least one degree of freedom. */
        double variance() {
            return squares / freedom;
        }
    }
}
