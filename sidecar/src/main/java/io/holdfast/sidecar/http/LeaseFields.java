package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Optional;

/** The fields of a request's body that say how long a hold is wanted, how urgently, and by whom. */
final class LeaseFields {
    private Optional<Duration> length = Optional.empty();
    private Optional<Duration> atMost = Optional.empty();
    private Optional<String> requester = Optional.empty();
    private boolean refreshOnHit;
    private boolean measure;
    private int weight = 1;

    /** Takes a field of a lease; returns false for any other. */
    boolean take(String field, JsonParser json) throws IOException {
        switch (field) {
            case "leaseSeconds" -> length = Optional.of(seconds(json, field, HoldBody.LONGEST_LEASE));
            case "atMostSeconds" -> atMost = Optional.of(seconds(json, field, Lease.LONGEST));
            case "refreshOnHit" -> refreshOnHit = bool(json, field);
            case "measure" -> measure = bool(json, field);
            case "weight" -> weight = weight(json);
            case "requester" -> requester = Optional.of(requester(json));
            default -> {
                return false;
            }
        }
        return true;
    }

    Duration length() {
        return length.orElseThrow(() -> badRequest("leaseSeconds is missing; every hold ages, so say for how long."));
    }

    Lease lease() {
        Lease plain = refreshOnHit ? Lease.refreshed(length()) : Lease.absolute(length());
        if (atMost.isEmpty()) {
            return plain;
        }
        if (atMost.get().compareTo(length()) < 0) {
            throw badRequest(
                    "atMostSeconds is less than leaseSeconds; it is how long the hold may live in all, so write"
                            + " more, or leave it out.");
        }
        return new Lease(length(), refreshOnHit, atMost.get());
    }

    int weight() {
        return weight;
    }

    /** True if the hold may be released now and then, to measure its effect. */
    boolean measure() {
        return measure;
    }

    Optional<String> requester() {
        return requester;
    }

    /** A requester's name as it is, or refused with one sentence. */
    static String requester(String name) {
        if (!HoldRequest.isName(name)) {
            throw badRequest("requester is " + shown(name) + "; write 1 to 64 printable characters.");
        }
        return name;
    }

    private static String requester(JsonParser json) throws IOException {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw badRequest("requester is not a string; write 1 to 64 printable characters.");
        }
        return requester(json.getText());
    }

    private static boolean bool(JsonParser json, String field) throws IOException {
        return switch (json.currentToken()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            default -> throw badRequest(field + " is neither true nor false.");
        };
    }

    private static int weight(JsonParser json) throws IOException {
        String written = json.currentToken() == JsonToken.VALUE_NUMBER_INT ? json.getText() : "";
        int weight = written.matches("[0-9]{1,3}") ? Integer.parseInt(written) : 0;
        if (weight < 1 || weight > HoldRequest.MOST_WEIGHT) {
            throw badRequest("weight is no whole number of 1 to " + HoldRequest.MOST_WEIGHT
                    + "; what is heavier is held first where room is short.");
        }
        return weight;
    }

    private static Duration seconds(JsonParser json, String field, Duration most) throws IOException {
        JsonToken token = json.currentToken();
        if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_NUMBER_FLOAT) {
            throw badRequest(field + " is not a number; write seconds, such as 60.");
        }
        String written = json.getText();
        BigDecimal seconds = written.length() <= 32 ? new BigDecimal(written) : BigDecimal.valueOf(-1);
        // Compared as a number first: 1e999999999 must not be spread out into digits.
        if (seconds.signum() <= 0
                || seconds.compareTo(BigDecimal.valueOf(most.toSeconds())) > 0
                || seconds.compareTo(new BigDecimal("0.001")) < 0) {
            throw badRequest(field + " is " + shown(written) + "; write 0.001 to " + most.toSeconds() + ".");
        }
        return Duration.ofMillis(seconds.movePointRight(3).longValue());
    }
}
