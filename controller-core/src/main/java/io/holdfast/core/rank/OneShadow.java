package io.holdfast.core.rank;

/**
 * Pins until they turn out to be a loss: compares what the engine itself found with one model of its cache without
 * pins.
 */
final class OneShadow {
    /*
     * Windows of several residences. After one in which the engine found less than the model it pins nothing for a
     * window, then tries again, and rests for twice as long each time that this was a loss as well. So each answer has
     * to be paid for, by a window of harm or by windows without pins: that is what the second shadow is for, and this
     * one shows what it is worth.
     */
    private static final double LONGEST_WINDOW_SECONDS = 1_200;
    private static final double LEAST_WINDOW_SECONDS = 60;
    private static final double RESIDENCES = 5;
    private static final int MOST_REST = 16;

    private long advantage;
    private double endSeconds = Double.NaN;
    private int rest = 1;
    private int resting;

    void request(int engine, int without) {
        if (resting == 0) {
            advantage += engine - without;
        }
    }

    boolean decide(double seconds, double residence) {
        if (Double.isNaN(endSeconds)) {
            endSeconds = seconds + window(residence);
        }
        if (seconds >= endSeconds) {
            if (resting > 0) {
                resting--;
            } else if (advantage < 0) {
                resting = rest;
                rest = Math.min(MOST_REST, 2 * rest);
            } else {
                rest = 1;
            }
            advantage = 0;
            endSeconds = seconds + window(residence);
        }
        return resting == 0;
    }

    private static double window(double residence) {
        return Math.clamp(RESIDENCES * residence, LEAST_WINDOW_SECONDS, LONGEST_WINDOW_SECONDS);
    }
}
