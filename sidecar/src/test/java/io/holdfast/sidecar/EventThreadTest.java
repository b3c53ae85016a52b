package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.KvEventSink;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
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
                        return engine.unreadiness();
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

            JsonObject json = engine.json(true);
            assertThat(json.getString("fault")).startsWith("its events could not be applied");
            assertThat(json.getBoolean("certain")).isFalse();
            assertThat(json.getString("certainty")).isEqualTo(json.getString("fault"));
            assertThat(other.json(true).containsKey("fault")).isFalse();
            assertThat(thread.fault())
                    .hasValueSatisfying(sentence ->
                            assertThat(sentence).startsWith("Engine demo: its events could not be applied"));
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
            assertThat(engine.json(true).getBoolean("certain")).isFalse();
        }
    }
}
