package io.holdfast.evidence;

/** Something odd about an experiment that its reader must know and that does not change the finding. */
public enum Flag {
    MIXED("Mean and median disagree about the direction of the effect."),
    FIRST_WAVE_ONLY("The effect sits in the first wave of requests; the steady part shows none."),
    SATURATED("The server was saturated, so queueing may hide or magnify the effect."),
    DRIFT("The baseline drifted while the experiment ran.");

    private final String warning;

    Flag(String warning) {
        this.warning = warning;
    }

    public String warning() {
        return warning;
    }
}
