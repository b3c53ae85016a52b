package io.holdfast.app.sidecar;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.HeadFindings;
import io.holdfast.sidecar.look.Observation;
import io.holdfast.sidecar.look.Observation.SharedPrefix;
import io.holdfast.sidecar.view.Conditions;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/** What {@code observe} saw as one line of JSON; what is unknown is left out. */
final class ObserveJson {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ObserveJson() {}

    static String line(Observation seen, boolean last) {
        ObjectNode root = JSON.createObjectNode();
        root.put("engine", seen.engine());
        root.put("final", last);
        root.put("elapsedSeconds", seen.elapsed().toMillis() / 1e3);
        root.put("spanSeconds", seen.span().toMillis() / 1e3);
        root.put("events", seen.events()).put("certain", seen.certain()).put("certainty", seen.certainty());
        ObjectNode readings = root.putObject("readings");
        number(readings, "running", seen.readings().running());
        number(readings, "waiting", seen.readings().waiting());
        number(readings, "usedTokens", seen.readings().usedTokens());
        number(readings, "capacityTokens", seen.readings().capacityTokens());
        number(readings, "cachedShare", seen.readings().cachedShare());
        ObjectNode requests = root.putObject("requests");
        requests.put("batches", seen.requests().batches())
                .put("visible", seen.requests().visible())
                .put("counted", seen.requests().counted());
        number(requests, "invisibleShare", seen.requests().invisibleShare());
        span(root, "residenceSeconds", seen.residence());
        root.put("removals", seen.removals());
        span(root, "reuseSeconds", seen.reuse());
        span(root, "longReuseSeconds", seen.longReuse());
        number(root, "rho", seen.rho());
        ObjectNode prefill =
                root.putObject("prefill").put("samples", seen.prefill().samples());
        number(prefill, "fixedSeconds", seen.prefill().fixedSeconds());
        number(prefill, "secondsPerToken", seen.prefill().secondsPerToken());
        seen.prefill().why().ifPresent(why -> prefill.put("unknown", why));
        ObjectNode sharing = root.putObject("sharing");
        sharing.put("found", seen.sharing().found())
                .put("lost", seen.sharing().lost())
                .put("storedAgainTokens", seen.sharing().storedAgainTokens());
        number(sharing, "prefillSeconds", seen.sharing().seconds());
        root.putObject("demand")
                .put("prompts", seen.demand().prompts())
                .put("tokens", seen.demand().tokens())
                .put("eachInFullTokens", seen.demand().eachInFullTokens());
        root.putObject("promptLengths")
                .put("prompts", seen.lengths().prompts())
                .put("medianTokens", seen.lengths().medianTokens())
                .put("ninetiethTokens", seen.lengths().ninetiethTokens());
        ObjectNode conditions = root.putObject("conditions");
        condition(conditions.putObject("pressure"), seen.conditions().pressure());
        condition(conditions.putObject("models"), seen.conditions().models());
        condition(conditions.putObject("lengths"), seen.conditions().lengths());
        conditions.put("advice", seen.conditions().advice());
        ArrayNode prefixes = root.putArray("prefixes");
        seen.prefixes().forEach(each -> prefix(prefixes.addObject(), each));
        HeadFindings.of(seen).into(root.putArray("unstableHeads"));
        ObjectNode holding = root.putObject("holding");
        holding.put("backend", seen.holding().backend())
                .put("why", seen.holding().why())
                .put("prefixes", seen.holding().prefixes());
        number(holding, "savedSeconds", seen.holding().savedSeconds());
        number(holding, "spentSeconds", seen.holding().spentSeconds());
        seen.holding().noRoom().ifPresent(why -> holding.put("noRoom", why));
        try {
            return JSON.writeValueAsString(root);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("A tree of texts and numbers is always JSON.", e);
        }
    }

    private static void prefix(ObjectNode into, SharedPrefix each) {
        into.put("id", each.id())
                .put("tokens", each.tokens())
                .put("continuations", each.continuations())
                .put("cached", each.cached())
                .put("requests", each.requests())
                .put("hits", each.hits())
                .put("losses", each.losses())
                .put("storedAgainTokens", each.storedAgainTokens())
                .put("worthHolding", each.worthHolding())
                .put("why", each.why());
        number(into, "prefillSeconds", each.seconds());
    }

    private static void condition(ObjectNode into, Conditions.Condition one) {
        into.put("answer", one.answer().name().toLowerCase(Locale.ROOT)).put("why", one.why());
    }

    private static void number(ObjectNode into, String name, OptionalDouble value) {
        value.ifPresent(number -> into.put(name, number));
    }

    private static void span(ObjectNode into, String name, Optional<Duration> value) {
        value.ifPresent(span -> into.put(name, span.toMillis() / 1e3));
    }
}
