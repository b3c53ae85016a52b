package io.holdfast.loadtest.report;

import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * Requests of all legs as lines of CSV, in the order in which they were sent. An unknown value is an empty field.
 */
public final class LegsCsv {
    private LegsCsv() {}

    public static String of(Result result) {
        StringBuilder out = new StringBuilder(
                "life,order,position,arm,counts,request,role,cycle,status,sent_ms,ttft_ms,ttft_from_schedule_ms,end_to_end_ms,tpot_ms,prompt_tokens,cached_tokens,completion_tokens\n");
        for (LegRecord leg : result.legs()) {
            for (RequestRecord request : leg.requests()) {
                out.append(String.format(
                        Locale.ROOT,
                        "%d,%s,%d,%s,%s,%d,%s,%d,%s,%s,%s,%s,%s,%s,%s,%s,%s%n",
                        leg.life(),
                        leg.order(),
                        leg.position(),
                        lower(leg.arm()),
                        leg.isMeasured(),
                        request.number(),
                        lower(request.role()),
                        request.cycle(),
                        lower(request.status()),
                        // A request that could not be sent has no such moment.
                        request.status() == RequestStatus.NOT_SENT
                                ? ""
                                : millis(OptionalDouble.of(request.sent() / 1e6)),
                        millis(request.ttftMillis()),
                        millis(request.ttftFromScheduleMillis()),
                        millis(request.endToEndMillis()),
                        millis(request.tpotMillis()),
                        count(request.promptTokens()),
                        count(request.cachedTokens()),
                        count(request.completionTokens())));
            }
        }
        return out.toString();
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    private static String millis(OptionalDouble millis) {
        return Shown.number("%.3f", millis, "");
    }

    private static String count(OptionalInt tokens) {
        return tokens.isPresent() ? Integer.toString(tokens.getAsInt()) : "";
    }
}
