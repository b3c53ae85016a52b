package io.holdfast.app;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.LoadTest;
import io.holdfast.loadtest.LoadTestSettings;
import io.holdfast.loadtest.Progress;
import io.holdfast.loadtest.Result;
import io.holdfast.loadtest.SidecarHolder;
import io.holdfast.loadtest.TestBench;
import io.holdfast.loadtest.Workload;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The demo: two scenes with a verdict and one without, on real sockets.
 *
 * <p>Nothing here knows what will come out. Each scene is an ordinary load test against an ordinary engine and sidecar;
 * the demo compares what it found with what is there.
 */
final class Demo {
    /** The readiness check of a server life sends one real request, which counts for the warming. */
    private static final int READINESS_REQUESTS = 1;

    private static final int CONCURRENCY = 4;
    private static final Duration LEASE = Duration.ofMinutes(10);

    private final List<Scene> scenes;
    private final DemoSettings settings;
    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean json;

    Demo(List<Scene> scenes, DemoSettings settings, PrintWriter out, PrintWriter err, boolean json) {
        this.scenes = List.copyOf(scenes);
        this.settings = settings;
        this.out = out;
        this.err = err;
        this.json = json;
    }

    /** Plays all scenes; true when each found what it should. */
    boolean play() {
        // With --json the story still goes to whoever watches, on the error stream.
        boolean live = !json && Page.onTerminal();
        DemoStory story = new DemoStory(new Page(json ? err : out, live), settings);
        List<Played> played = new ArrayList<>();
        boolean good;
        Vertx vertx = Vertx.vertx();
        try {
            story.opening();
            for (Scene scene : scenes) {
                story.begin(scene);
                Result result = test(vertx, scene, story);
                Played one = new Played(scene, result, settings.warming());
                story.end(one);
                played.add(one);
            }
            AutomaticScene automatic = AutomaticScene.play(vertx, settings.seed());
            story.automatic(automatic);
            good = automatic.asExpected() && played.stream().allMatch(Played::asExpected);
            story.closing(played, good);
            if (json) {
                out.println(DemoJson.document(settings, played, automatic, good));
            }
        } finally {
            vertx.close().await();
        }
        return good;
    }

    private Result test(Vertx vertx, Scene scene, Progress progress) {
        Workload workload = Workload.idlePrefixFlood(settings.seed(), scene.shape());
        LoadTestSettings test = LoadTestSettings.defaults().toBuilder()
                .blocks(settings.blocks())
                .seed(settings.seed())
                .concurrency(CONCURRENCY)
                .burnIn(settings.burnIn())
                .rehearsal(true)
                .statistic(settings.statistic())
                .holdSlot(scene.holdSlot())
                .build();
        try (Stage stage = Stage.open(vertx, engine(scene), false);
                SidecarHolder holder = new SidecarHolder(stage.sidecar(), Stage.ENGINE, LEASE, System::nanoTime)) {
            Path folder = Files.createTempDirectory("holdfast-demo-");
            Path journal = folder.resolve("journal.jsonl");
            try {
                TestBench bench = new TestBench(vertx, System::nanoTime, stage, holder);
                return LoadTest.run(bench, workload, test, journal, progress);
            } finally {
                Files.deleteIfExists(journal);
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private EmulatorSettings engine(Scene scene) {
        List<Fault> faults = new ArrayList<>(settings.faults());
        if (settings.warming()) {
            int legs = settings.burnIn() ? 2 : 1;
            faults.add(new GpuFault.Warming(READINESS_REQUESTS + legs * scene.requestsOfALeg()));
        }
        return scene.engine().withFaults(faults);
    }

    /** A quick engine, so that fifteen server lives take less than a minute, and slow enough to be heard over a busy machine. */
    static EmulatorSettings emulated(int capacityTokens) {
        return EmulatorSettings.defaults()
                .withCapacityTokens(capacityTokens)
                .withContextTokens(1_024)
                .withFirstTokenMicros(16_000)
                .withPrefillMicrosPerToken(30)
                .withDecodeMillis(1)
                .withVariant(SglangSettings.Variant.PIN_GPU)
                // One prompt of the flood in a pass: which of them meet in a batch would be left to chance.
                .withSglang(sglang -> sglang.withChunkedPrefillTokens(1_008));
    }
}
