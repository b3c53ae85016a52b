package io.holdfast.app.sidecar;

import io.holdfast.app.cli.HeadFindings;
import io.holdfast.loadtest.report.Json;
import io.holdfast.sidecar.look.Observation;
import io.holdfast.sidecar.view.Conditions;
import java.util.Locale;

/** Observation as one line of JSON; a value that is unknown is left out. */
final class ObserveJson {
    private ObserveJson() {}

    static String line(Observation seen, boolean last) {
        return Json.object()
                .put("engine", seen.engine())
                .put("final", last)
                .put("elapsedSeconds", seen.elapsed())
                .put("spanSeconds", seen.span())
                .put("events", seen.events())
                .put("certain", seen.certain())
                .put("certainty", seen.certainty())
                .put("readings", Json.of(seen.readings()).withoutUnknown())
                .put("requests", Json.of(seen.requests()).withoutUnknown())
                .known("residenceSeconds", seen.residence())
                .put("removals", seen.removals())
                .known("reuseSeconds", seen.reuse())
                .known("longReuseSeconds", seen.longReuse())
                .known("rho", seen.rho())
                .put(
                        "prefill",
                        Json.of(seen.prefill()).renamed("why", "unknown").withoutUnknown())
                .put("sharing", withSeconds(seen.sharing()))
                .put("demand", seen.demand())
                .put("promptLengths", seen.lengths())
                .put(
                        "conditions",
                        Json.object()
                                .put("pressure", condition(seen.conditions().pressure()))
                                .put("models", condition(seen.conditions().models()))
                                .put("lengths", condition(seen.conditions().lengths()))
                                .put("advice", seen.conditions().advice()))
                .put(
                        "prefixes",
                        seen.prefixes().stream().map(ObserveJson::withSeconds).toList())
                .put("unstableHeads", HeadFindings.of(seen).json())
                .put("holding", Json.of(seen.holding()).withoutUnknown())
                .line();
    }

    private static Json withSeconds(Record prefill) {
        return Json.of(prefill).renamed("seconds", "prefillSeconds").withoutUnknown();
    }

    private static Json condition(Conditions.Condition one) {
        return Json.of(one).put("answer", one.answer().name().toLowerCase(Locale.ROOT));
    }
}
