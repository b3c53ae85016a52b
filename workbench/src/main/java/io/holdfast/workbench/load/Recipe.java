package io.holdfast.workbench.load;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.workload.LoadRequest.Message;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A load as data: its parts in the order in which they are sent, each after all requests of the one before are over.
 * The same recipe always gives the same requests at the same times.
 *
 * @param why what it is there to show, for people
 * @param seed draws lengths, texts and times
 * @param prefixes tokens of each head that requests may begin with, by name
 */
public record Recipe(String name, String why, long seed, Map<String, Integer> prefixes, List<Part> parts) {
    private static final int MOST_REQUESTS = 1_000_000;
    private static final int MOST_TOKENS = 2_000_000;
    private static final Pattern ONE = Pattern.compile("(closed|constant|poisson):([0-9.]+)");

    /**
     * Requests of one kind.
     *
     * @param measured whether they are in the figures; if not they warm up or prime
     * @param prefix the head that they begin with, where they have one
     * @param own how long what each has of its own is; of several ranges each has its share of the requests
     * @param answer tokens of each answer
     * @param arrivals {@code sequential}, {@code burst}, {@code closed:N} or one of {@link
     *     io.holdfast.loadtest.workload.Arrivals#of}
     * @param repeats the part whose requests are sent again, in place of new ones
     * @param messages what they say word for word, where that matters; {@code {i}} is the number of the request
     *     from 0, and {@code {own}} what it has of its own
     * @param flush whether the server's cache is emptied before
     * @param pause how long nothing is sent before
     */
    public record Part(
            String name,
            boolean measured,
            int requests,
            Optional<String> prefix,
            List<Share> own,
            Range answer,
            String arrivals,
            Optional<String> repeats,
            List<Message> messages,
            boolean flush,
            Duration pause) {
        public Part {
            own = List.copyOf(own);
            messages = List.copyOf(messages);
            if (requests < 1 || requests > MOST_REQUESTS) {
                throw new LoadTestException(
                        "The part '" + name + "' has " + requests + " requests; write 1 to " + MOST_REQUESTS + ".");
            }
        }

        /** Requests that each have a text of their own. */
        public static Part of(String name, int requests, Range own, Range answer, String arrivals) {
            return new Part(
                    name,
                    true,
                    requests,
                    Optional.empty(),
                    List.of(new Share(1, own)),
                    answer,
                    arrivals,
                    Optional.empty(),
                    List.of(),
                    false,
                    Duration.ZERO);
        }

        /** Returns the part with another name, number of requests and answer, and with or without a flush before it. */
        public Part with(String name, int requests, Range answer, boolean flush) {
            return new Part(name, measured, requests, prefix, own, answer, arrivals, repeats, messages, flush, pause);
        }
    }

    /** A range of lengths, both ends included. */
    public record Range(int least, int most) {
        public Range {
            if (least < 0 || most < least || most > MOST_TOKENS) {
                throw new LoadTestException("The range of tokens " + least + ".." + most + " is none; write one such as"
                        + " 64..512, or a single number.");
            }
        }

        public static Range of(int tokens) {
            return new Range(tokens, tokens);
        }

        /** Parses {@code 64..512} or {@code 64}. */
        public static Range of(String text) {
            try {
                int between = text.indexOf("..");
                return between < 0
                        ? of(Integer.parseInt(text.strip()))
                        : new Range(
                                Integer.parseInt(text.substring(0, between).strip()),
                                Integer.parseInt(text.substring(between + 2).strip()));
            } catch (NumberFormatException e) {
                throw new LoadTestException(
                        "The range of tokens '" + text + "' is none; write one such as 64..512, or a single number.",
                        e);
            }
        }

        String text() {
            return least == most ? Integer.toString(least) : least + ".." + most;
        }
    }

    /**
     * Share of the requests that have a length.
     *
     * @param share of 1
     */
    public record Share(double share, Range tokens) {}

    public Recipe {
        prefixes = Collections.unmodifiableMap(new LinkedHashMap<>(prefixes));
        parts = List.copyOf(parts);
        if (parts.stream().noneMatch(Part::measured)) {
            throw new LoadTestException(
                    "The load '" + name + "' measures nothing; leave out 'measured: false' in one part.");
        }
        for (int i = 0; i < parts.size(); i++) {
            check(name, prefixes, parts.subList(0, i), parts.get(i));
        }
    }

    private static void check(String name, Map<String, Integer> prefixes, List<Part> before, Part part) {
        String where = "The part '" + part.name() + "' of the load '" + name + "' ";
        part.prefix().filter(prefix -> !prefixes.containsKey(prefix)).ifPresent(prefix -> {
            throw new LoadTestException(where + "begins with the prefix '" + prefix
                    + "', of which nothing is said; name it" + " under 'prefixes' with its tokens.");
        });
        part.repeats()
                .filter(other -> before.stream().noneMatch(each -> each.name().equals(other)))
                .ifPresent(other -> {
                    throw new LoadTestException(
                            where + "repeats '" + other + "', which is no part before it; name one that is.");
                });
        if (before.stream().anyMatch(each -> each.name().equals(part.name()))) {
            throw new LoadTestException(where + "has the name of an earlier one; give it another.");
        }
        double shares = part.own().stream().mapToDouble(Share::share).sum();
        if (Math.abs(shares - 1) > 1e-9) {
            throw new LoadTestException(where + "has shares that add up to " + shares + "; let them add up to 1.");
        }
        boolean empty = part.own().stream().anyMatch(share -> share.tokens().least() == 0);
        if (empty
                && part.prefix().isEmpty()
                && part.messages().isEmpty()
                && part.repeats().isEmpty()) {
            throw new LoadTestException(
                    where + "has requests without a token; let its own be at least 1, or give it a prefix.");
        }
    }

    /**
     * Returns the arrivals of its measured requests, by name: {@code arrivals}, and {@code concurrency} or {@code rate}
     * where it is a single one.
     */
    public Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>();
        String arrivals = parts.stream()
                .filter(Part::measured)
                .map(Part::arrivals)
                .distinct()
                .collect(Collectors.joining(", "));
        settings.put("arrivals", arrivals);
        Matcher of = ONE.matcher(arrivals);
        if (arrivals.equals("sequential")) {
            settings.put("concurrency", "1");
        } else if (of.matches()) {
            settings.put(of.group(1).equals("closed") ? "concurrency" : "rate", of.group(2));
        }
        return settings;
    }

    /** Returns the recipe drawn by this seed and its name: loads that differ in their names have no text in common. */
    public Recipe seededByName(long value) {
        return new Recipe(name, why, value ^ ((long) name.hashCode() << Integer.SIZE), prefixes, parts);
    }

    /** Returns the recipe with at most so many requests in each measured part. */
    public Recipe atMost(int most) {
        return withParts(parts.stream()
                .map(part -> part.measured() && part.requests() > most
                        ? part.with(part.name(), most, part.answer(), part.flush())
                        : part)
                .toList());
    }

    /** Returns the recipe with these parts. */
    public Recipe withParts(List<Part> value) {
        return new Recipe(name, why, seed, prefixes, value);
    }
}
