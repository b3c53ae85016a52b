package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.PinAnswer;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** The two engines that a load test can run against in virtual time. */
public final class VirtualRules {
    private VirtualRules() {}

    public static VirtualEngine.Rules sglang(SglangSettings settings) {
        return new VirtualEngine.Rules() {
            @Override
            public VirtualEngine.Running start(
                    Faults faults, EngineClock clock, Gpu gpu, Model model, Consumer<List<CacheEvent>> events) {
                return new Sglang(
                        settings, new SglangEngine(settings, faults, clock, gpu, model, events, ElasticPool.OWN));
            }

            @Override
            public EngineFacts facts() {
                return new EngineFacts(
                        Family.SGLANG,
                        OptionalInt.of(settings.pageTokens()),
                        OptionalLong.of(settings.capacityTokens()),
                        OptionalLong.of(settings.maxPromptTokens()),
                        Optional.empty());
            }
        };
    }

    static VirtualEngine.Rules vllm(VllmSettings settings) {
        return new VirtualEngine.Rules() {
            @Override
            public VirtualEngine.Running start(
                    Faults faults, EngineClock clock, Gpu gpu, Model model, Consumer<List<CacheEvent>> events) {
                return new Vllm(new VllmEngine(settings, faults, clock, gpu, model, events, ElasticPool.OWN));
            }

            @Override
            public EngineFacts facts() {
                if (settings.stage().isPresent()) {
                    return EngineFacts.unknown();
                }
                return new EngineFacts(
                        Family.VLLM,
                        OptionalInt.of(settings.blockTokens()),
                        OptionalLong.of((long) settings.blocks() * settings.blockTokens()),
                        OptionalLong.of(settings.contextTokens()),
                        Optional.empty());
            }
        };
    }

    private record Vllm(VllmEngine rules) implements VirtualEngine.Running {
        @Override
        public Engine engine() {
            return rules;
        }

        @Override
        public boolean flush() {
            return rules.resetPrefixCache(false);
        }

        @Override
        public HoldRoutes routes() {
            return HoldRoutes.none("vLLM has neither sessions nor pins.");
        }
    }

    private record Sglang(SglangSettings settings, SglangEngine rules) implements VirtualEngine.Running, HoldRoutes {
        @Override
        public Engine engine() {
            return rules;
        }

        @Override
        public boolean flush() {
            return rules.flush();
        }

        @Override
        public HoldRoutes routes() {
            return this;
        }

        @Override
        public Optional<String> whyNoSessions() {
            return settings.sessions() ? Optional.empty() : Optional.of("This engine keeps nothing for sessions.");
        }

        @Override
        public Optional<String> closeSession(String session) {
            rules.closeSession(session);
            return Optional.empty();
        }

        @Override
        public Optional<String> whyNoPins() {
            return settings.variant() == SglangSettings.Variant.PIN_GPU
                    ? Optional.empty()
                    : Optional.of("This engine pins no blocks.");
        }

        @Override
        public PinCount pin(List<Long> blocks) {
            return count(rules.pin(array(blocks)));
        }

        @Override
        public PinCount unpin(List<Long> blocks) {
            return count(rules.unpin(array(blocks)));
        }

        private static PinCount count(PinAnswer answer) {
            return new PinCount(answer.count(), answer.message());
        }

        private static long[] array(List<Long> blocks) {
            return blocks.stream().mapToLong(Long::longValue).toArray();
        }
    }
}
