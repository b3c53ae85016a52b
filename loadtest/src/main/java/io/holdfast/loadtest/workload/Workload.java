package io.holdfast.loadtest.workload;

import io.holdfast.loadtest.Sha256;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * The immutable list of all requests that the legs of one server life send, in phases.
 *
 * <p>Every leg begins with the phase that primes the prefix, or with traffic to learn from; the hold step follows it,
 * and then the other phases. Both arms send the same requests at the same position.
 */
public final class Workload {
    /** Legs of a life that runs a pair, the unmeasured one included. */
    public static final int LEGS_OF_A_LIFE = 3;

    /** Legs of a life that runs a block of four, the unmeasured one included. */
    public static final int MOST_LEGS_OF_A_LIFE = 5;

    private final WorkloadFacts facts;
    private final LoadRequest prefix;
    private final LoadRequest unprobed;
    private final List<List<Phase>> legs;

    /**
     * @param name what kind of workload, with its sizes, for people
     * @param seed that its prompts were drawn with
     * @param prefix what is held and what the probes ask for
     * @param unprobed as long as the prefix; no request of the workload asks for it
     * @param pressureTokens tokens that come into the cache before a probe asks for the prefix again
     * @param arrivals when the requests of its floods come
     * @param legs the phases of each leg, the unmeasured one first
     */
    Workload(
            String name,
            long seed,
            int[] prefix,
            int[] unprobed,
            long pressureTokens,
            Arrivals arrivals,
            List<List<Phase>> legs) {
        this(
                name,
                seed,
                new LoadRequest(Role.TOUCH, 0, prefix, 1),
                new LoadRequest(Role.TOUCH, 0, unprobed, 1),
                pressureTokens,
                arrivals,
                legs);
    }

    /** Creates a workload where an arm asks for the prefix in words of its own. */
    Workload(
            String name,
            long seed,
            LoadRequest prefix,
            LoadRequest unprobed,
            long pressureTokens,
            Arrivals arrivals,
            List<List<Phase>> legs) {
        this.prefix = prefix;
        this.unprobed = unprobed;
        this.legs = legs.stream().map(List::copyOf).toList();
        this.facts = new WorkloadFacts(digest(), name, seed, prefix.length(), pressureTokens, arrivals.text());
    }

    /** SHA-256 over all requests and, where they come at times of their own, those times; in hexadecimal. */
    public String id() {
        return facts.id();
    }

    public int[] prefix() {
        return prefix.tokens();
    }

    /** The prefix alone, as an arm asks for it on its own behalf. */
    public LoadRequest touch() {
        return prefix;
    }

    /** Returns a request for another prefix of that length, which nothing else asks for. */
    public LoadRequest touchOfAnother() {
        return unprobed;
    }

    /**
     * The texts, each with one token of answer, that the leg at a position has sent before its hold step, and no flood.
     */
    public List<LoadRequest> textsBeforeHold(int position) {
        return phases(position).stream()
                .filter(phase -> phase.role() == Role.LEARN && !phase.isFlood())
                .flatMap(phase -> phase.requests().stream())
                .map(text -> new LoadRequest(Role.TOUCH, 0, text.tokens(), 1))
                .toList();
    }

    public WorkloadFacts facts() {
        return facts;
    }

    /** Tokens of the longest request, its answer included. */
    public long longestRequest() {
        return legs.stream()
                .flatMap(List::stream)
                .flatMap(phase -> phase.requests().stream())
                .mapToLong(request -> (long) request.length() + request.maxTokens())
                .max()
                .orElse(0);
    }

    /** The phases of the leg at a position in its server life, in their order. */
    public List<Phase> phases(int position) {
        return legs.get(position);
    }

    /**
     * Names the first request of that leg that primes the prefix or asks for it and does not begin with what is held,
     * byte for byte where it has messages; absent where all of them do.
     */
    public Optional<String> withAnotherPrefix(int position) {
        return requests(position).stream()
                .filter(request -> request.role() == Role.PRIME || request.role() == Role.PROBE)
                .filter(request -> !begins(request))
                .map(request -> (request.role() == Role.PRIME ? "a warm-up" : "a request of the load")
                        + " begins with another prefix than the one that is held")
                .findFirst();
    }

    private boolean begins(LoadRequest request) {
        List<LoadRequest.Message> held = prefix.messages();
        if (!held.isEmpty()) {
            List<LoadRequest.Message> its = request.messages();
            return its.size() >= held.size() && its.subList(0, held.size()).equals(held);
        }
        int[] tokens = prefix.tokens();
        int[] its = request.tokens();
        return its.length >= tokens.length && Arrays.equals(tokens, Arrays.copyOf(its, tokens.length));
    }

    /** All requests of that leg, in the order in which they are sent. */
    public List<LoadRequest> requests(int position) {
        return phases(position).stream()
                .flatMap(phase -> phase.requests().stream())
                .toList();
    }

    private String digest() {
        MessageDigest sha = Sha256.start();
        try (DataOutputStream out =
                new DataOutputStream(new DigestOutputStream(OutputStream.nullOutputStream(), sha))) {
            for (int position = 0; position < legs.size(); position++) {
                for (LoadRequest request : requests(position)) {
                    out.writeUTF(request.role().name());
                    out.writeInt(request.cycle());
                    out.writeInt(request.maxTokens());
                    out.writeInt(request.length());
                    for (int token : request.tokens()) {
                        out.writeInt(token);
                    }
                }
                for (Phase phase : phases(position)) {
                    for (long turn : phase.turns()) {
                        out.writeLong(turn);
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return HexFormat.of().formatHex(sha.digest());
    }
}
