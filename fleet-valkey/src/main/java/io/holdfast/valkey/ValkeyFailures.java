package io.holdfast.valkey;

import io.holdfast.embed.cell.FleetStoreException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisLoadingException;
import io.lettuce.core.RedisReadOnlyException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;

/**
 * Sentences about what went wrong with a server.
 *
 * @param where the server, as it is said
 * @param login the variables that user and password come from, for a sentence
 */
record ValkeyFailures(String where, Optional<String> login, Duration timeout) {
    private static final int LONGEST = 160;

    FleetStoreException sentence(Throwable failure) {
        Throwable cause = unwrapped(failure);
        if (cause instanceof FleetStoreException said) {
            return said;
        }
        if (chain(cause)
                .anyMatch(each -> each instanceof RedisCommandTimeoutException || each instanceof TimeoutException)) {
            return new FleetStoreException(
                    where + " did not answer within " + timeout.toMillis()
                            + " ms; see whether it is up, and whether the" + " network between is whole.",
                    cause);
        }
        Optional<RedisCommandExecutionException> refusal = chain(cause)
                .filter(RedisCommandExecutionException.class::isInstance)
                .map(RedisCommandExecutionException.class::cast)
                .findFirst();
        if (refusal.isPresent()) {
            return refused(refusal.get());
        }
        return new FleetStoreException(
                where + " cannot be reached (" + reason(cause) + "); see whether it is up, and whether the address is"
                        + " right.",
                cause);
    }

    /**
     * Says whether a connection is of no use after it: all but what the server itself said about one command, what we say
     * about its answers, and that a connection is still being made. A command that times out is another exception.
     */
    static boolean endsConnection(Throwable failure) {
        return switch (unwrapped(failure)) {
            case RedisReadOnlyException replica -> true;
            case RedisLoadingException restarted -> true;
            case RedisCommandExecutionException refusal -> false;
            case FleetStoreException said -> false;
            case TimeoutException connecting -> false;
            default -> true;
        };
    }

    static boolean isOtherKind(Throwable failure) {
        return unwrapped(failure) instanceof RedisCommandExecutionException refusal
                && said(refusal).startsWith("WRONGTYPE");
    }

    private FleetStoreException refused(RedisCommandExecutionException refusal) {
        String said = said(refusal);
        String mend = switch (said.split(" ", 2)[0]) {
            case "NOAUTH", "WRONGPASS", "NOPERM" ->
                "see to "
                        + login.map(variables -> "what it knows and what is in " + variables)
                                .orElse("the variables with its user and password, of which none are named")
                        + ", and that the user may use keys {hf:*";
            case "WRONGTYPE" -> "somebody else uses that key, so give Holdfast a database of its own";
            case "OOM" -> "give it more memory, or let it evict what has an end (maxmemory-policy volatile-ttl)";
            case "READONLY" -> "it is a replica now, and its primary is asked for anew";
            case "LOADING", "MASTERDOWN", "CLUSTERDOWN" -> "see why it is not ready, which may pass by itself";
            default -> "see its log";
        };
        return new FleetStoreException(where + " refused a command (" + said + "); " + mend + ".", refusal);
    }

    /** The first words of a server, up to where they may repeat what was sent. */
    private static String said(RedisCommandExecutionException refusal) {
        return cut(Optional.ofNullable(refusal.getMessage()).orElse("ERR").split("[`']", 2)[0]);
    }

    private static String reason(Throwable cause) {
        Throwable last = chain(cause).reduce(cause, (first, second) -> second);
        if (last instanceof ConnectException) {
            return "connection refused";
        }
        if (last instanceof UnknownHostException) {
            return "nobody knows this name";
        }
        String message = cut(
                Optional.ofNullable(last.getMessage()).orElse(last.getClass().getSimpleName()));
        return last instanceof SSLException ? "TLS: " + message : message;
    }

    private static String cut(String message) {
        String line = message.replaceAll("\\p{Cntrl}+", " ").strip().replaceAll("[.:;, ]+$", "");
        return line.length() > LONGEST ? line.substring(0, LONGEST) : line;
    }

    private static Stream<Throwable> chain(Throwable failure) {
        return Stream.<Throwable>iterate(failure, each -> each != null, Throwable::getCause)
                .limit(16);
    }

    private static Throwable unwrapped(Throwable failure) {
        Throwable cause = failure;
        while (cause instanceof CompletionException || cause instanceof ExecutionException) {
            Throwable inner = cause.getCause();
            if (inner == null) {
                return cause;
            }
            cause = inner;
        }
        return cause;
    }
}
