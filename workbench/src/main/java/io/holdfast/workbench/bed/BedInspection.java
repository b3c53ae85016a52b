package io.holdfast.workbench.bed;

import com.sun.management.UnixOperatingSystemMXBean;
import io.holdfast.core.look.Finding;
import io.holdfast.loadtest.client.Calibration;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Looks at the machine that a load test would run on, and at what only a request through its own client shows. */
public final class BedInspection {
    /** Number of files that a process needs beside the streams of a load. */
    private static final int OTHER_FILES = 256;

    private static final int PROMPT_TOKENS = 96;
    private static final int FIRST_TOKEN = 1_000;
    private static final int TOKENS = 29_000;
    private static final int LEAST_JAVA = 25;
    private static final double MOST_OF_A_CORE = 0.6;
    private static final double MOST_LATE_MICROS = 5_000;
    private static final Pattern COMMIT = Pattern.compile("\\+.*\\bg([0-9a-f]{7,40})\\b");
    private static final Path CLOCK_SOURCE =
            Path.of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    private static final Path GOVERNOR = Path.of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");

    private final Wanted wanted;
    private final MachineTools tools;
    private final List<Finding> findings = new ArrayList<>();

    /**
     * Subject of an inspection.
     *
     * @param server where it listens
     * @param streams that a load would have under way at a time
     * @param sharedMemory the folder of it
     * @param needsIdleGpu whether another process on a GPU forbids to begin
     */
    public record Wanted(URI server, int streams, Path sharedMemory, boolean needsIdleGpu) {}

    /** Checks that were made, and the environment of every number that is measured there. */
    public record Found(List<Finding> findings, EnvironmentRecord environment) {
        public Found {
            findings = List.copyOf(findings);
        }
    }

    public BedInspection(Wanted wanted, MachineTools tools) {
        this.wanted = wanted;
        this.tools = tools;
    }

    /**
     * Looks; sends two small requests where there is an engine.
     *
     * @param engine that answers; absent where none does
     * @param flags that it tells
     * @param calibration streams from a server of this process, so many at a time
     */
    public Found inspect(
            Optional<EngineUnderTest> engine,
            Map<String, String> flags,
            IntFunction<Calibration.Level> calibration,
            LongSupplier nanos,
            RandomGenerator random) {
        SharedMemory memory = new SharedMemory(wanted.sharedMemory());
        Gpus gpus = Gpus.of(tools);
        Optional<ServerProcess> process = ServerProcess.of(wanted.server());
        engine.ifPresent(answering -> cacheReport(answering, random));
        String told = flags.entrySet().stream()
                .map(each -> each.getKey() + "=" + each.getValue())
                .collect(Collectors.joining(", "));
        if (!told.isEmpty()) {
            findings.add(Finding.ok("flags", told));
        }
        client(calibration.apply(wanted.streams()));
        files();
        clock(nanos);
        governor();
        java();
        gpu(gpus, process);
        findings.add(memory.mount());
        Map<String, String> variables =
                process.flatMap(ServerProcess::variables).orElse(Map.of());
        findings.addAll(memory.segments(variables));
        variables(variables).ifPresent(findings::add);
        Optional<String> version = engine.map(EngineUnderTest::facts).flatMap(EngineFacts::version);
        return new Found(
                findings,
                EnvironmentRecord.of(gpus, process)
                        .with("engine", engine.map(EngineUnderTest::facts).flatMap(BedInspection::name))
                        .with("commit", version.flatMap(BedInspection::commit))
                        .with("flags", Optional.of(told)));
    }

    private static Optional<String> name(EngineFacts facts) {
        return facts.family() == EngineFacts.Family.OTHER
                ? Optional.empty()
                : Optional.of(facts.family().name().toLowerCase(Locale.ROOT)
                        + facts.version().map(version -> " " + version).orElse(""));
    }

    /** A version that was built from a commit has it behind a plus sign and a g. */
    private static Optional<String> commit(String version) {
        Matcher found = COMMIT.matcher(version);
        return found.find() ? Optional.of(found.group(1)) : Optional.empty();
    }

    /** Sends the same prompt twice, so that the second finds it: a flag only promises, an answer proves. */
    private void cacheReport(EngineUnderTest engine, RandomGenerator random) {
        int[] prompt =
                random.ints(PROMPT_TOKENS, FIRST_TOKEN, FIRST_TOKEN + TOKENS).toArray();
        LoadRequest request = new LoadRequest(Role.PROBE, 0, prompt, 2);
        RequestRecord first = asked(engine, request);
        RequestRecord second = asked(engine, request);
        if (!second.isOk()) {
            findings.add(Finding.missing(
                    "request",
                    "A small request was not answered: " + second.problem() + ".",
                    "look into the server's log; check --route and --model"));
        } else if (second.cachedTokens().isEmpty()) {
            findings.add(Finding.warning(
                    "cached tokens",
                    "Answers do not say how many tokens were cached, so no exposure can be proven: every verdict would"
                            + " be NO_EXPOSURE or INCONCLUSIVE.",
                    "SGLang: --enable-cache-report, or --route SGLANG_GENERATE; vLLM: --enable-prompt-tokens-details"));
        } else if (second.cachedTokens().getAsInt() == 0) {
            findings.add(Finding.warning(
                    "cached tokens",
                    "The same prompt of " + PROMPT_TOKENS + " tokens sent twice found nothing cached.",
                    "switch the prefix cache on, or check whether a router sends the two to different engines"));
        } else {
            findings.add(Finding.ok(
                    "cached tokens",
                    "reported: " + second.cachedTokens().getAsInt() + " of "
                            + second.promptTokens().orElse(PROMPT_TOKENS) + " when a prompt came again, "
                            + first.cachedTokens().orElse(0) + " the first time"));
        }
    }

    private static RequestRecord asked(EngineUnderTest engine, LoadRequest request) {
        EngineUnderTest.Load load = engine.prepare(List.of(request));
        load.connect(1);
        return load.send(1, 1).getFirst();
    }

    private void client(Calibration.Level level) {
        double share = level.loopMicros() * level.tokensPerSecond() / 1e6;
        String seen = String.format(
                Locale.ROOT,
                "%d cores; %d streams of %.0f tokens/s in all take %.0f %% of the client's one",
                Runtime.getRuntime().availableProcessors(),
                level.streams(),
                level.tokensPerSecond(),
                100 * share);
        Optional<Double> late = level.first().map(Calibration.Misreading::p99);
        if (share > MOST_OF_A_CORE || late.filter(of -> of > MOST_LATE_MICROS).isPresent()) {
            findings.add(Finding.warning(
                    "client",
                    seen
                            + late.map(of -> String.format(
                                            Locale.ROOT,
                                            ", and stamps of first tokens are %.1f ms late (p99).",
                                            of / 1e3))
                                    .orElse("."),
                    "fewer streams, a machine with less other load, or taskset to cores that the server does not use;"
                            + " 'holdfast loadtest calibrate' has the figures"));
        } else {
            findings.add(Finding.ok("client", seen));
        }
    }

    private void files() {
        if (ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix) {
            long most = unix.getMaxFileDescriptorCount();
            int needed = wanted.streams() + OTHER_FILES;
            findings.add(
                    most < needed
                            ? Finding.missing(
                                    "open files",
                                    "This process may have " + most + " files open, and " + wanted.streams()
                                            + " streams need about " + needed + ".",
                                    "ulimit -n " + Integer.highestOneBit(2 * needed))
                            : Finding.ok("open files", "up to " + most + ", about " + needed + " needed"));
        }
    }

    private void clock(LongSupplier nanos) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 1_000; i++) {
            long began = nanos.getAsLong();
            long now = nanos.getAsLong();
            if (now > began) {
                least = Math.min(least, now - began);
            }
        }
        Optional<String> source = text(CLOCK_SOURCE);
        String seen = source.map(name -> "source " + name + ", ").orElse("")
                + (least == Long.MAX_VALUE ? "steps not seen" : "steps of " + least + " ns");
        findings.add(
                source.filter(name -> name.equals("hpet") || name.equals("acpi_pm"))
                                .isPresent()
                        ? Finding.warning(
                                "clock source",
                                seen + ", a slow one: each stamp costs about a microsecond.",
                                "use tsc or the hypervisor's own clock")
                        : Finding.ok("clock source", seen));
    }

    private void governor() {
        text(GOVERNOR)
                .filter(name -> name.equals("powersave") || name.equals("schedutil") || name.equals("ondemand"))
                .ifPresent(name -> findings.add(Finding.warning(
                        "CPU frequency",
                        "The governor is " + name + ", so the client's pace depends on what ran before.",
                        "cpupower frequency-set -g performance")));
    }

    private static Optional<String> text(Path file) {
        try {
            return Optional.of(Files.readString(file, StandardCharsets.UTF_8).strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private void java() {
        findings.add(
                Runtime.version().feature() >= LEAST_JAVA
                        ? Finding.ok("Java", Runtime.version().toString())
                        : Finding.missing("Java", Runtime.version().toString(), "Java " + LEAST_JAVA + " or later"));
    }

    private void gpu(Gpus gpus, Optional<ServerProcess> process) {
        switch (gpus) {
            case Gpus.None none ->
                findings.add(
                        wanted.needsIdleGpu()
                                ? Finding.missing(
                                        "GPU",
                                        "none: there is no nvidia-smi on PATH, so whether a GPU is idle cannot be"
                                                + " told.",
                                        "leave --require-idle-gpu out, or put nvidia-smi on PATH")
                                : Finding.note("GPU", "none: there is no nvidia-smi on PATH"));
            case Gpus.Unknown unknown ->
                findings.add(Finding.unknown(
                        "GPU",
                        "nvidia-smi does not tell: " + unknown.why().replaceAll("\\.$", "") + ".",
                        "mend the driver, or take nvidia-smi off PATH where there is no GPU"));
            case Gpus.Present present ->
                present(present, process.map(ServerProcess::family).orElse(Set.of()));
        }
    }

    private void present(Gpus.Present present, Set<Long> own) {
        Set<String> drivers =
                new HashSet<>(present.gpus().stream().map(Gpus.Gpu::driver).toList());
        findings.add(Finding.ok(
                "GPU",
                EnvironmentRecord.gpuNames(present) + ", driver " + String.join(", ", drivers)
                        + present.links().map(links -> ", " + links.text()).orElse("")));
        List<Gpus.ComputeProcess> foreign = present.foreign(own);
        if (foreign.isEmpty()) {
            findings.add(Finding.ok("GPU is idle", "nothing but the server computes on it"));
            return;
        }
        String who = foreign.stream().map(Gpus.ComputeProcess::text).collect(Collectors.joining("; "));
        String mend = "end what is not the server's: kill "
                + foreign.stream().map(each -> Long.toString(each.pid())).collect(Collectors.joining(" "));
        String seen =
                (own.isEmpty() ? "What computes on it, one of them perhaps the server: " : "Others compute on it: ")
                        + who + ".";
        findings.add(
                wanted.needsIdleGpu()
                        ? Finding.missing("GPU is idle", seen, mend)
                        : Finding.warning("GPU is idle", seen, mend));
    }

    /** Checks variables of the server's process that change what is measured. */
    static Optional<Finding> variables(Map<String, String> variables) {
        return variables.getOrDefault("CUDA_LAUNCH_BLOCKING", "0").equals("1")
                ? Optional.of(Finding.warning(
                        "variables",
                        "CUDA_LAUNCH_BLOCKING=1 makes the server wait for each kernel: its times are not those of one"
                                + " that serves.",
                        "unset it, or have it alike in both arms and say so beside the number"))
                : Optional.empty();
    }
}
