package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.workbench.preset.Lives;
import io.holdfast.workbench.preset.Preset;
import java.time.Duration;
import java.util.Optional;
import picocli.CommandLine;

/** A preset whose legs are sent to one server, and whose files are computed from all of them. */
record PresetJob(Preset preset, SuiteOptions suite, CommandLine command) implements SuiteJob {
    int run() {
        if (preset.needsToStart() && !suite.started().isStarted()) {
            throw new CommandException("The legs of " + preset.name()
                    + " differ in how the server is started; say how by --server-command.");
        }
        return suite.run(command, this);
    }

    @Override
    public String name() {
        return preset.name();
    }

    @Override
    public Planned plan(Seat seat) {
        Lives lives = new Lives(preset, seat.engine(), seat.starts(), seat.clock(), seat.warmUps());
        return new Planned(
                preset.settings(), preset.legs(seat.engine().facts()), lives, lives, (leg, result) -> result);
    }

    @Override
    public int finish(Over over) {
        if (!over.folder().missing().isEmpty()) {
            return suite.stopped(command, over.folder().path(), "");
        }
        String file = over.file().getFileName().toString();
        Preset.Outcome outcome = preset.outcome(new Preset.Ended(
                over.folder().legs(),
                over.results(),
                over.facts(),
                file.substring(0, file.length() - ".json".length())));
        outcome.write(over.folder().path());
        return suite.report(over, outcome);
    }

    @Override
    public Optional<SuiteOptions.Api> api() {
        return preset.definition().asks().map(SuiteOptions.Api::valueOf);
    }

    @Override
    public Duration requestTimeout() {
        return preset.definition().requestTimeout();
    }

    @Override
    public Optional<Integer> warmUps() {
        return Optional.of(preset.definition().warmUps());
    }

    @Override
    public Duration cooldown() {
        return preset.definition().cooldown();
    }

    @Override
    public StartedServer.Variant first() {
        return preset.firstLife().variant();
    }
}
