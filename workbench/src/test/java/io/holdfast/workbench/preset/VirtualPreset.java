package io.holdfast.workbench.preset;

import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** A preset that ran on an engine in virtual time, in a folder. */
record VirtualPreset(
        LoadFolder folder,
        List<LoadLeg> legs,
        ResultFile results,
        Preset.Outcome outcome,
        List<StartedServer.Variant> started) {
    private static final Instant BEGUN = Instant.parse("2026-11-22T10:11:12Z");
    private static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0);

    /** An SGLang with that much cache, whose requests take a fixed time, a time for each token read and one for each written. */
    static VirtualServer server(int capacity, int page, Speed speed) {
        return VirtualServer.sglang(SglangSettings.defaults().withSizes(capacity, page, 8_192), speed, 1);
    }

    static VirtualServer server(int capacity, int page) {
        return server(capacity, page, new Speed(40, 10_000, 1_000, 1));
    }

    static VirtualPreset run(Preset preset, VirtualServer server, Path place) {
        return run(preset, server, place, PresetRun.Pace.of(preset));
    }

    static VirtualPreset run(Preset preset, VirtualServer server, Path place, PresetRun.Pace pace) {
        List<StartedServer.Variant> started = new ArrayList<>();
        PresetRun run = new PresetRun(
                preset, server.engine(), started::add, server.clock(), new Quiet(), pace, ColdLegs.asFound());
        LoadFolder.Plan plan = run.plan(Map.of());
        LoadFolder folder = LoadFolder.create(place, plan);
        run.run(folder);
        ResultFile results = new ResultFile(
                preset.name(),
                "a model",
                BEGUN.toString(),
                Map.of(),
                folder.legs().stream()
                        .map(leg -> leg.result("test", PERCENTILES, Optional.empty()))
                        .toList());
        String json = ResultFile.freeName(place, preset.name(), "a model", BEGUN, ".json")
                .getFileName()
                .toString();
        Preset.Outcome outcome = preset.outcome(new Preset.Ended(
                folder.legs(), results, server.engine().facts(), json.substring(0, json.length() - 5)));
        PresetRun.write(place, outcome);
        return new VirtualPreset(folder, folder.legs(), results, outcome, started);
    }

    static Suite.Watcher quiet() {
        return new Quiet();
    }

    LoadLeg leg(String id) {
        return legs.stream().filter(leg -> leg.id().equals(id)).findFirst().orElseThrow();
    }

    private record Quiet() implements Suite.Watcher {
        @Override
        public void begins(Suite.Leg leg, int number, int of) {}

        @Override
        public void ended(LoadLeg leg) {}
    }

    /** The same leg of a server that counts no tokens. */
    static LoadLeg uncounted(LoadLeg leg) {
        return new LoadLeg(
                leg.id(),
                leg.load(),
                leg.loadId(),
                leg.bodies(),
                leg.settings(),
                leg.startedAt(),
                leg.parts().stream()
                        .map(part -> new LoadLeg.Part(
                                part.name(),
                                part.measured(),
                                part.began(),
                                part.ended(),
                                part.requests().stream()
                                        .map(VirtualPreset::uncounted)
                                        .toList()))
                        .toList(),
                leg.notes(),
                leg.client(),
                leg.problem());
    }

    private static RequestRecord uncounted(RequestRecord request) {
        return new RequestRecord(
                request.number(),
                request.role(),
                request.cycle(),
                request.status(),
                request.scheduled(),
                request.sent(),
                request.firstByte(),
                request.firstToken(),
                request.lastToken(),
                request.done(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                request.problem());
    }
}
