package io.holdfast.sidecar.view;

import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.EngineLink;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The kvcached segments of this host that no engine is configured for: those of engines to be added, or left over from killed ones. */
public final class OtherSegments {
    private final Map<String, EngineLink> engines;

    /** @param engines as they are followed, which may change */
    public OtherSegments(Map<String, EngineLink> engines) {
        this.engines = engines;
    }

    /** Returns them as they are now, in the order of their names. */
    public List<JsonObject> now() {
        Set<Path> known = engines.values().stream()
                .flatMap(engine -> engine.limit().stream())
                .map(EngineLimit::file)
                .collect(Collectors.toSet());
        return SegmentReader.find(SegmentReader.directory()).stream()
                .filter(file -> !known.contains(file))
                .flatMap(file -> SegmentReader.read(file) instanceof Segment segment
                        ? Stream.of(ApiJson.segment(file, segment))
                        : Stream.empty())
                .toList();
    }
}
