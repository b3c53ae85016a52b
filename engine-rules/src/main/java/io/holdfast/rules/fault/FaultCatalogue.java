package io.holdfast.rules.fault;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** All faults that there are, and how they are written. */
public final class FaultCatalogue {
    private static final List<FaultKind> ALL = List.of(
            GpuFault.ColdFirstWave.KIND,
            GpuFault.Warming.KIND,
            GpuFault.Drift.KIND,
            GpuFault.Throttling.KIND,
            GpuFault.HoldsSlow.KIND,
            GpuFault.Noise.KIND,
            CacheFault.CapacityFalls.KIND,
            CacheFault.DecodeCannotEvict.KIND,
            CacheFault.FlushRefused.KIND,
            CacheFault.PinIgnored.KIND,
            CacheFault.PinForgiving.KIND,
            CacheFault.AutoUnpin.KIND,
            CacheFault.HoldLost.KIND,
            HttpFault.PinLate.KIND,
            HttpFault.EmptyOutputs.KIND,
            HttpFault.StalledStream.KIND,
            HttpFault.BrokenSse.KIND,
            HttpFault.HttpError.KIND,
            HttpFault.UsageWrong.KIND,
            EventFault.EventLoss.KIND,
            EventFault.EventDelay.KIND,
            EventFault.EventDuplicates.KIND,
            EventFault.EventReorder.KIND,
            EventFault.ReplayShort.KIND,
            EventFault.SequenceReset.KIND,
            EventFault.ClockSkew.KIND,
            ServerFault.SlowStart.KIND,
            ServerFault.Restart.KIND,
            ServerFault.OtherModel.KIND,
            ServerFault.ApiKey.KIND,
            ServerFault.DpRanks.KIND);

    private FaultCatalogue() {}

    public static List<FaultKind> all() {
        return ALL;
    }

    /** All of them for a person to read: the form, and indented what it does, its bounds and what it imitates. */
    public static String text() {
        return ALL.stream().map(FaultCatalogue::entry).collect(Collectors.joining("\n"));
    }

    /**
     * A kind by its name.
     *
     * @throws IllegalArgumentException for another name, with one sentence that lists them
     */
    public static FaultKind kind(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return ALL.stream()
                .filter(one -> one.name().equals(lower))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("There is no fault \"" + name + "\"; there are "
                        + ALL.stream().map(FaultKind::name).sorted().collect(Collectors.joining(", ")) + "."));
    }

    static Fault parse(String text) {
        String[] nameAndRest = text.strip().split("=", 2);
        return kind(nameAndRest[0])
                .make(nameAndRest.length == 1 ? List.of() : Arrays.asList(nameAndRest[1].split(",", -1)));
    }

    private static String entry(FaultKind kind) {
        StringBuilder entry = new StringBuilder(kind.form()).append('\n');
        entry.append("    ").append(kind.effect()).append('\n');
        for (Argument argument : kind.arguments()) {
            entry.append("    ").append(argument.name()).append(": ").append(argument.bounds());
            argument.defaultValue()
                    .ifPresent(value -> entry.append("; ").append(value).append(" unless told"));
            entry.append(".\n");
        }
        return entry.append("    Imitates: ")
                .append(kind.incident())
                .append('\n')
                .toString();
    }
}
