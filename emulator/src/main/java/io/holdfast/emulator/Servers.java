package io.holdfast.emulator;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.Front;
import io.holdfast.emulator.api.SglangApi;
import io.holdfast.emulator.api.VllmApi;
import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.Gpu;
import io.holdfast.emulator.engine.Ranks;
import io.holdfast.emulator.fault.Faults;
import io.holdfast.emulator.sglang.SglangEngine;
import io.holdfast.emulator.sglang.SglangSettings;
import io.holdfast.emulator.vllm.VllmEngine;
import io.holdfast.emulator.vllm.VllmSettings;
import io.holdfast.emulator.wire.EventPublisher;
import io.vertx.core.Vertx;

/** Puts the rooms together: each kind of server from its engine and the HTTP that speaks for it. */
final class Servers {
    private Servers() {}

    static Life<?> begin(Vertx vertx, EmulatorSettings settings, Faults faults, EngineClock clock) {
        return switch (settings.kind()) {
            case EmulatorSettings.Kind.Sglang kind ->
                Life.begin(vertx, settings, new Sglang(vertx, settings, kind.settings(), faults, clock), faults, clock);
            case EmulatorSettings.Kind.Vllm kind ->
                Life.begin(vertx, settings, new Vllm(vertx, settings, kind.settings(), faults, clock), faults, clock);
        };
    }

    private record Sglang(Vertx vertx, EmulatorSettings settings, SglangSettings kind, Faults faults, EngineClock clock)
            implements Life.Make<SglangEngine> {
        @Override
        public SglangEngine engine(Gpu gpu, EventPublisher events) {
            return new SglangEngine(
                    kind, faults, clock, gpu, settings.tokenizer().model(settings.seed()), events::publish);
        }

        @Override
        public Front http(Ranks<SglangEngine> ranks, EventPublisher first) {
            return new SglangApi(vertx, kind, api(settings, ranks, first), clock, ranks, faults);
        }
    }

    private record Vllm(Vertx vertx, EmulatorSettings settings, VllmSettings kind, Faults faults, EngineClock clock)
            implements Life.Make<VllmEngine> {
        @Override
        public VllmEngine engine(Gpu gpu, EventPublisher events) {
            return new VllmEngine(
                    kind, faults, clock, gpu, settings.tokenizer().model(settings.seed()), events::publish);
        }

        @Override
        public Front http(Ranks<VllmEngine> ranks, EventPublisher first) {
            return new VllmApi(vertx, kind, api(settings, ranks, first), clock, ranks, faults);
        }
    }

    private static ApiSettings api(EmulatorSettings settings, Ranks<?> ranks, EventPublisher first) {
        return ApiSettings.of(settings.seed(), first.port())
                .withModel(settings.model())
                .withTokenizer(settings.tokenizer())
                .withTemplate(settings.template())
                .withReplayPort(first.replayPort())
                .withRanks(ranks.count());
    }
}
