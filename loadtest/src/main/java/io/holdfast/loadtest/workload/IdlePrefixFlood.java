package io.holdfast.loadtest.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Draws workloads in which a prefix lies idle under a flood.
 *
 * <p>Every leg primes the same prefix and then, cycle by cycle, floods the cache with prompts that share nothing and
 * probes whether the prefix is still there. The prefix has to lie idle meanwhile: one that running requests use cannot
 * be evicted, so a pin could not show any effect. Floods and suffixes differ from leg to leg of a life, so that no leg
 * finds what an earlier one left behind, but have the same sizes.
 */
public final class IdlePrefixFlood {
    /** Ids above the special tokens and below the vocabulary of any model of today. */
    static final int FIRST_TOKEN = 1_000;

    static final int TOKENS = 29_000;

    private final FloodShape shape;
    private final int[] prefix;
    /** Turns of each flood of a leg, those of the learning floods first; the same in every leg. */
    private final List<List<Long>> turns = new ArrayList<>();

    private IdlePrefixFlood(FloodShape shape, SplittableRandom random) {
        this.shape = shape;
        this.prefix = draw(random, shape.prefixTokens(), FIRST_TOKEN - 1);
    }

    /** Draws a workload whose requests of a flood come when others are over. */
    public static Workload workload(long seed, FloodShape shape) {
        return workload(seed, shape, new Arrivals.Closed());
    }

    /** Draws a workload; the same seed, shape and arrivals give the same requests at the same times. */
    public static Workload workload(long seed, FloodShape shape, Arrivals arrivals) {
        return workload(seed, shape, arrivals, Workload.LEGS_OF_A_LIFE);
    }

    /** Draws a workload for lives of so many legs, the unmeasured one included. */
    public static Workload workload(long seed, FloodShape shape, Arrivals arrivals, int legsOfALife) {
        // Seeds that lie one step apart would give one stream shifted by one token; split streams share nothing.
        SplittableRandom root = new SplittableRandom(seed);
        IdlePrefixFlood flood = new IdlePrefixFlood(shape, root.split());
        List<SplittableRandom> ofLegs =
                Stream.generate(root::split).limit(legsOfALife).toList();
        int[] unprobed = draw(root.split(), shape.prefixTokens(), FIRST_TOKEN - 2);
        SplittableRandom times = root.split();
        for (int i = 0; i < shape.learnCycles() + shape.cycles(); i++) {
            flood.turns.add(arrivals.turnsOfAFlood(shape.floodRequests(), times));
        }
        List<List<Phase>> legs = new ArrayList<>();
        for (int position = 0; position < legsOfALife; position++) {
            legs.add(flood.leg(position, ofLegs.get(position)));
        }
        return new Workload(shape.text(), seed, flood.prefix, unprobed, shape.floodDemand(), arrivals, legs);
    }

    private List<Phase> leg(int position, SplittableRandom random) {
        int perCycle = shape.floodRequests() + shape.probesPerCycle();
        int serial = position * (shape.cycles() * perCycle + learned());
        List<Phase> phases = new ArrayList<>();
        if (shape.learnCycles() == 0) {
            phases.add(new Phase(Role.PRIME, 0, List.of(new LoadRequest(Role.PRIME, 0, prefix, 1))));
        } else {
            for (int cycle = 1; cycle <= shape.learnCycles(); cycle++) {
                phases.add(texts(cycle, random, serial));
                serial += shape.learnTexts();
                phases.add(new Phase(
                        Role.LEARN, cycle, flood(Role.LEARN, cycle, random, serial), true, turns.get(cycle - 1)));
                serial += shape.floodRequests();
            }
            phases.add(texts(shape.learnCycles() + 1, random, serial));
            serial += shape.learnTexts();
        }
        for (int cycle = 1; cycle <= shape.cycles(); cycle++) {
            phases.add(new Phase(
                    Role.FLOOD,
                    cycle,
                    flood(Role.FLOOD, cycle, random, serial),
                    true,
                    turns.get(shape.learnCycles() + cycle - 1)));
            serial += shape.floodRequests();
            List<LoadRequest> probes = new ArrayList<>();
            for (int i = 0; i < shape.probesPerCycle(); i++) {
                int[] suffix = draw(random, shape.suffixTokens(), own(serial++));
                probes.add(new LoadRequest(Role.PROBE, cycle, join(prefix, suffix), shape.probeOutputTokens()));
            }
            phases.add(new Phase(Role.PROBE, cycle, probes));
        }
        return phases;
    }

    /** Requests of the learning phase of a leg. */
    private int learned() {
        return shape.learnCycles() == 0
                ? 0
                : shape.learnCycles() * (shape.floodRequests() + shape.learnTexts()) + shape.learnTexts();
    }

    private List<LoadRequest> flood(Role role, int cycle, SplittableRandom random, int serial) {
        List<LoadRequest> flood = new ArrayList<>();
        for (int i = 0; i < shape.floodRequests(); i++) {
            int[] tokens = draw(random, shape.floodTokens(), own(serial + i));
            flood.add(new LoadRequest(role, cycle, tokens, shape.floodOutputTokens()));
        }
        return flood;
    }

    /** Texts that begin with the prefix, as the probes do, and that nobody sends again. */
    private Phase texts(int cycle, SplittableRandom random, int serial) {
        List<LoadRequest> texts = new ArrayList<>();
        for (int i = 0; i < shape.learnTexts(); i++) {
            int[] suffix = draw(random, shape.suffixTokens(), own(serial + i));
            texts.add(new LoadRequest(Role.LEARN, cycle, join(prefix, suffix), shape.floodOutputTokens()));
        }
        return new Phase(Role.LEARN, cycle, texts);
    }

    /** A first token that no other prompt begins with, so that even engines with pages of one token share nothing. */
    private static int own(int serial) {
        return tokenOf(serial);
    }

    private static int[] draw(SplittableRandom random, int length, int first) {
        int[] tokens = new int[length];
        tokens[0] = first;
        for (int i = 1; i < length; i++) {
            tokens[i] = anyToken(random);
        }
        return tokens;
    }

    static int anyToken(SplittableRandom random) {
        return FIRST_TOKEN + random.nextInt(TOKENS);
    }

    /** A token for a number, the same for the same one. */
    static int tokenOf(int number) {
        return FIRST_TOKEN + Math.floorMod(number, TOKENS);
    }

    private static int[] join(int[] head, int[] tail) {
        int[] joined = new int[head.length + tail.length];
        System.arraycopy(head, 0, joined, 0, head.length);
        System.arraycopy(tail, 0, joined, head.length, tail.length);
        return joined;
    }
}
