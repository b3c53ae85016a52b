package io.holdfast.loadtest.workload;

import io.holdfast.loadtest.Sha256;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The immutable list of all requests that the legs of one server life send.
 *
 * <p>Every leg primes the same prefix and then, cycle by cycle, floods the cache with prompts that share nothing and
 * probes whether the prefix is still there. The prefix has to lie idle meanwhile: one that running requests use cannot be
 * evicted, so a pin could not show any effect. Floods and suffixes differ from leg to leg of a life, so that no leg
 * finds what an earlier one left behind, but have the same sizes; both arms send the same requests at the same position.
 */
public final class Workload {
    /** The position of the unmeasured leg that a server life begins with. */
    static final int BURN_IN = 0;

    public static final int LEGS_OF_A_LIFE = 3;

    /** Ids above the special tokens and below the vocabulary of any model of today. */
    private static final int FIRST_TOKEN = 1_000;

    private static final int TOKENS = 29_000;

    private final String id;
    private final long seed;
    private final FloodShape shape;
    private final int[] prefix;
    private final List<Script> legs;

    private Workload(long seed, FloodShape shape) {
        this.seed = seed;
        this.shape = shape;
        // Seeds that lie one step apart would give one stream shifted by one token; split streams share nothing.
        SplittableRandom root = new SplittableRandom(seed);
        this.prefix = draw(root.split(), shape.prefixTokens(), FIRST_TOKEN - 1);
        List<Script> scripts = new ArrayList<>();
        for (int position = 0; position < LEGS_OF_A_LIFE; position++) {
            scripts.add(script(position, root.split()));
        }
        this.legs = List.copyOf(scripts);
        this.id = digest(legs);
    }

    /** A prefix that lies idle under a flood. The same seed and shape give the same requests. */
    public static Workload idlePrefixFlood(long seed, FloodShape shape) {
        return new Workload(seed, shape);
    }

    /** SHA-256 over all requests, in hexadecimal. */
    public String id() {
        return id;
    }

    public long seed() {
        return seed;
    }

    public FloodShape shape() {
        return shape;
    }

    public int[] prefix() {
        return prefix.clone();
    }

    public WorkloadFacts facts() {
        return new WorkloadFacts(id, shape.text(), seed, shape.prefixTokens(), shape.floodDemand());
    }

    /** Tokens of the longest request, its answer included. */
    public long longestRequest() {
        return legs.stream()
                .flatMap(leg -> leg.requests().stream())
                .mapToLong(request -> (long) request.length() + request.maxTokens())
                .max()
                .orElse(0);
    }

    public Script leg(int position) {
        return legs.get(position);
    }

    private Script script(int position, SplittableRandom random) {
        int perCycle = shape.floodRequests() + shape.probesPerCycle();
        int serial = position * shape.cycles() * perCycle;
        List<Cycle> cycles = new ArrayList<>();
        for (int cycle = 1; cycle <= shape.cycles(); cycle++) {
            List<LoadRequest> flood = new ArrayList<>();
            for (int i = 0; i < shape.floodRequests(); i++) {
                int[] tokens = draw(random, shape.floodTokens(), own(serial++));
                flood.add(new LoadRequest(Role.FLOOD, cycle, tokens, shape.floodOutputTokens()));
            }
            List<LoadRequest> probes = new ArrayList<>();
            for (int i = 0; i < shape.probesPerCycle(); i++) {
                int[] suffix = draw(random, shape.suffixTokens(), own(serial++));
                probes.add(new LoadRequest(Role.PROBE, cycle, join(prefix, suffix), shape.probeOutputTokens()));
            }
            cycles.add(new Cycle(List.copyOf(flood), List.copyOf(probes)));
        }
        return new Script(new LoadRequest(Role.PRIME, 0, prefix, 1), List.copyOf(cycles));
    }

    /** A first token that no other prompt begins with, so that even engines with pages of one token share nothing. */
    private static int own(int serial) {
        return FIRST_TOKEN + serial % TOKENS;
    }

    private static int[] draw(SplittableRandom random, int length, int first) {
        int[] tokens = new int[length];
        tokens[0] = first;
        for (int i = 1; i < length; i++) {
            tokens[i] = FIRST_TOKEN + random.nextInt(TOKENS);
        }
        return tokens;
    }

    private static int[] join(int[] head, int[] tail) {
        int[] joined = new int[head.length + tail.length];
        System.arraycopy(head, 0, joined, 0, head.length);
        System.arraycopy(tail, 0, joined, head.length, tail.length);
        return joined;
    }

    private static String digest(List<Script> legs) {
        MessageDigest sha = Sha256.start();
        try (DataOutputStream out =
                new DataOutputStream(new DigestOutputStream(OutputStream.nullOutputStream(), sha))) {
            for (Script leg : legs) {
                for (LoadRequest request : leg.requests()) {
                    out.writeUTF(request.role().name());
                    out.writeInt(request.cycle());
                    out.writeInt(request.maxTokens());
                    out.writeInt(request.length());
                    for (int token : request.tokens()) {
                        out.writeInt(token);
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return HexFormat.of().formatHex(sha.digest());
    }

    /** The requests of one leg. */
    public record Script(LoadRequest prime, List<Cycle> cycles) {
        /** All of them, in the order in which they are sent. */
        public List<LoadRequest> requests() {
            List<LoadRequest> all = new ArrayList<>();
            all.add(prime);
            for (Cycle cycle : cycles) {
                all.addAll(cycle.flood());
                all.addAll(cycle.probes());
            }
            return all;
        }
    }

    /** One flood, and the probes that follow it. */
    public record Cycle(List<LoadRequest> flood, List<LoadRequest> probes) {}
}
