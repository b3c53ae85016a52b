package io.holdfast.emulator;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.api.sglang.SglangApi;
import io.holdfast.emulator.api.vllm.VllmApi;
import io.holdfast.emulator.kvcached.KvSegment;
import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.emulator.wire.EventPublisher;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Makes each kind of server of its engine and its HTTP routes.
 *
 * <p>With kvcached each server instance has a memory segment of its own, which it leaves behind when it is killed. And it publishes no
 * events: kvcached puts a pool of its own in place of the engine's, and makes it without them.
 */
final class ServerFactory {
    private ServerFactory() {}

    static ServerInstance<?> start(Vertx vertx, EmulatorSettings settings, Faults faults, EngineClock clock) {
        if (settings.kvcached().isPresent() && faults.has(ServerFault.DpRanks.class)) {
            throw new EmulatorException("A server with kvcached has one rank; leave out the fault dp-ranks.");
        }
        Optional<KvcachedPool> memory =
                settings.kvcached().map(wanted -> KvcachedPool.start(wanted, clock, KvSegment.create(wanted)));
        try {
            return switch (settings.kind()) {
                case EmulatorSettings.Kind.Sglang kind ->
                    ServerInstance.start(
                            vertx,
                            settings,
                            new Sglang(vertx, settings, kind.settings(), faults, clock, memory),
                            faults,
                            clock,
                            memory);
                case EmulatorSettings.Kind.Vllm kind ->
                    ServerInstance.start(
                            vertx,
                            settings,
                            new Vllm(vertx, settings, kind.settings(), faults, clock, memory),
                            faults,
                            clock,
                            memory);
            };
        } catch (RuntimeException e) {
            memory.ifPresent(KvcachedPool::close);
            throw e;
        }
    }

    private static Consumer<List<CacheEvent>> publisher(EventPublisher events, Optional<KvcachedPool> memory) {
        return memory.isPresent() ? _ -> {} : events::publish;
    }

    private static ElasticPool elastic(Optional<KvcachedPool> memory) {
        return memory.<ElasticPool>map(pool -> pool).orElse(ElasticPool.OWN);
    }

    private record Sglang(
            Vertx vertx,
            EmulatorSettings settings,
            SglangSettings kind,
            Faults faults,
            EngineClock clock,
            Optional<KvcachedPool> memory)
            implements ServerInstance.Parts<SglangEngine> {
        @Override
        public SglangEngine engine(Gpu gpu, EventPublisher events) {
            return new SglangEngine(
                    kind,
                    faults,
                    clock,
                    gpu,
                    settings.tokenizer().model(settings.seed()),
                    publisher(events, memory),
                    elastic(memory));
        }

        @Override
        public HttpFrontend http(Ranks<SglangEngine> ranks, EventPublisher first) {
            return new SglangApi(vertx, kind, api(settings, ranks, first), clock, ranks, faults);
        }
    }

    private record Vllm(
            Vertx vertx,
            EmulatorSettings settings,
            VllmSettings kind,
            Faults faults,
            EngineClock clock,
            Optional<KvcachedPool> memory)
            implements ServerInstance.Parts<VllmEngine> {
        @Override
        public VllmEngine engine(Gpu gpu, EventPublisher events) {
            return new VllmEngine(
                    kind,
                    faults,
                    clock,
                    gpu,
                    settings.tokenizer().model(settings.seed()),
                    publisher(events, memory),
                    elastic(memory));
        }

        @Override
        public HttpFrontend http(Ranks<VllmEngine> ranks, EventPublisher first) {
            return new VllmApi(vertx, kind, api(settings, ranks, first), clock, ranks, faults);
        }
    }

    private static ApiSettings api(EmulatorSettings settings, Ranks<?> ranks, EventPublisher first) {
        return new ApiSettings(
                settings.model(),
                settings.tokenizer(),
                settings.template(),
                settings.seed(),
                first.port(),
                first.replayPort(),
                ranks.count(),
                settings.stamps());
    }
}
