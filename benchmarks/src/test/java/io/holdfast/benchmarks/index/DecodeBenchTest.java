package io.holdfast.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.benchmarks.CountingSink;
import io.holdfast.events.KvEventDecoder;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The recordings that come with the command are whole, and so is what is made of them. */
class DecodeBenchTest {
    @Test
    void recordings_areBothEnginesInAllFormsTheySpeak() {
        assertThat(DecodeBench.sets())
                .extracting(Frames::name)
                .containsExactly(
                        "vllm-0.32.0-maps",
                        "vllm-0.22.1-arrays",
                        "sglang-0.5.23-page16",
                        "sglang-0.5.23-page16-host",
                        "sglang-0.5.23-page1",
                        "vllm-0.32.0-maps-long-events",
                        "sglang-0.5.23-page16-long-events");
    }

    @Test
    void everyFrame_isDecoded() {
        for (Frames frames : DecodeBench.sets()) {
            CountingSink sink = counted(frames);
            assertThat(sink.blocks()).as(frames.name()).isGreaterThan(50);
        }
    }

    @Test
    void vllmMaps_haveTwoBlocksAnEvent_longEventsEight() {
        List<Frames> sets = DecodeBench.sets();
        CountingSink vllm = counted(sets.get(0));
        assertThat((double) vllm.blocks() / vllm.events()).isBetween(1.8, 2.2);
        for (Frames longEvents : sets.subList(5, 7)) {
            CountingSink sink = counted(longEvents);
            assertThat(sink.blocks()).as(longEvents.name()).isEqualTo(8 * sink.events());
        }
    }

    @Test
    void run_playsARecordingOverAndOverWithoutAnError() {
        Figures figures = new DecodeBench(1, 4_000).run(DecodeBench.sets().get(1));

        assertThat(figures.toString())
                .startsWith("impl=holdfast mode=decode set=vllm-0.22.1-arrays frames=12 bytes=6446 blocks=80 ")
                .contains(" mops_cpu=", " decode_mops_cpu=", " chain_mops_cpu=")
                .endsWith(" errors=0");
    }

    private static CountingSink counted(Frames frames) {
        CountingSink sink = new CountingSink();
        KvEventDecoder decoder = new KvEventDecoder();
        long sequence = 0;
        for (byte[] payload : frames.payloads()) {
            assertThat(decoder.decode(payload, sequence++, sink))
                    .as(decoder.refusal())
                    .isTrue();
        }
        return sink;
    }
}
