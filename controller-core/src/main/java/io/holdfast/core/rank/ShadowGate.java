package io.holdfast.core.rank;

/** The licence to pin: open while a model of the cache with pins finds more of recent requests than one without. */
final class ShadowGate {
    /*
     * Both models are fed with the same requests, so what neither sees does not tell for one of them, and nothing has
     * to be tried on the engine to learn whether pins would help there. Evidence fades with a time constant of several
     * residences: a gate that follows single minutes flaps, and each flap costs what was pinned. To open takes a
     * margin; to close takes that nothing is left of the advantage, not even one block.
     */
    private static final double MARGIN = 0.002;
    private static final double SECONDS_BEFORE_OPENING = 60;
    private static final double LEAST_MEMORY_SECONDS = 300;
    private static final double MOST_MEMORY_SECONDS = 1_200;
    private static final double RESIDENCES = 5;

    private double hitsWithout;
    private double hitsWith;
    private double references;
    private double lastSeconds;
    private double firstSeconds = Double.NaN;
    private boolean open;
    private int changes;

    void request(int blocks, int without, int with, double seconds, double residence) {
        if (Double.isNaN(firstSeconds)) {
            firstSeconds = seconds;
            lastSeconds = seconds;
        }
        double kept = kept(seconds - lastSeconds, residence);
        lastSeconds = seconds;
        hitsWithout = hitsWithout * kept + without;
        hitsWith = hitsWith * kept + with;
        references = references * kept + blocks;
    }

    boolean decide(double seconds) {
        boolean before = open;
        if (open) {
            open = hitsWith >= hitsWithout + 1;
        } else {
            open = seconds - firstSeconds >= SECONDS_BEFORE_OPENING && hitsWith > hitsWithout + MARGIN * references;
        }
        if (open != before) {
            changes++;
        }
        return open;
    }

    /** Returns what outlives this process. */
    LearnedRank.LearnedEvidence learned(double seconds) {
        boolean none = Double.isNaN(firstSeconds);
        return new LearnedRank.LearnedEvidence(
                hitsWithout,
                hitsWith,
                references,
                none ? 0 : lastSeconds - firstSeconds,
                none ? 0 : Math.max(0, seconds - lastSeconds));
    }

    /**
     * Takes up what an earlier process found, faded by the time since; after so long that all of it has faded, nothing.
     * The licence is not taken up: it takes the margin to open again.
     */
    void restore(LearnedRank.LearnedEvidence learned, double seconds, double awaySeconds, double residence) {
        double since = awaySeconds + learned.idleSeconds();
        if (learned.references() == 0 || since > MOST_MEMORY_SECONDS) {
            return;
        }
        boolean first = Double.isNaN(firstSeconds);
        firstSeconds = Math.min(first ? seconds : firstSeconds, seconds - learned.forSeconds());
        lastSeconds = first ? seconds : lastSeconds;
        double kept = kept(Math.max(0, since - (seconds - lastSeconds)), residence);
        hitsWithout += learned.without() * kept;
        hitsWith += learned.with() * kept;
        references += learned.references() * kept;
    }

    private static double kept(double seconds, double residence) {
        double memory = Math.max(LEAST_MEMORY_SECONDS, Math.min(MOST_MEMORY_SECONDS, RESIDENCES * residence));
        return Math.exp(-seconds / memory);
    }

    /** Returns what both models found of recent requests. */
    Evidence evidence() {
        return new Evidence(open, hitsWithout, hitsWith, references);
    }

    boolean isOpen() {
        return open;
    }

    int changes() {
        return changes;
    }
}
