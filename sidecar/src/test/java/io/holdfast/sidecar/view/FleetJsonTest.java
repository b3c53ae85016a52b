package io.holdfast.sidecar.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetHoldView;
import io.holdfast.embed.cell.HeldCopy;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is told of a hold of the fleet, and to whom. */
class FleetJsonTest {
    private static final FleetHold HOLD =
            FleetHold.of(7, 0x1234567890abcdefL, 4, 64, FleetHold.ALL, "platform", 1, Duration.ofMinutes(1), "");

    @Test
    void nameAndReasons_areForWhoMayAct() {
        HeldCopy copy = new HeldCopy(HOLD.id(), HeldCopy.State.WAITING, 0, "no tokens: nobody may be asked");
        FleetHoldView view = new FleetHoldView(HOLD, true, List.of("a", "b"), Map.of("a", copy));

        assertThat(FleetJson.hold(view, true).encode())
                .contains("1234567890abcdef")
                .contains("no tokens: nobody may be asked")
                .contains("not heard of for two rounds yet");
        JsonObject read = FleetJson.hold(view, false);
        assertThat(read.encode())
                .doesNotContain("90abcdef")
                .doesNotContain("no tokens")
                .doesNotContain("reason");
        assertThat(read.getJsonArray("on")).hasSize(2);
    }

    @Test
    void hundredCopies_areTold_ofAnyNumber() {
        List<String> engines = IntStream.range(0, 1_000).mapToObj(i -> "e" + i).toList();

        assertThat(FleetJson.hold(new FleetHoldView(HOLD, true, engines, Map.of()), true)
                        .getJsonArray("on"))
                .hasSize(100);
    }
}
