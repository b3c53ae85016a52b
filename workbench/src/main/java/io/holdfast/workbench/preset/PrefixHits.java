package io.holdfast.workbench.preset;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Requests of a load that found their shared prefix in the server's cache, by the server's count.
 *
 * @param requests that were answered and tell
 * @param hits that had all whole pages of it cached
 * @param partly that had some of it cached
 * @param tokens of prompts that were not computed, over all of them
 * @param needed cached tokens that make a hit where the prompt is as long as the shortest
 */
record PrefixHits(int requests, int hits, int partly, long tokens, int needed) {
    /** Counts the part of a load that has a prefix; absent where none has, or where the server does not report hits. */
    static Optional<PrefixHits> of(DrawnLoad load, LoadLeg leg, EngineFacts facts) {
        int page = facts.pageTokensOrUsual();
        List<LoadRequest> requests = load.requests();
        for (DrawnLoad.Drawn part : load.parts()) {
            if (part.part().measured() && part.part().prefix().isPresent()) {
                int prefix = load.recipe()
                        .prefixes()
                        .getOrDefault(part.part().prefix().get(), 0);
                List<Found> found = new ArrayList<>();
                for (RequestRecord record : leg.of(part.part().name())) {
                    if (record.isOk()
                            && record.cachedTokens().isPresent()
                            && record.promptTokens().isPresent()) {
                        found.add(Found.of(record, requests.get(record.number()), prefix, page));
                    }
                }
                return found.isEmpty() ? Optional.empty() : Optional.of(sum(found));
            }
        }
        return Optional.empty();
    }

    private static PrefixHits sum(List<Found> found) {
        return new PrefixHits(
                found.size(),
                (int) found.stream().filter(each -> each.cached >= each.needed).count(),
                (int) found.stream()
                        .filter(each -> each.cached > 0 && each.cached < each.needed)
                        .count(),
                found.stream().mapToLong(Found::cached).sum(),
                found.stream().mapToInt(Found::needed).min().orElse(0));
    }

    /** One request: what it had, and what the prefix is in whole pages. */
    private record Found(int cached, int needed) {
        /**
         * Classifies one request. The server counts other tokens than we do where text is sent: the prefix is then the
         * same share of the prompt, less a page.
         */
        static Found of(RequestRecord record, LoadRequest request, int prefix, int page) {
            int prompt = record.promptTokens().orElseThrow();
            boolean exact = prompt == request.length();
            double here = exact ? prefix : (double) prefix * prompt / request.length();
            int pages = (int) (here / page);
            int whole = pages * page - (exact ? 0 : page);
            return new Found(record.cachedTokens().orElseThrow(), Math.max(page, whole));
        }
    }

    String text() {
        return String.format(
                Locale.ROOT,
                "%d of %d requests found the shared prefix in the cache (at least %,d tokens in whole pages), %d a"
                    + " part of it, %d nothing; %,d tokens were not computed. The first request has nothing to find,"
                    + " and those that were under way with it may not either: at best %d of %d.",
                hits,
                requests,
                needed,
                partly,
                requests - hits - partly,
                tokens,
                requests - 1,
                requests);
    }
}
