package io.holdfast.app;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings;
import java.nio.file.Path;

/** Emulated engines whose tokens take next to no time, in this process or as a command. */
final class QuickEngine {
    static final EmulatorSettings PLAIN = EmulatorSettings.defaults()
            .withPrefillMicrosPerToken(5)
            .withFirstTokenMicros(500)
            .withDecodeMillis(1);

    /** One that can hold, by sessions. */
    static final EmulatorSettings SESSIONS = PLAIN.withKind(new EmulatorSettings.Kind.Sglang(
            SglangSettings.defaults().withSizes(2_048, 16, 1_024).withSessions(true), false));

    private QuickEngine() {}

    /** As a command line of the shell, to which options can be added. */
    static String command() {
        return String.join(
                " ",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m -Dmsgpack.universal-buffer=true -cp",
                "'" + System.getProperty("java.class.path") + "'",
                Holdfast.class.getName(),
                "emulate --port {port} --events 0 --first-token-ms 1 --decode-ms 1");
    }
}
