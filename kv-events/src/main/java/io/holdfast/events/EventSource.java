package io.holdfast.events;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Address at which one engine publishes its events.
 *
 * @param endpoint where the first of its caches publishes, {@code tcp://host:port}
 * @param replayEndpoint where that cache's past batches can be requested; absent when the engine keeps none
 * @param topic the beginning of the topics wanted; empty for all
 * @param ranks how many caches the engine has, one for each data-parallel rank
 * @param sharedEndpoint whether all ranks publish at the same endpoint, so that each batch says whose it is; else each
 *     publishes, and answers, one port above the rank before it
 */
public record EventSource(
        String endpoint, Optional<String> replayEndpoint, String topic, int ranks, boolean sharedEndpoint) {
    private static final Pattern TCP = Pattern.compile("tcp://(\\[[0-9A-Fa-f:.%]+]|[^\\[\\]:/;\\s]+):(\\d{1,5})");

    /** @throws IllegalArgumentException with one sentence when this can be no engine's */
    public EventSource {
        if (ranks < 1) {
            throw new IllegalArgumentException(
                    "An engine with " + ranks + " caches publishes nothing: write 1 or more.");
        }
        int ports = sharedEndpoint ? 1 : ranks;
        Place publishes = Place.of("events", endpoint, ports);
        if (sharedEndpoint && replayEndpoint.isPresent()) {
            throw new IllegalArgumentException("The replay endpoint \"" + replayEndpoint.get()
                    + "\" can answer for one publisher only, not for all that share \"" + endpoint
                    + "\": leave it out, or subscribe to each of them where it publishes itself.");
        }
        replayEndpoint.ifPresent(text -> {
            Place answers = Place.of("replay", text, ranks);
            if (answers.host.equals(publishes.host) && Math.abs(answers.port - publishes.port) < ranks) {
                throw new IllegalArgumentException("The replay endpoint \"" + text
                        + "\" lies among the ports at which the engine publishes, " + publishes.port + " to "
                        + (publishes.port + ranks - 1) + ": write the port that it answers at.");
            }
        });
    }

    /** An engine whose ranks have ports of their own. */
    public EventSource(String endpoint, Optional<String> replayEndpoint, String topic, int ranks) {
        this(endpoint, replayEndpoint, topic, ranks, false);
    }

    /** An engine with one cache that repeats nothing. */
    public static EventSource of(String endpoint, String topic) {
        return new EventSource(endpoint, Optional.empty(), topic, 1, false);
    }

    /** Returns this source with an address at which past batches can be requested. */
    public EventSource withReplay(String answersAt) {
        return new EventSource(endpoint, Optional.of(answersAt), topic, ranks, sharedEndpoint);
    }

    /** An engine whose ranks publish, and answer, at consecutive ports from these on. */
    public EventSource withRanks(int caches) {
        return new EventSource(endpoint, replayEndpoint, topic, caches, false);
    }

    /** Engines that publish through one endpoint, each batch with its rank. */
    public EventSource shared(int caches) {
        return new EventSource(endpoint, replayEndpoint, topic, caches, true);
    }

    /** Source of its own for the cache of one rank. */
    EventSource ofRank(int rank) {
        return new EventSource(
                Place.of("events", endpoint, ranks).above(rank),
                replayEndpoint.map(text -> Place.of("replay", text, ranks).above(rank)),
                topic,
                1,
                false);
    }

    String host() {
        return Place.of("events", endpoint, 1).host;
    }

    /** A host and the first of as many ports as there are ranks. */
    private record Place(String host, int port) {
        static Place of(String what, String text, int ports) {
            String subject = "The " + what + " endpoint \"" + text + "\" ";
            Matcher parts = TCP.matcher(text);
            if (!parts.matches()) {
                throw new IllegalArgumentException(subject
                        + "is not of the form tcp://host:port, the one transport that engines and this client share.");
            }
            String host = parts.group(1);
            int port = Integer.parseInt(parts.group(2));
            if (host.equals("*") || host.equals("0.0.0.0") || host.equals("[::]")) {
                throw new IllegalArgumentException(
                        subject + "says where the engine listens, not where it is: write the engine's host in place of "
                                + host + ".");
            }
            if (port < 1 || port > 65535) {
                throw new IllegalArgumentException(subject + "has a port outside 1 to 65535.");
            }
            if (port + ports - 1 > 65535) {
                throw new IllegalArgumentException(subject + "leaves no ports for " + ports + " caches: the last is "
                        + (port + ports - 1) + ", above 65535.");
            }
            return new Place(host, port);
        }

        String above(int rank) {
            return "tcp://" + host + ":" + (port + rank);
        }
    }
}
