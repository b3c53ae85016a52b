package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The measured probes of one arm.
 *
 * @param cachedTokens median of what the engine found cached for a probe; absent when it did not always say
 * @param ttftMillis median time to first token
 * @param quantiles of the times to first token of all probes together
 */
public record ArmSummary(
        int legs, int probes, OptionalDouble cachedTokens, OptionalDouble ttftMillis, List<QuantileRange> quantiles) {
    public ArmSummary {
        quantiles = List.copyOf(quantiles);
    }

    /** Creates a summary of which only the median is known. */
    public ArmSummary(int legs, int probes, OptionalDouble cachedTokens, OptionalDouble ttftMillis) {
        this(legs, probes, cachedTokens, ttftMillis, List.of());
    }

    static ArmSummary of(List<LegRecord> legs) {
        List<RequestRecord> probes = legs.stream()
                .flatMap(leg -> leg.probes().stream())
                .filter(RequestRecord::isOk)
                .toList();
        double[] ttfts = probes.stream()
                .flatMapToDouble(probe -> probe.ttftMillis().stream())
                .toArray();
        return new ArmSummary(
                legs.size(),
                probes.size(),
                cachedTokens(probes),
                ttfts.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(Quantiles.of(ttfts, 0.5)),
                QuantileRange.of(ttfts));
    }

    /** The median over OK probes; one of them that is not known makes it unknown. */
    public static OptionalDouble cachedTokens(List<RequestRecord> probes) {
        List<RequestRecord> ok = probes.stream().filter(RequestRecord::isOk).toList();
        if (ok.isEmpty() || ok.stream().anyMatch(probe -> probe.cachedTokens().isEmpty())) {
            return OptionalDouble.empty();
        }
        double[] cached = ok.stream()
                .mapToDouble(probe -> probe.cachedTokens().getAsInt())
                .toArray();
        return OptionalDouble.of(Quantiles.of(cached, 0.5));
    }
}
