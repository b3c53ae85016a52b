package io.holdfast.loadtest.analysis;

import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import java.util.List;
import java.util.OptionalLong;

/**
 * Requests that an arm's switch sent on its own in the measured legs of that arm.
 *
 * @param prefilledTokens of their prompts, those that the engine did not find cached; unknown as soon as it did not say
 *     for one of them
 */
public record OwnRequests(int legs, int requests, OptionalLong prefilledTokens) {
    static OwnRequests of(List<LegRecord> legs) {
        List<RequestRecord> sent = legs.stream()
                .flatMap(leg -> leg.own().stream())
                .filter(RequestRecord::isOk)
                .toList();
        boolean known = sent.stream()
                .allMatch(record -> record.promptTokens().isPresent()
                        && record.cachedTokens().isPresent());
        return new OwnRequests(
                legs.size(),
                sent.size(),
                known
                        ? OptionalLong.of(sent.stream()
                                .mapToLong(record -> record.promptTokens().getAsInt()
                                        - record.cachedTokens().getAsInt())
                                .sum())
                        : OptionalLong.empty());
    }
}
