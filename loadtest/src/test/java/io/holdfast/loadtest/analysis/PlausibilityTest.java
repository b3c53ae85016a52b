package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Made-up numbers that no server can have. */
final class PlausibilityTest {
    private static final List<LegRecord> GOOD = Legs.run(10, 5);

    @Test
    void firstTokenNoLaterThanTheRequest_isNamedAndNoSample() {
        assertThat(ofAProbe(probe -> token(probe, OptionalLong.of(probe.sent()))))
                .singleElement()
                .asString()
                .isEqualTo("In life 1 AA, leg 1 (baseline) 2 of 11 requests had the first token no later than they were"
                        + " sent, which cannot be: the clock or the client is wrong.");
        assertThat(ofAProbe(probe -> token(probe, OptionalLong.of(probe.sent() - 5))))
                .hasSize(1);
        assertThat(token(probe(), OptionalLong.of(probe().sent())).ttftMillis()).isEmpty();
    }

    @Test
    void answerWithoutAFirstToken_isNamed() {
        assertThat(ofAProbe(probe -> token(probe, OptionalLong.empty())))
                .anyMatch(why -> why.contains("are said to be answered and have no first token"));
    }

    @Test
    void moreCachedThanAnyEngineCanHave_isNamed() {
        assertThat(ofAProbe(probe -> counted(probe, 72, 72)))
                .singleElement()
                .asString()
                .contains("2 of 11 requests are said to have more prompt tokens cached than any engine can have");
        assertThat(ofAProbe(probe -> counted(probe, 72, 71))).isEmpty();
    }

    @Test
    void otherPromptTokensThanInAnotherLeg_areNamedOnce() {
        assertThat(ofAProbe(probe -> counted(probe, 73, 0)))
                .singleElement()
                .asString()
                .isEqualTo("Request 5 of life 2 BP, leg 1 (baseline) has 72 prompt tokens by the engine's count, and 73"
                        + " in another leg, although the same was sent.");
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIME", "HOLD", "PROBE", "RELEASE"})
    void missingStep_isNamed(Step.Kind kind) {
        List<LegRecord> legs = GOOD.stream()
                .map(leg -> Legs.withSteps(
                        leg,
                        leg.steps().stream().filter(step -> step.kind() != kind).toList(),
                        Optional.empty()))
                .toList();
        assertThat(failures(legs))
                .isNotEmpty()
                .allMatch(why ->
                        why.contains("the step " + kind + " is missing, so the leg did not do what was planned"));
    }

    private static RequestRecord probe() {
        return Legs.request(1, Role.PROBE, 1, 10, OptionalInt.empty());
    }

    /** The failures after changing the probes of the first measured baseline leg. */
    private static List<String> ofAProbe(UnaryOperator<RequestRecord> change) {
        return failures(Legs.change(
                GOOD,
                Arm.BASELINE,
                leg -> Legs.withRequests(
                        leg, request -> request.role() == Role.PROBE ? change.apply(request) : request)));
    }

    private static List<String> failures(List<LegRecord> legs) {
        RunHeader header = Legs.header();
        Gates gates = new Gates(header);
        List<LegRecord> measured = legs.stream().filter(LegRecord::isMeasured).toList();
        List<String> failures = new ArrayList<>();
        measured.forEach(leg -> failures.addAll(gates.failedBy(leg)));
        failures.addAll(gates.failedAmong(measured));
        return failures.stream()
                .filter(why -> !why.contains("no probe was answered"))
                .toList();
    }

    private static RequestRecord token(RequestRecord from, OptionalLong token) {
        return change(from, token, from.promptTokens(), from.cachedTokens());
    }

    private static RequestRecord counted(RequestRecord from, int prompt, int cached) {
        return change(from, from.firstToken(), OptionalInt.of(prompt), OptionalInt.of(cached));
    }

    private static RequestRecord change(
            RequestRecord from, OptionalLong token, OptionalInt promptTokens, OptionalInt cachedTokens) {
        return new RequestRecord(
                from.number(),
                from.role(),
                from.cycle(),
                from.status(),
                from.scheduled(),
                from.sent(),
                token,
                token,
                from.lastToken(),
                from.done(),
                promptTokens,
                from.completionTokens(),
                cachedTokens,
                from.problem());
    }
}
