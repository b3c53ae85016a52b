package io.holdfast.storm;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.EngineLook;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.Connector;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** One life of an engine, whichever it is; what an engine does not have is empty. */
sealed interface EngineRules {
    /** A vLLM of these sizes, with NIXL or with Holdfast's connector. */
    static EngineRules vllm(
            SglangSettings sizes,
            boolean nixl,
            Faults faults,
            EngineClock clock,
            Gpu gpu,
            Model model,
            Consumer<List<CacheEvent>> publisher) {
        int page = sizes.pageTokens();
        VllmSettings settings = VllmSettings.defaults()
                .withSizes(sizes.capacityTokens() / page + 1, page, sizes.contextTokens())
                .withBatch(sizes.maxRunning(), sizes.chunkedPrefillTokens());
        VllmSettings loaded = nixl
                ? settings.withNixlLease(VirtualEngine.NIXL_LEASE)
                : settings.withConnector(Connector.of("a storm's own secret"));
        return new Vllm(
                new VllmEngine(loaded, faults, clock, gpu, model, publisher, ElasticPool.OWN),
                page,
                sizes.contextTokens());
    }

    void submit(Generation request);

    /** One pass; throws {@link EngineDeath} when its scheduler dies. */
    boolean step();

    boolean flush();

    void closeSession(String session);

    void limitTokens(int tokens);

    Load load();

    /** As its gauges show it. */
    Load reported();

    int pin(long block);

    int unpin(long block);

    Map<Long, Integer> pins();

    /** Whether a pin of the block takes memory. */
    boolean holds(long block);

    /** Those of the blocks that end a node. */
    List<Long> endingNodes(List<Long> blocks);

    /** Blocks of at least this priority. */
    Set<Long> ofPriority(long least);

    /** Blocks that sessions refer to, by the session's id. */
    Map<String, Set<Long>> ofSessions();

    /** SGLang, of any variant. */
    record Sglang(SglangEngine engine) implements EngineRules {
        @Override
        public void submit(Generation request) {
            engine.submit(request);
        }

        @Override
        public boolean step() {
            return engine.step();
        }

        @Override
        public boolean flush() {
            return engine.flush();
        }

        @Override
        public void closeSession(String session) {
            engine.closeSession(session);
        }

        @Override
        public void limitTokens(int tokens) {
            engine.limitTokens(tokens);
        }

        @Override
        public Load load() {
            return Load.of(engine.stats());
        }

        @Override
        public Load reported() {
            return Load.of(engine.reported());
        }

        @Override
        public int pin(long block) {
            return engine.pin(new long[] {block}).count();
        }

        @Override
        public int unpin(long block) {
            return engine.unpin(new long[] {block}).count();
        }

        @Override
        public Map<Long, Integer> pins() {
            return EngineLook.pins(engine);
        }

        @Override
        public boolean holds(long block) {
            return EngineLook.holds(engine, block);
        }

        @Override
        public List<Long> endingNodes(List<Long> blocks) {
            return EngineLook.endingNodes(engine, blocks);
        }

        @Override
        public Set<Long> ofPriority(long least) {
            return EngineLook.ofPriority(engine, least);
        }

        @Override
        public Map<String, Set<Long>> ofSessions() {
            return EngineLook.ofSessions(engine);
        }
    }

    /**
     * vLLM, which has no pins; what its connector holds or leases are its sessions. Its priorities order requests, not evictions.
     */
    record Vllm(VllmEngine engine, int blockTokens, int contextTokens) implements EngineRules {
        @Override
        public void submit(Generation request) {
            request.limitAnswer(contextTokens - request.prompt().length);
            engine.submit(request);
        }

        @Override
        public boolean step() {
            return engine.step();
        }

        @Override
        public boolean flush() {
            return engine.resetPrefixCache(false);
        }

        @Override
        public void closeSession(String session) {}

        @Override
        public void limitTokens(int tokens) {
            engine.limitBlocks(tokens / blockTokens);
        }

        @Override
        public Load load() {
            return Load.of(engine.stats(), blockTokens);
        }

        @Override
        public Load reported() {
            return load();
        }

        @Override
        public int pin(long block) {
            return 0;
        }

        @Override
        public int unpin(long block) {
            return 0;
        }

        @Override
        public Map<Long, Integer> pins() {
            return Map.of();
        }

        @Override
        public boolean holds(long block) {
            return false;
        }

        @Override
        public List<Long> endingNodes(List<Long> blocks) {
            return List.of();
        }

        @Override
        public Set<Long> ofPriority(long least) {
            return Set.of();
        }

        @Override
        public Map<String, Set<Long>> ofSessions() {
            return engine.held();
        }
    }
}
