package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

/**
 * The memory of one device, as far as the caches of its engines may share it.
 *
 * @param memoryBytes all it has
 * @param utilization what of that kvcached may use ({@code KVCACHED_GPU_UTILIZATION})
 * @param weightsBytes of all models on it
 * @param activationsBytes what requests take beside the cache
 * @param reserveBytes what is to stay free
 */
public record DeviceConfig(
        String id, long memoryBytes, double utilization, long weightsBytes, long activationsBytes, long reserveBytes) {
    public DeviceConfig {
        require(!id.isBlank(), "id", id, "give the device a short name");
        require(
                utilization > 0 && utilization <= 1,
                "utilization",
                utilization,
                "write a number above 0 and at most 1");
        long left = (long) (memoryBytes * utilization) - weightsBytes - activationsBytes - reserveBytes;
        require(
                left > 0,
                "memory",
                memoryBytes,
                "nothing of it is left for caches beside utilization, weights, activations and reserve: write what the"
                        + " device has");
    }

    /** What the limits of its engines may be together. */
    public long budgetBytes() {
        return (long) (memoryBytes * utilization) - weightsBytes - activationsBytes - reserveBytes;
    }
}
