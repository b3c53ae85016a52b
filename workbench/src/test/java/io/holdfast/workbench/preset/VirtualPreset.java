package io.holdfast.workbench.preset;

import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.Pace;
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

    /** The preset with these values of its parameters, as {@code requests=5}. */
    static Preset preset(String name, String... values) {
        return Presets.of(values(name, values));
    }

    static Values values(String name, String... values) {
        Definition definition = Presets.named(name);
        return Values.of(definition, Values.parse(definition, List.of(values)));
    }

    static VirtualPreset run(Preset preset, VirtualServer server, Path place) {
        return run(
                preset,
                server,
                place,
                preset.definition().warmUps(),
                new Pace.Limits(preset.definition().cooldown(), Optional.empty()));
    }

    static VirtualPreset run(Preset preset, VirtualServer server, Path place, int warmUps, Pace.Limits limits) {
        List<StartedServer.Variant> started = new ArrayList<>();
        LoadFolder folder = LoadFolder.create(place, plan(preset, server));
        go(preset, server, folder, warmUps, limits, started);
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
        outcome.write(place);
        return new VirtualPreset(folder, folder.legs(), results, outcome, started);
    }

    static LoadFolder.Plan plan(Preset preset, VirtualServer server) {
        return Suite.plan(
                preset.name(), preset.settings(), preset.legs(server.engine().facts()));
    }

    /** Runs what a folder lacks. */
    static void go(
            Preset preset,
            VirtualServer server,
            LoadFolder folder,
            int warmUps,
            Pace.Limits limits,
            List<StartedServer.Variant> started) {
        List<Suite.Leg> legs = preset.legs(server.engine().facts());
        Lives lives = new Lives(preset, server.engine(), started::add, server.clock(), warmUps);
        Pace pace = Pace.of(lives, legs, folder, limits, server.clock(), sentence -> {});
        new Suite(legs, lives, pace, server.clock(), new Quiet()).run(folder);
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
