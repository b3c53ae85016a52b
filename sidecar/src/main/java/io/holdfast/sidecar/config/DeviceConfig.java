package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;

/** Memory of one device, as far as the caches of its engines may share it. */
@Reload(Change.RESTART)
public record DeviceConfig(
        String id,

        @Key(name = "memory", value = "all that it has") @Default(why = "no default: only its owner knows")
        long memoryBytes,

        @Key("part of it that kvcached may use (`KVCACHED_GPU_UTILIZATION`)")
        @Unit(value = "part", above = 0, to = 1)
        @Default(value = "0.95", why = "kvcached's own default")
        double utilization,

        @Key(name = "weights", value = "memory that the models on it take together")
        @Default(why = "no default: a wrong guess would let caches grow into them")
        long weightsBytes,

        @Key(name = "activations", value = "memory that requests take beside the cache")
        @Unit(range = "from 0")
        @Default(value = "0", why = "engines differ too much")
        long activationsBytes,

        @Key(name = "reserve", value = "memory that is to stay free")
        @Unit(range = "from 0")
        @Default(value = "0", why = "as above")
        long reserveBytes) {
    public DeviceConfig {
        require(!id.isBlank(), "id", id, "give the device a short name");
        require(
                (long) (memoryBytes * utilization) - weightsBytes - activationsBytes - reserveBytes > 0,
                "memory",
                memoryBytes,
                "nothing of it is left for caches beside utilization, weights, activations and reserve: write what the"
                        + " device has");
    }

    /** Returns what the limits of its engines may be together. */
    public long budgetBytes() {
        return (long) (memoryBytes * utilization) - weightsBytes - activationsBytes - reserveBytes;
    }
}
