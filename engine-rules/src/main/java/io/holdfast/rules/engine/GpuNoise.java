package io.holdfast.rules.engine;

import io.holdfast.rules.fault.GpuFault;
import java.util.SplittableRandom;

/** The factors of one {@link GpuFault.Noise} in one life of a server. */
final class GpuNoise {
    private final GpuFault.Noise noise;
    private final SplittableRandom random;
    private final double start;
    private double leg;

    /** @param moment of the start, which is the seed where none is given */
    GpuNoise(GpuFault.Noise noise, long moment) {
        this.noise = noise;
        // Split, since streams of seeds that lie close together may be the same with an offset.
        this.random = new SplittableRandom(noise.seed() == 0 ? moment : noise.seed()).split();
        this.start = drawn(noise.starts());
        this.leg = drawn(noise.legs());
    }

    boolean isOf(GpuFault.Noise other) {
        return noise.equals(other);
    }

    void cacheEmptied() {
        leg = drawn(noise.legs());
    }

    double factor(Pass pass) {
        return start * leg * (pass.prefills() > 0 ? drawn(noise.requests()) : 1);
    }

    private double drawn(double percent) {
        return percent == 0 ? 1 : Math.exp(percent / 100 * random.nextGaussian());
    }
}
