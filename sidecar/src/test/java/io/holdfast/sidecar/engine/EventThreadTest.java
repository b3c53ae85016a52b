package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.sidecar.EventFeed;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.Unstarted;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EventThreadTest {
    private static final KvEventSink BROKEN = (KvEventSink) Proxy.newProxyInstance(
            KvEventSink.class.getClassLoader(), new Class<?>[] {KvEventSink.class}, (proxy, method, arguments) -> {
                throw new IllegalStateException("no such slot");
            });

    @TempDir
    Path state;

    @Test
    void engineWhoseEventsCannotBeApplied_isFaulted_andTheOthersGoOn() throws Exception {
        try (EventFeed feed = new EventFeed();
                EventFeed otherFeed = new EventFeed();
                Unstarted around = new Unstarted(state);
                EngineLink engine = around.engine("demo");
                EngineLink other = around.engine("other")) {
            EventThread thread = around.thread;
            thread.execute(loop -> {
                loop.subscribe(feed.endpoint(), "", thread.guarded(engine.controller(), BROKEN));
                loop.subscribe(
                        otherFeed.endpoint(),
                        "",
                        thread.guarded(other.controller(), other.controller().events()));
            });
            thread.start();

            Eventually.see(
                    "the fault",
                    () -> {
                        feed.cleared();
                        return engine.report().unreadiness();
                    },
                    reasons ->
                            reasons.contains("its events could not be applied (java.lang.IllegalStateException: no such"
                                    + " slot); restart the sidecar and report this"));
            Eventually.see(
                    "events of the other engine",
                    () -> {
                        feed.cleared();
                        otherFeed.cleared();
                        return other.certain();
                    },
                    certain -> certain);

            JsonObject json = ApiJson.engine(engine, true);
            assertThat(json.getString("fault")).startsWith("its events could not be applied");
            assertThat(json.getBoolean("certain")).isFalse();
            assertThat(json.getString("certainty")).isEqualTo(json.getString("fault"));
            assertThat(ApiJson.engine(other, true).containsKey("fault")).isFalse();
            assertThat(thread.fault())
                    .hasValueSatisfying(sentence ->
                            assertThat(sentence).startsWith("Engine demo: its events could not be applied"));
        }
    }

    @Test
    void threadThatComesRoundAgain_isToldOnceItDidAsOftenAsItDidNot() throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        AtomicInteger returns = new AtomicInteger();
        try (Unstarted around = new Unstarted(state);
                EngineLink engine = around.engine("demo")) {
            EventThread thread = around.thread;
            thread.onReturn(returns::incrementAndGet);
            thread.start();
            comesRound(thread);
            thread.execute(loop -> {
                held.countDown();
                awaited(goesOn);
            });
            held.await();
            thread.look(3);
            thread.look(3);
            thread.look(3);
            assertThat(engine.fault()).isEmpty();
            thread.look(3);
            thread.look(3);

            assertThat(engine.fault()).startsWith("the event thread hangs, so every pin is released");
            assertThat(thread.missed(engine.controller())).isTrue();
            assertThat(thread.hangs()).isEqualTo(1);
            goesOn.countDown();
            for (int looks = 1; looks <= 3; looks++) {
                assertThat(returns).hasValue(0);
                comesRound(thread);
                thread.look(3);
            }
            assertThat(returns).hasValue(1);
            assertThat(engine.fault())
                    .as("the old controller stays out of office")
                    .isNotEmpty();
        }
    }

    /** Waits until the thread has come round once more. */
    private static void comesRound(EventThread thread) throws InterruptedException {
        for (int i = 0; i < 2; i++) {
            CountDownLatch round = new CountDownLatch(1);
            thread.execute(loop -> round.countDown());
            round.await();
        }
    }

    private static void awaited(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void viewOfAFaultedEngine_isNotCertain_howeverCertainItWas() throws Exception {
        try (Unstarted around = new Unstarted(state);
                EngineLink engine = around.engine("demo")) {
            KvEventSink events = engine.controller().events();
            events.batchStarted(0, 0);
            events.batchEnded();
            engine.controller().poll(System.nanoTime());
            assertThat(engine.certain()).isTrue();

            around.thread.guarded(engine.controller(), BROKEN).batchEnded();

            assertThat(engine.certain()).isFalse();
            assertThat(ApiJson.engine(engine, true).getBoolean("certain")).isFalse();
        }
    }
}
