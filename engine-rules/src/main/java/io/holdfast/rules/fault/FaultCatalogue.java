package io.holdfast.rules.fault;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** All faults that there are, and how they are written. */
public final class FaultCatalogue {
    private static final List<Entry> ENTRIES = List.of(
            new Entry(GpuFault.ColdFirstWave.class, GpuFault.ColdFirstWave.KIND),
            new Entry(GpuFault.Warming.class, GpuFault.Warming.KIND),
            new Entry(GpuFault.Drift.class, GpuFault.Drift.KIND),
            new Entry(GpuFault.Throttling.class, GpuFault.Throttling.KIND),
            new Entry(GpuFault.HoldsSlow.class, GpuFault.HoldsSlow.KIND),
            new Entry(GpuFault.Noise.class, GpuFault.Noise.KIND),
            new Entry(CacheFault.CapacityFalls.class, CacheFault.CapacityFalls.KIND),
            new Entry(CacheFault.DecodeCannotEvict.class, CacheFault.DecodeCannotEvict.KIND),
            new Entry(CacheFault.FlushRefused.class, CacheFault.FlushRefused.KIND),
            new Entry(CacheFault.PinIgnored.class, CacheFault.PinIgnored.KIND),
            new Entry(CacheFault.PinForgiving.class, CacheFault.PinForgiving.KIND),
            new Entry(CacheFault.AutoUnpin.class, CacheFault.AutoUnpin.KIND),
            new Entry(CacheFault.HoldLost.class, CacheFault.HoldLost.KIND),
            new Entry(HttpFault.PinLate.class, HttpFault.PinLate.KIND),
            new Entry(HttpFault.EmptyOutputs.class, HttpFault.EmptyOutputs.KIND),
            new Entry(HttpFault.StalledStream.class, HttpFault.StalledStream.KIND),
            new Entry(HttpFault.BrokenSse.class, HttpFault.BrokenSse.KIND),
            new Entry(HttpFault.HttpError.class, HttpFault.HttpError.KIND),
            new Entry(HttpFault.UsageWrong.class, HttpFault.UsageWrong.KIND),
            new Entry(EventFault.EventLoss.class, EventFault.EventLoss.KIND),
            new Entry(EventFault.EventDelay.class, EventFault.EventDelay.KIND),
            new Entry(EventFault.EventDuplicates.class, EventFault.EventDuplicates.KIND),
            new Entry(EventFault.EventReorder.class, EventFault.EventReorder.KIND),
            new Entry(EventFault.ReplayShort.class, EventFault.ReplayShort.KIND),
            new Entry(EventFault.SequenceReset.class, EventFault.SequenceReset.KIND),
            new Entry(EventFault.ClockSkew.class, EventFault.ClockSkew.KIND),
            new Entry(ServerFault.SlowStart.class, ServerFault.SlowStart.KIND),
            new Entry(ServerFault.Restart.class, ServerFault.Restart.KIND),
            new Entry(ServerFault.OtherModel.class, ServerFault.OtherModel.KIND),
            new Entry(ServerFault.ApiKey.class, ServerFault.ApiKey.KIND),
            new Entry(ServerFault.DpRanks.class, ServerFault.DpRanks.KIND));

    private static final List<FaultKind> ALL = ENTRIES.stream().map(Entry::kind).toList();

    private record Entry(Class<? extends Fault> type, FaultKind kind) {}

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

    static FaultKind kind(Class<? extends Fault> type) {
        return ENTRIES.stream()
                .filter(entry -> entry.type().equals(type))
                .findFirst()
                .orElseThrow()
                .kind();
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
