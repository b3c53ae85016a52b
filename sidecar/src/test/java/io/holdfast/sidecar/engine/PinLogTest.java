package io.holdfast.sidecar.engine;

import ch.qos.logback.classic.Level;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.HeardLog;
import io.holdfast.sidecar.TestBed;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the log says of each call that pins or unpins. */
class PinLogTest {
    @Test
    void debugLog_hasEachCallWithItsBlocksTimeAndOutcome(@TempDir Path state) {
        try (HeardLog calls = new HeardLog(PinLog.class.getName(), Level.DEBUG);
                HeardLog news = new HeardLog(EngineNews.LOGGER, Level.INFO);
                TestBed bed = TestBed.pinning(state)) {
            int[] prompt = EngineClient.prompt(1, 128);
            bed.engine.generate(prompt);
            String id = bed.client.held(prompt);
            bed.client.release(id);
            int[] other = EngineClient.prompt(2, 128);
            bed.engine.generate(other);
            String lost = bed.client.held(other);
            bed.emulator.restart();
            AtomicInteger prompts = new AtomicInteger(2);
            Eventually.see(
                    "a store of the second life reveals the restart",
                    () -> {
                        bed.engine.generate(EngineClient.prompt(prompts.incrementAndGet(), 128));
                        return news.lines;
                    },
                    lines -> lines.stream().anyMatch(line -> line.contains("Engine demo hold " + lost + ", ")));
            long[] names = SglangBlockNames.of(prompt, TestBed.BLOCK);

            // The logger is the whole process's, so lines of other sidecars may stand between.
            List<String> wanted = List.of(
                    "DEBUG Engine demo: pin by pin_blocks of hold " + id + ", 8 blocks, 128 tokens from " + names[0]
                            + " to " + names[7] + " answered after [0-9.]+ ms: accepted",
                    "DEBUG Engine demo: unpin by pin_blocks of " + names[7] + " answered after [0-9.]+ ms: accepted",
                    "INFO Engine demo pin of hold " + id + ", 8 blocks.*",
                    "INFO Engine demo unpin of hold " + id + ", 8 blocks.*",
                    "INFO Engine demo hold " + lost + ", 8 blocks.* lost: .*",
                    "INFO Engine demo can hold by pin_blocks: .*automaticHolds.*");
            Eventually.see(
                    "a line each of what was called and what came of it; missing",
                    () -> wanted.stream()
                            .filter(line -> Stream.concat(calls.lines.stream(), news.lines.stream())
                                    .noneMatch(said -> said.matches(line)))
                            .toList(),
                    List::isEmpty);
        }
    }
}
