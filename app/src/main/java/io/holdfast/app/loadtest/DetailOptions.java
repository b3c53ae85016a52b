package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.measure.Slo;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Option;

/** Which figures are told beside a verdict. */
public final class DetailOptions {
    private static final double MOST = 100;

    @Option(
            names = "--percentiles",
            paramLabel = "P,P",
            hideParamSyntax = true,
            split = ",",
            defaultValue = "50,90,95,99",
            description = "Percentiles of latencies to report (default: ${DEFAULT-VALUE}).")
    private List<Double> percentiles = RunMeasures.PERCENTILES;

    @Option(
            names = "--slo",
            paramLabel = "LIMITS",
            description = "Limits that a request must meet to count as goodput, as ttft=200ms,tpot=50ms,e2e=10s.")
    private Optional<String> slo = Optional.empty();

    public DetailOptions() {}

    RunMeasures of(Result result) {
        return RunMeasures.of(result, percentiles(), slo());
    }

    public Optional<Slo> slo() {
        return slo.map(Slo::of);
    }

    public List<Double> percentiles() {
        check();
        return percentiles;
    }

    public void check() {
        Optional<Slo> _ = slo();
        percentiles.stream()
                .filter(each -> !(each > 0 && each < MOST))
                .findFirst()
                .ifPresent(each -> {
                    throw new CommandException(
                            "--percentiles has " + each + "; write numbers between 0 and 100, as 50,99.");
                });
    }
}
