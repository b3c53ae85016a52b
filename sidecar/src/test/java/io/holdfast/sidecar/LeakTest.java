package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every pin that the engine may have is taken back, once: whatever the events say, and however late they say it. */
class LeakTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;

    @TempDir
    Path state;

    @Test
    void clearOfThePast_replayedToTheNextStart_leaksNoPin() throws IOException {
        try (PinnedEngine bed = new PinnedEngine(
                state, TestBed.fast().withVariant(Variant.PIN_GPU).withReplayPort(0))) {
            assertThat(bed.emulator.replayEndpoint()).isPresent();
            bed.leaveAPin();
            bed.gate.shut();

            try (Sidecar next = bed.sidecar("");
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see(
                        "the engine's past is replayed, the clear at its beginning included",
                        () -> client.engine().getJsonObject("events").getLong("clears"),
                        clears -> clears > 0);
                assertThat(client.http.get("/readyz").status()).isEqualTo(503);

                bed.gate.open();

                bed.usedBecomes(0);
                client.ready();
            }
            assertThat(bed.outstanding()).isEmpty();
        }
    }

    @Test
    void clearThatIsHeardAfterThePin_leaksNoPin() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            Eventually.see("the prefix is known", client::engine, seen -> seen.getInteger("blocks") >= 32);
            bed.emulator.faults().begin(new EventFault.EventDelay(Duration.ofSeconds(3)));
            assertThat(bed.engine.flush()).isEqualTo(200);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            assertThat(bed.engine.usedTokens())
                    .as("pinned in the cache whose beginning is not heard of yet")
                    .isEqualTo(512);

            Eventually.see(
                    "the hold was lost, and is held again with what was stored after the clear",
                    () -> client.holdById(id),
                    hold -> hold.getInteger("timesLost") == 1 && "held".equals(hold.getString("state")));
            assertThat(client.http.delete(SidecarClient.HOLDS + "/" + id).status())
                    .isEqualTo(200);

            bed.usedBecomes(0);
        }
    }

    @Test
    void numbersThatBeginAnew_whileTheCacheGoesOn_leakNoPin() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            bed.emulator.faults().begin(new EventFault.SequenceReset(3));
            int[] number = {50};

            Eventually.see(
                    "the hold is lost, as far as the events tell",
                    () -> {
                        bed.engine.generate(EngineClient.prompt(number[0]++, 32));
                        return client.holdById(id).getString("state");
                    },
                    "lost"::equals);

            bed.usedBecomes(0);
        }
    }

    @Test
    void unpinWithoutAnAnswer_isNotSaidToBeRepeated() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            bed.emulator.faults().begin(new HttpFault.PinLate(Duration.ofSeconds(20)));

            Http.Answer answer = client.http.delete(SidecarClient.HOLDS + "/" + id);

            assertThat(answer.status()).as(answer.text()).isEqualTo(503);
            assertThat(answer.error())
                    .contains("is not repeated")
                    .endsWith("; the ledger keeps it until it is.")
                    .doesNotContain("tried again");
        }
    }

    @Test
    void pinThatNeverLeft_takesNobodyElsesAway() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            // Its numbers are known still when its port is shut.
            bed.readingsMillis = 5000;
            neverSentPin(bed);
        }
    }

    private static void neverSentPin(PinnedEngine bed) throws IOException {
        try (Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            Eventually.see("the prefix is known", client::engine, seen -> seen.getInteger("blocks") >= 32);
            pinBySomebodyElse(bed);
            assertThat(bed.engine.usedTokens()).isEqualTo(512);

            bed.gate.shut();
            JsonObject hold = client.hold(PREFIX, 600).json();
            assertThat(hold.getString("state")).isEqualTo("requested");
            assertThat(hold.getString("reason")).contains("was not sent");
            Http.Answer released = client.http.delete(SidecarClient.HOLDS + "/" + hold.getString("id"));
            assertThat(released.status()).as(released.text()).isEqualTo(200);
            bed.gate.open();

            client.ready();
            assertThat(client.http.delete(SidecarClient.HOLDS).status()).isEqualTo(200);
            assertThat(bed.engine.usedTokens()).as("the pin of somebody else").isEqualTo(512);
            for (String kind : new String[] {"accepted", "missing", "deferred", "clipped", "rejected"}) {
                assertThat(client.metric("holdfast_backend_calls_seconds_count{call=\"unpin\",engine=\"demo\",kind=\""
                                + kind + "\"}"))
                        .as("unpins answered %s", kind)
                        .isZero();
            }
        }
    }

    @Test
    void pinThatMustStay_isNotAskedByTheNextStartEither() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            try (Sidecar first = bed.sidecar("");
                    SidecarClient client = new SidecarClient(first.uri())) {
                client.meet(bed.engine);
                bed.engine.generate(PREFIX);
                String id = client.held(PREFIX);
                long before = stored(client);
                storeATwin(bed);
                Eventually.see("the twin's blocks are known", () -> stored(client), blocks -> blocks >= before + 32);
                Http.Answer answer = client.http.delete(SidecarClient.HOLDS + "/" + id);
                assertThat(answer.status()).as(answer.text()).isEqualTo(503);
                assertThat(client.metric("holdfast_pins{engine=\"demo\",state=\"kept\"}"))
                        .isEqualTo(1);
            }

            try (Sidecar next = bed.sidecar("");
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(client.http.get("/readyz").text()).contains("1 pins stay");
                client.http.delete(SidecarClient.HOLDS);
                for (String kind : new String[] {"accepted", "missing", "deferred", "rejected"}) {
                    assertThat(client.metric(
                                    "holdfast_backend_calls_seconds_count{call=\"unpin\",engine=\"demo\",kind=\"" + kind
                                            + "\"}"))
                            .isZero();
                }
                assertThat(bed.engine.usedTokens()).isEqualTo(512);
            }
        }
    }

    private static long stored(SidecarClient client) {
        return client.engine().getJsonObject("events").getLong("storedBlocks");
    }

    private static void pinBySomebodyElse(PinnedEngine bed) {
        long[] names = SglangBlockNames.of(PREFIX, TestBed.BLOCK);
        try (Http http = new Http(bed.emulator.uri())) {
            Http.Answer pinned = http.post(
                    "/hicache/pin_blocks",
                    new JsonObject()
                            .put("block_hashes", JsonArray.of(names[names.length - 1]))
                            .encode());
            assertThat(pinned.json().getInteger("pinned_count")).isEqualTo(1);
        }
    }

    /** The same tokens under another key: other blocks of the engine under the same hashes. */
    private static void storeATwin(PinnedEngine bed) {
        try (Http http = new Http(bed.emulator.uri())) {
            Http.Answer answer = http.post(
                    "/generate",
                    new JsonObject()
                            .put("input_ids", EngineClient.array(PREFIX))
                            .put("extra_key", "another")
                            .put("sampling_params", new JsonObject().put("max_new_tokens", 1))
                            .encode());
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        }
    }
}
