package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.kvcached.LimitSettings;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;

/** Rules by which the kvcached limit of one engine is moved. */
@Reload(Change.RESTART)
public record LimitConfig(
        @Key("device whose memory the engine shares")
        @Unit(value = "name", range = "listed under devices")
        @Default(why = "it shares with nobody")
        Optional<String> device,

        @Key("a page over all layers")
        @Unit(range = "whole pages")
        @Default(why = "found out from what the segment says")
        OptionalLong bundle,

        @Key("`KVCACHED_PAGE_SIZE_MB`") @Unit(range = "whole 2M") @Default(value = "2M", why = "kvcached's own default")
        long page,

        @Key("pages that a limit leaves above what is mapped")
        @Unit(value = "pages", from = 1, to = 1_000)
        @Default(value = "5", why = "kvcached's `KVCACHED_MIN_RESERVED_PAGES`")
        int marginPages,

        @Key("least that a limit may be")
        @Unit(range = "from 0")
        @Default(value = "0", why = "the guards by load come first")
        long floor,

        @Key("most of the startup limit that one move takes or gives")
        @Unit(value = "part", above = 0, to = 0.5)
        @Default(value = "0.2", why = "five moves go all the way, none is a shock")
        double step,

        @Key(name = "coolDownSeconds", value = "least time between two moves")
        @Unit(from = 1, to = 3_600)
        @Default(value = "5", why = "an engine shows within seconds what a move did")
        Duration coolDown,

        @Key("moves it by load as well") @Default(value = "false", why = "on request only, until somebody believes it")
        boolean pressure,

        @Key("back to the startup limit when the sidecar ends")
        @Default(value = "true", why = "nothing of ours stays behind")
        boolean restore) {
    public LimitConfig {
        require(page > 0 && page % (2 << 20) == 0, "page", page, "write KVCACHED_PAGE_SIZE_MB of the engine, whole 2M");
        require(
                bundle.orElse(page) >= page && bundle.orElse(page) % page == 0,
                "bundle",
                bundle.orElse(page),
                "write the page times the model's layers, times 2 where keys and values are apart, or leave the key"
                        + " out");
    }

    static LimitConfig defaults() {
        return Binder.read(LimitConfig.class, "", JsonNodeFactory.instance.objectNode());
    }

    /** Returns the guards. */
    public LimitSettings settings() {
        return new LimitSettings(bundle, page, marginPages, floor, step, coolDown, pressure, restore);
    }
}
