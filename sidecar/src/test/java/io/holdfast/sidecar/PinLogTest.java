package io.holdfast.sidecar;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.holdfast.events.SglangBlockNames;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** What the log says of each call that pins or unpins. */
class PinLogTest {
    @Test
    void debugLog_hasEachCallWithItsBlocksTimeAndOutcome(@TempDir Path state) {
        List<String> lines = new CopyOnWriteArrayList<>();
        AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                lines.add(event.getLevel() + " " + event.getFormattedMessage());
            }
        };
        Logger log = (Logger) LoggerFactory.getLogger(PinLog.class);
        Level before = log.getLevel();
        log.setLevel(Level.DEBUG);
        appender.start();
        log.addAppender(appender);
        try (TestBed bed = TestBed.pinning(state)) {
            int[] prompt = EngineClient.prompt(1, 128);
            bed.engine.generate(prompt);
            String id = bed.client.held(prompt);
            bed.client.release(id);
            long[] names = SglangBlockNames.of(prompt, TestBed.BLOCK);

            // The logger is the whole process's, so lines of other sidecars may stand between.
            List<String> wanted = List.of(
                    "DEBUG Engine demo: pin by pin_blocks of hold " + id + ", 8 blocks, 128 tokens from " + names[0]
                            + " to " + names[7] + " answered after [0-9.]+ ms: accepted",
                    "DEBUG Engine demo: unpin by pin_blocks of " + names[7] + " answered after [0-9.]+ ms: accepted",
                    "INFO Engine demo: pin of hold " + id + ", 8 blocks.*",
                    "INFO Engine demo: unpin of hold " + id + ", 8 blocks.*");
            Eventually.see(
                    "a line each of what was called and what came of it; missing",
                    () -> wanted.stream()
                            .filter(line -> lines.stream().noneMatch(said -> said.matches(line)))
                            .toList(),
                    List::isEmpty);
        } finally {
            log.detachAppender(appender);
            log.setLevel(before);
        }
    }
}
