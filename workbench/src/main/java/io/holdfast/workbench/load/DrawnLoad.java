package io.holdfast.workbench.load;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.LoadRequest.Message;
import io.holdfast.loadtest.workload.PlainWords;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Share;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * The immutable list of all requests of a load, drawn from its recipe.
 *
 * <p>No two texts begin alike unless their recipe says so: the first token of what a request has of its own is of no
 * other one and of no prefix, so that even a cache with pages of one token finds nothing by chance. That is so up to as
 * many texts as there are first tokens.
 */
public final class DrawnLoad {
    private static final int FIRST_TOKEN = 1_000;
    private static final int TOKENS = 29_000;
    private static final String BURST = "burst";
    private static final String SEQUENTIAL = "sequential";
    private static final String CLOSED = "closed:";
    private static final int MOST_LANES = 4_096;

    private final Recipe recipe;
    private final Map<String, int[]> prefixes;
    private final List<Drawn> parts;
    private final String id;

    /**
     * A part with its requests.
     *
     * @param turns when each comes, in nanoseconds from the part's beginning; none where it comes when another one
     *     is over
     * @param lanes how many may be under way at a time
     */
    public record Drawn(Part part, List<LoadRequest> requests, List<Long> turns, int lanes) {
        public Drawn {
            requests = List.copyOf(requests);
            turns = List.copyOf(turns);
        }
    }

    /** First tokens of texts, none of them twice: prefixes keep those drawn for them, and requests avoid these. */
    private static final class FirstTokens {
        private final Set<Integer> ofPrefixes = new HashSet<>();
        private int serial;

        int ofAPrefix(int drawn) {
            int token = drawn;
            for (int tried = 0; tried < TOKENS && !ofPrefixes.add(token); tried++) {
                token = FIRST_TOKEN + (token - FIRST_TOKEN + 1) % TOKENS;
            }
            return token;
        }

        int ofItsOwn() {
            int token = next();
            for (int tried = 0; tried < TOKENS && ofPrefixes.contains(token); tried++) {
                token = next();
            }
            return token;
        }

        private int next() {
            return FIRST_TOKEN + Math.floorMod(serial++, TOKENS);
        }
    }

    private DrawnLoad(Recipe recipe, Map<String, int[]> prefixes, List<Drawn> parts) {
        this.recipe = recipe;
        this.prefixes = prefixes;
        this.parts = List.copyOf(parts);
        this.id = digest();
    }

    /** The requests of a recipe. */
    public static DrawnLoad of(Recipe recipe) {
        SplittableRandom root = new SplittableRandom(recipe.seed());
        Map<String, int[]> prefixes = new HashMap<>();
        // In the recipe's order, so that another prefix at the end changes none before it.
        FirstTokens first = new FirstTokens();
        recipe.prefixes().forEach((name, tokens) -> {
            int[] drawn = draw(root.split(), tokens);
            if (drawn.length > 0) {
                drawn[0] = first.ofAPrefix(drawn[0]);
            }
            prefixes.put(name, drawn);
        });
        Map<String, List<LoadRequest>> drawn = new HashMap<>();
        List<Drawn> parts = new ArrayList<>();
        for (Part part : recipe.parts()) {
            SplittableRandom random = root.split();
            List<LoadRequest> requests = part.repeats().isPresent()
                    ? again(part, known(drawn, part.repeats().get()))
                    : requests(part, prefixes, random, first);
            drawn.put(part.name(), requests);
            parts.add(timed(part, requests, random));
        }
        return new DrawnLoad(recipe, prefixes, parts);
    }

    private static List<LoadRequest> again(Part part, List<LoadRequest> before) {
        return IntStream.range(0, part.requests())
                .mapToObj(i -> before.get(i % before.size()))
                .map(request -> request.messages().isEmpty()
                        ? new LoadRequest(role(part), 0, request.tokens(), request.maxTokens())
                        : LoadRequest.ofMessages(role(part), 0, request.messages(), request.maxTokens()))
                .toList();
    }

    /** Returns the part of an accepted recipe with this name. */
    private static <T> T known(Map<String, T> all, String name) {
        return Objects.requireNonNull(all.get(name));
    }

    private static Role role(Part part) {
        return part.measured() ? Role.LOAD : Role.WARM_UP;
    }

    private static List<LoadRequest> requests(
            Part part, Map<String, int[]> prefixes, SplittableRandom random, FirstTokens first) {
        int[] prefix = part.prefix().map(name -> known(prefixes, name)).orElseGet(() -> new int[0]);
        List<LoadRequest> requests = new ArrayList<>();
        for (Share share : shares(part, random)) {
            int[] own = draw(random, length(random, share.tokens()));
            if (own.length > 0) {
                own[0] = first.ofItsOwn();
            }
            int answer = Math.max(1, length(random, part.answer()));
            int number = requests.size();
            requests.add(
                    part.messages().isEmpty()
                            ? new LoadRequest(role(part), 0, join(prefix, own), answer)
                            : LoadRequest.ofMessages(
                                    role(part),
                                    0,
                                    part.messages().stream()
                                            .map(message -> filled(message, number, own))
                                            .toList(),
                                    answer));
        }
        return requests;
    }

    private static Message filled(Message message, int number, int[] own) {
        return new Message(
                message.role(),
                message.content().replace("{i}", Integer.toString(number)).replace("{own}", PlainWords.text(own)));
    }

    /** The range of each request: each has exactly its share of them, in an order drawn by chance. */
    private static List<Share> shares(Part part, SplittableRandom random) {
        List<Share> all = new ArrayList<>();
        double sum = 0;
        for (Share share : part.own()) {
            sum += share.share();
            while (all.size() < Math.round(sum * part.requests())) {
                all.add(share);
            }
        }
        if (part.own().size() > 1) {
            Collections.shuffle(all, new Random(random.nextLong()));
        }
        return all;
    }

    private static Drawn timed(Part part, List<LoadRequest> requests, SplittableRandom random) {
        String arrivals = part.arrivals();
        if (arrivals.equals(SEQUENTIAL)) {
            return new Drawn(part, requests, List.of(), 1);
        }
        if (arrivals.equals(BURST)) {
            return new Drawn(part, requests, Collections.nCopies(requests.size(), 0L), lanes(part, requests.size()));
        }
        if (arrivals.startsWith(CLOSED)) {
            return new Drawn(part, requests, List.of(), closed(part, arrivals.substring(CLOSED.length())));
        }
        List<Long> turns = Arrivals.of(arrivals).turnsOfAFlood(requests.size(), random);
        if (turns.isEmpty()) {
            throw new LoadTestException("The part '" + part.name()
                    + "' arrives 'closed'; say how many are under way at a" + " time, as closed:8.");
        }
        return new Drawn(part, requests, turns, lanes(part, requests.size()));
    }

    private static int closed(Part part, String number) {
        try {
            return lanes(part, Integer.parseInt(number));
        } catch (NumberFormatException e) {
            throw new LoadTestException(
                    "The part '" + part.name() + "' arrives 'closed:" + number + "'; write closed:8.", e);
        }
    }

    private static int lanes(Part part, int lanes) {
        if (lanes < 1) {
            throw new LoadTestException(
                    "The part '" + part.name() + "' has " + lanes + " requests under way at a time; write at least 1.");
        }
        return Math.min(lanes, MOST_LANES);
    }

    private static int length(SplittableRandom random, Recipe.Range range) {
        return range.least() + random.nextInt(range.most() - range.least() + 1);
    }

    private static int[] draw(SplittableRandom random, int length) {
        return IntStream.range(0, length)
                .map(i -> FIRST_TOKEN + random.nextInt(TOKENS))
                .toArray();
    }

    private static int[] join(int[] head, int[] tail) {
        return IntStream.concat(IntStream.of(head), IntStream.of(tail)).toArray();
    }

    public Recipe recipe() {
        return recipe;
    }

    public List<Drawn> parts() {
        return parts;
    }

    /** The tokens of each head that requests begin with, by the name that the recipe has for it. */
    Map<String, List<Integer>> prefixes() {
        Map<String, List<Integer>> all = new LinkedHashMap<>();
        recipe.prefixes()
                .keySet()
                .forEach(name -> all.put(
                        name, IntStream.of(known(prefixes, name)).boxed().toList()));
        return all;
    }

    /** All requests in the order in which they are sent. */
    public List<LoadRequest> requests() {
        return parts.stream().flatMap(part -> part.requests().stream()).toList();
    }

    /** SHA-256 over all requests, those that warm up included, and their times; in hexadecimal. */
    public String id() {
        return id;
    }

    private String digest() {
        MessageDigest sha = Sha256.start();
        try (DataOutputStream out =
                new DataOutputStream(new DigestOutputStream(OutputStream.nullOutputStream(), sha))) {
            for (Drawn drawn : parts) {
                out.writeUTF(drawn.part().name());
                out.writeBoolean(drawn.part().measured());
                out.writeBoolean(drawn.part().flush());
                out.writeLong(drawn.part().pause().toNanos());
                out.writeInt(drawn.lanes());
                for (LoadRequest request : drawn.requests()) {
                    out.writeInt(request.maxTokens());
                    out.writeInt(request.length());
                    for (int token : request.tokens()) {
                        out.writeInt(token);
                    }
                    for (Message message : request.messages()) {
                        out.writeUTF(message.role());
                        out.write(message.content().getBytes(StandardCharsets.UTF_8));
                    }
                }
                for (long turn : drawn.turns()) {
                    out.writeLong(turn);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return HexFormat.of().formatHex(sha.digest());
    }
}
