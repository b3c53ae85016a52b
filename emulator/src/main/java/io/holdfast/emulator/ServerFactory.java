package io.holdfast.emulator;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.sglang.SglangApi;
import io.holdfast.emulator.api.vllm.TensorRtApi;
import io.holdfast.emulator.api.vllm.VllmApi;
import io.holdfast.emulator.kvcached.KvSegment;
import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.emulator.wire.EventPublisher;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
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
            Model model = settings.tokenizer().model(settings.seed());
            ElasticPool pool = memory.<ElasticPool>map(shared -> shared).orElse(ElasticPool.OWN);
            return switch (settings.kind()) {
                case EmulatorSettings.Kind.Sglang(SglangSettings its, boolean _) ->
                    ServerInstance.start(
                            vertx,
                            settings,
                            faults,
                            clock,
                            memory,
                            (gpu, events) ->
                                    new SglangEngine(its, faults, clock, gpu, model, publisher(events, memory), pool),
                            (ranks, first) -> new SglangApi(
                                            vertx, its, api(settings, ranks, first), clock, ranks, faults)
                                    .routes());
                case EmulatorSettings.Kind.Vllm(VllmSettings its) ->
                    ServerInstance.start(
                            vertx,
                            settings,
                            faults,
                            clock,
                            memory,
                            (gpu, events) ->
                                    new VllmEngine(its, faults, clock, gpu, model, publisher(events, memory), pool),
                            (ranks, first) -> {
                                ApiSettings api = api(settings, ranks, first);
                                return its.release() == Release.TENSORRT_LLM
                                        ? new TensorRtApi(vertx, its, api, clock, ranks, faults).routes()
                                        : new VllmApi(vertx, its, api, clock, ranks, faults).routes();
                            });
            };
        } catch (RuntimeException e) {
            memory.ifPresent(KvcachedPool::close);
            throw e;
        }
    }

    private static Consumer<List<CacheEvent>> publisher(EventPublisher events, Optional<KvcachedPool> memory) {
        return memory.isPresent() ? _ -> {} : events::publish;
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
