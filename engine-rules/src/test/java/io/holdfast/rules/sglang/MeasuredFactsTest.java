package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What was measured on a real 0.5.23 server: cached tokens of a probe after a flood, in a cache of 4096 tokens. */
class MeasuredFactsTest {
    private static final int CAPACITY = 4096;
    private static final int PREFIX = 1024;

    private final TestEngine lru = engine(SglangSettings.defaults());
    private final TestEngine priority = engine(SglangSettings.defaults().withEviction(Eviction.PRIORITY));
    private final TestEngine sessions = engine(SglangSettings.defaults().withSessions(true));
    private final int[] prefix = new Random(1).ints(PREFIX, 10, 1_000_000).toArray();

    private static TestEngine engine(SglangSettings settings) {
        return new TestEngine(settings.withSizes(CAPACITY, 16, 8192), Faults.none());
    }

    private static RequestOptions priority(int value) {
        return RequestOptions.of(1).withPriority(value);
    }

    private static RequestOptions session(String id) {
        return RequestOptions.of(1).withSession(id);
    }

    private static int probe(TestEngine engine, int[] prefix) {
        return engine.cached(oneMore(prefix));
    }

    private static int[] oneMore(int[] prefix) {
        int[] longer = Arrays.copyOf(prefix, prefix.length + 1);
        longer[prefix.length] = 9;
        return longer;
    }

    private static void flood(TestEngine engine, int times) {
        engine.flood(times * CAPACITY, RequestOptions.of(1));
    }

    @Test
    void prefixWithoutProtection_isGoneAfterAFlood() {
        for (TestEngine engine : List.of(lru, priority, sessions)) {
            engine.serve(prefix, RequestOptions.of(1));
            flood(engine, 3);
            assertThat(probe(engine, prefix)).isZero();
        }
    }

    @Test
    void prefixTouchedWithoutPriority_isGoneAfterAFlood() {
        priority.serve(prefix, RequestOptions.of(1));
        priority.serve(oneMore(prefix), RequestOptions.of(1));
        flood(priority, 3);
        assertThat(probe(priority, prefix)).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 10})
    void prefixStoredWithAPriority_survivesAFlood(int times) {
        priority.serve(prefix, priority(10));
        flood(priority, times);
        assertThat(probe(priority, prefix)).isEqualTo(PREFIX);
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 10})
    void prefixTouchedOnceWithAPriority_survivesAFlood(int times) {
        priority.serve(prefix, RequestOptions.of(1));
        priority.serve(oneMore(prefix), priority(10));
        flood(priority, times);
        assertThat(probe(priority, prefix)).isEqualTo(PREFIX);
    }

    @Test
    void priorityUnderLru_protectsNothing() {
        lru.serve(prefix, priority(10));
        lru.serve(oneMore(prefix), priority(10));
        flood(lru, 3);
        assertThat(probe(lru, prefix)).isZero();
    }

    @Test
    void touchAtOne_survivesOneTokenAnswers_butNotAnswersOfAPage() {
        for (int answer : new int[] {1, 20}) {
            priority.engine.flush();
            priority.serve(prefix, RequestOptions.of(1));
            priority.serve(oneMore(prefix), priority(1));
            priority.flood(3 * CAPACITY, RequestOptions.of(answer));
            assertThat(probe(priority, prefix)).isEqualTo(answer == 1 ? PREFIX : 0);
        }
    }

    @Test
    void touchAtTwoAboveTheClients_survivesAnswersOfAPage() {
        priority.serve(prefix, priority(2));
        priority.flood(3 * CAPACITY, RequestOptions.of(20));
        assertThat(probe(priority, prefix)).isEqualTo(PREFIX);
    }

    @Test
    void priority_neverGoesDown() {
        priority.serve(prefix, priority(10));
        priority.serve(oneMore(prefix), priority(-5));
        flood(priority, 3);
        assertThat(probe(priority, prefix)).isEqualTo(PREFIX);
    }

    @Test
    void prefixFirstStoredBelowZero_goesFirst() {
        int[] older = priority.fresh(PREFIX);
        priority.serve(older, RequestOptions.of(1));
        priority.serve(prefix, priority(-1));
        flood(priority, 1);
        assertThat(probe(priority, prefix)).isZero();
        priority.engine.flush();
        priority.serve(older, RequestOptions.of(1));
        priority.serve(prefix, priority(-1));
        priority.flood(CAPACITY - PREFIX - 128, RequestOptions.of(1));
        assertThat(probe(priority, older)).isEqualTo(PREFIX);
    }

    @Test
    void protection_endsWhereTheTouchedPrefixEnds() {
        int[] shorter = priority.fresh(96);
        priority.serve(shorter, RequestOptions.of(1));
        priority.serve(oneMore(Arrays.copyOf(shorter, 32)), priority(20));
        flood(priority, 3);
        assertThat(probe(priority, shorter)).isEqualTo(32);
    }

    @Test
    void overPinningByPriority_isSoft() {
        List<int[]> pinned = new ArrayList<>();
        for (int i = 0; i < 15; i++) {
            pinned.add(priority.fresh(256));
            priority.serve(pinned.getLast(), priority(10));
        }
        assertThat(priority.serve(priority.fresh(1024), RequestOptions.of(1)).done)
                .isTrue();
        assertThat(pinned.stream().filter(one -> hasAll(one)).count()).isEqualTo(11);
    }

    private boolean hasAll(int[] prompt) {
        TokenChain chain = new TokenChain(Namespace.PLAIN, "", 16).grow(prompt);
        return priority.engine.cache().match(chain, chain.blocks()).tokens() == prompt.length;
    }

    @Test
    void prefixUnderASession_survivesAFlood_untilTheSessionIsClosed() {
        sessions.serve(prefix, session("s"));
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isEqualTo(PREFIX);
        sessions.engine.closeSession("s");
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isZero();
    }

    @Test
    void prefixTouchedLaterWithASession_survivesAFlood() {
        sessions.serve(prefix, RequestOptions.of(1));
        sessions.serve(oneMore(prefix), session("s"));
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isEqualTo(PREFIX);
    }

    @Test
    void oneSession_holdsUnrelatedPrefixes() {
        int[] other = sessions.fresh(512);
        sessions.serve(oneMore(prefix), session("s"));
        sessions.serve(oneMore(other), session("s"));
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isEqualTo(PREFIX);
        assertThat(probe(sessions, other)).isEqualTo(512);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void moreSessions_outrankFewer_andAmongEqualsTheLeastRecentlyUsedGoes(int holders) {
        for (int i = 0; i < holders; i++) {
            sessions.serve(oneMore(prefix), session("holder " + i));
        }
        for (int i = 0; i < 3 * CAPACITY / 512; i++) {
            sessions.serve(sessions.fresh(512), session("client " + i));
        }
        assertThat(probe(sessions, prefix)).isEqualTo(holders == 3 ? PREFIX : 0);
    }

    @Test
    void overPinningBySessions_isSoft() {
        List<int[]> held = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            held.add(sessions.fresh(512));
            sessions.serve(held.getLast(), session("holder " + i));
        }
        assertThat(sessions.serve(sessions.fresh(1500), RequestOptions.of(1)).done)
                .isTrue();
        assertThat(held.stream().map(one -> probe(sessions, one))).containsExactly(0, 0, 512, 512, 512, 512, 512);
    }

    @Test
    void flush_dropsWhatSessionsProtect() {
        sessions.serve(prefix, session("s"));
        sessions.engine.flush();
        sessions.serve(prefix, RequestOptions.of(1));
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isZero();
    }

    @Test
    void closedId_isOpenedAnewByALaterRequest() {
        sessions.serve(prefix, session("s"));
        sessions.engine.closeSession("s");
        sessions.serve(oneMore(prefix), session("s"));
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isEqualTo(PREFIX);
    }

    @Test
    void requestThatEndsAfterItsSessionWasClosed_leavesNothingProtected() {
        RequestOptions terms = RequestOptions.of(3).withSession("s");
        sessions.engine.submit(new Generation(prefix, terms, false, 0, new Heard()));
        sessions.engine.step();
        sessions.engine.closeSession("s");
        sessions.runDry();
        flood(sessions, 3);
        assertThat(probe(sessions, prefix)).isZero();
    }

    @Test
    void closingAnUnknownSession_isNothing() {
        sessions.engine.closeSession("never opened");
        assertThat(probe(sessions, prefix)).isZero();
    }

    @Test
    void withAHostTier_aFloodLeavesAHitOnTheHost() {
        TestEngine tiered = engine(SglangSettings.defaults().withHostRatio(3));
        tiered.serve(prefix, RequestOptions.of(1));
        flood(tiered, 2);
        assertThat(probe(tiered, prefix)).isEqualTo(PREFIX);
        flood(tiered, 4);
        assertThat(probe(tiered, prefix)).isZero();
    }

    @Test
    void withAHostTier_priorityProtectsAsWithout() {
        TestEngine tiered = engine(SglangSettings.defaults().withHostRatio(2).withEviction(Eviction.PRIORITY));
        tiered.serve(prefix, RequestOptions.of(1));
        tiered.serve(oneMore(prefix), priority(10));
        flood(tiered, 10);
        assertThat(probe(tiered, prefix)).isEqualTo(PREFIX);
    }
}
