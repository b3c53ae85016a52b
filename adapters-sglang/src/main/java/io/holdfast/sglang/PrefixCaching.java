package io.holdfast.sglang;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.http.EngineHttp;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;

/** Finds out whether an SGLang engine keeps prefixes at all, and in how many caches. */
public final class PrefixCaching {
    private PrefixCaching() {}

    /** Asks until the engine says something; {@code timer} paces the questions. */
    public static CompletionStage<Capabilities> ask(EngineHttp http, ScheduledExecutorService timer) {
        return ServerInfo.asked(http, timer, PrefixCaching::judge);
    }

    private static Capabilities judge(ServerInfo info) {
        return info.hindrance().orElseGet(() -> new Capabilities(true, "The engine keeps what was used last."));
    }
}
