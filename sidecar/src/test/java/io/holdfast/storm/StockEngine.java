package io.holdfast.storm;

import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.sidecar.AsConfigured;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.storm.StormSidecar.Way;

/** An engine as it is released, with the sizes that its operator chose. */
record StockEngine(Kind kind, int page, int context, int capacity) {
    /** More keys of the engine's configuration, to try what the defaults are not. */
    private static final String KEYS = System.getProperty("holdfast.storm.keys", "");

    /** A GPU of the present: about 50,000 tokens of prompts a second. */
    static final Speed SPEED = new Speed(20, 2_000, 5_000, 1);

    private static final int RUNNING = 256;

    /** Which engine, and what it can be held on by. */
    enum Kind {
        /** Started with {@code --enable-session-radix-cache}. */
        SGLANG_SESSIONS(EngineType.SGLANG, Way.SESSION_HOLD),
        SGLANG(EngineType.SGLANG, Way.KEEP_WARM),
        VLLM(EngineType.VLLM, Way.KEEP_WARM);

        @SuppressWarnings("ImmutableEnumChecker") // an enum itself
        final EngineType type;

        final Way way;

        Kind(EngineType type, Way way) {
            this.type = type;
            this.way = way;
        }

        boolean isVllm() {
            return type == EngineType.VLLM;
        }

        /** Whether what is held stays without being used. */
        boolean keepsUnused() {
            return way == Way.SESSION_HOLD;
        }
    }

    /** Whether the engine starts with these sizes: vLLM wants its longest request to fit, and blocks of 16 tokens or more. */
    boolean starts() {
        return capacity % page == 0 && (!kind.isVllm() || (page >= 16 && context <= capacity));
    }

    SglangSettings settings() {
        return SglangSettings.defaults()
                .withSizes(capacity, page, context)
                .withMaxRunning(RUNNING)
                .withChunkedPrefillTokens(capacity < 65_536 ? 2_048 : 8_192)
                .withSessions(kind == Kind.SGLANG_SESSIONS);
    }

    VirtualEngine start(Timeline time, StormOracle oracle) {
        VirtualEngine engine = new VirtualEngine("engine", time, settings(), SPEED, oracle, kind.isVllm());
        engine.remember(100);
        return engine;
    }

    /** What a sidecar beside it is configured with when nobody writes more than where the engine is. */
    StormSidecar.Written byDefault() {
        return new StormSidecar.Written(AsConfigured.controller(kind.type, KEYS), kind.way);
    }
}
