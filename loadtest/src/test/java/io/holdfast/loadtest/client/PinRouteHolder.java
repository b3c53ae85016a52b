package io.holdfast.loadtest.client;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.loadtest.client.ControlHttp.Answer;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.Holder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;

/** Holds by an engine's own pin route, without a sidecar. */
final class PinRouteHolder implements Holder, AutoCloseable {
    private static final int PAGE = 16;

    private final ControlHttp http;

    PinRouteHolder(URI engine) {
        http = new ControlHttp(engine, Map.of(), Duration.ofSeconds(10));
    }

    @Override
    public String name() {
        return "pin route";
    }

    @Override
    public void check() {
        get();
    }

    @Override
    public FlushReceipt follow(Flush flush) {
        return new FlushReceipt("", 1, flush.flush());
    }

    @Override
    public HoldReceipt hold(int[] prefix, Duration within) {
        long[] names = SglangBlockNames.of(prefix, PAGE);
        // The last block of the prime's insertion: a pin locks it and all before it.
        String deepest = Long.toString(names[names.length - 1]);
        Answer answer = post("/hicache/pin_blocks", deepest);
        return answer.json().path("pinned_count").asInt() == 1
                ? HoldReceipt.held(deepest, names.length, names.length, (long) names.length * PAGE, answer.text())
                : HoldReceipt.notHeld(deepest, names.length, answer.text());
    }

    @Override
    public ReleaseReceipt release(HoldReceipt hold) {
        Answer answer = post("/hicache/unpin_blocks", hold.id());
        return answer.json().path("unpinned_count").asInt() == 1
                ? ReleaseReceipt.released(answer.text())
                : ReleaseReceipt.lost(answer.text());
    }

    @Override
    public HoldReceipt sham() {
        return HoldReceipt.sham(get());
    }

    @Override
    public ReleaseReceipt shamRelease() {
        return ReleaseReceipt.sham(get());
    }

    private String get() {
        try {
            return Integer.toString(http.get("/server_info").status());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Answer post(String path, String name) {
        try {
            return http.post(path, "{\"block_hashes\":[" + name + "]}");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        http.close();
    }
}
