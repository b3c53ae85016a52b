package io.holdfast.workbench.load;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.JournalLines;
import io.holdfast.loadtest.journal.RequestRecord;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/*
 * A suite in a folder
 * ===================
 *
 * `plan.json` says, before anything is sent, which legs there will be, each with the id of its load. `legs/` has a file
 * of each leg that is over, under the leg's path-like id, with every request. A leg's file is written beside its name
 * and moved there when it is on disk, so it is whole or not there: whoever goes on after a kill runs the legs that have
 * no file, and reads nothing torn.
 *
 * Whatever else a preset leaves in the folder is computed from these files, and can be computed again.
 */

/** The raw data of a suite of load legs. */
public final class LoadFolder {
    private static final int FORMAT = 1;
    private static final String PLAN = "plan.json";
    private static final String LEGS = "legs";
    private static final String PREFIXES = "prefixes";
    private static final int HELD_FOR_SECONDS = 3_600;
    private static final String FINDINGS = LEGS + "/findings.txt";
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._=-]*(/[A-Za-z0-9][A-Za-z0-9._=-]*)*");
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path folder;
    private final Plan plan;

    /**
     * Decisions made before the first leg.
     *
     * @param suite what is run
     * @param settings that hold for all of it, by name
     * @param legs the load's id of each leg by the leg's own, in the order in which they run
     */
    public record Plan(String suite, Map<String, String> settings, Map<String, String> legs) {
        public Plan {
            settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
            legs = Collections.unmodifiableMap(new LinkedHashMap<>(legs));
            legs.keySet().stream()
                    .filter(id -> !ID.matcher(id).matches())
                    .findFirst()
                    .ifPresent(id -> {
                        throw new LoadTestException("A leg is named '" + id
                                + "'; a name is of words of letters, digits and" + " . _ = - with / between them.");
                    });
        }
    }

    /** The plan with the version of its form. */
    private record PlanFile(int format, String suite, Map<String, String> settings, Map<String, String> legs) {}

    private LoadFolder(Path folder, Plan plan) {
        this.folder = folder;
        this.plan = plan;
    }

    /** Begins a suite in a folder that is empty or not there. */
    public static LoadFolder create(Path folder, Plan plan) {
        refuseOccupied(folder);
        try {
            Files.createDirectories(folder);
            Files.createDirectory(folder.resolve(LEGS));
            PlanFile file = new PlanFile(FORMAT, plan.suite(), plan.settings(), plan.legs());
            write(folder.resolve(PLAN), JSON.writerWithDefaultPrettyPrinter().writeValueAsString(file) + "\n");
            return new LoadFolder(folder, plan);
        } catch (IOException e) {
            throw unwritable(folder, e);
        }
    }

    /** Says early what {@link #create} would say late: a server may have been started by then. */
    public static void refuseOccupied(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        try (var there = Files.list(folder)) {
            if (there.findAny().isPresent()) {
                throw new LoadTestException(
                        "The folder " + folder + " has files already; name another one, or go on with it by --resume.");
            }
        } catch (NotDirectoryException e) {
            throw new LoadTestException(folder + " is a file, and results need a folder; name another one.", e);
        } catch (IOException e) {
            throw unwritable(folder, e);
        }
    }

    /** Opens one that was begun before. */
    public static LoadFolder open(Path folder) {
        Path file = folder.resolve(PLAN);
        if (!Files.isRegularFile(file)) {
            throw new LoadTestException("The folder " + folder + " has no " + PLAN
                    + ", so it is not that of a load test's suite; name one that a preset or 'loadtest leg' began.");
        }
        try {
            JsonNode root = JSON.readTree(file.toFile());
            if (root.path("format").asInt() != FORMAT) {
                throw new LoadTestException("The plan " + file + " has the format "
                        + root.path("format").asText("none") + ", and this version reads " + FORMAT + ".");
            }
            PlanFile plan = JSON.treeToValue(root, PlanFile.class);
            return new LoadFolder(folder, new Plan(plan.suite(), plan.settings(), plan.legs()));
        } catch (JsonProcessingException e) {
            throw new LoadTestException("The plan " + file + " is not JSON; take it from where it was copied.", e);
        } catch (IOException e) {
            throw new LoadTestException("The plan " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    public Path path() {
        return folder;
    }

    public Plan plan() {
        return plan;
    }

    /**
     * Has the folder for a run alone until it is closed, or this process ends: two at once would load one server
     * together, and neither would know.
     */
    public Claim claim() {
        try {
            FileChannel channel = FileChannel.open(folder.resolve(PLAN), StandardOpenOption.WRITE);
            try {
                if (channel.tryLock() != null) {
                    return new Claim(channel);
                }
            } catch (OverlappingFileLockException e) {
                // Another run of this process has it.
            }
            channel.close();
        } catch (IOException e) {
            throw unwritable(folder, e);
        }
        throw new LoadTestException("Another run is at work in the folder " + folder
                + "; see 'holdfast loadtest status " + folder + "', and wait for its end or name another folder.");
    }

    /** Claim of one run on a folder, which no other run may use. */
    public static final class Claim implements AutoCloseable {
        private final FileChannel channel;

        private Claim(FileChannel channel) {
            this.channel = channel;
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Goes on only with what was planned: another plan would mix two experiments. */
    public void refuseOtherThan(Plan wanted) {
        if (!plan.equals(wanted)) {
            List<String> other =
                    new ArrayList<>(new LinkedHashSet<>(wanted.legs().keySet()));
            other.removeIf(id -> Optional.ofNullable(plan.legs().get(id))
                    .equals(Optional.ofNullable(wanted.legs().get(id))));
            throw new LoadTestException("The folder " + folder + " was begun with another plan"
                    + (other.isEmpty() ? "" : ", which differs in " + other.getFirst())
                    + "; ask for what it was begun with, or begin in another folder.");
        }
    }

    /** Writes a leg that is over. */
    public void add(LoadLeg leg) {
        if (!leg.loadId().equals(plan.legs().get(leg.id()))) {
            throw new IllegalArgumentException("The leg " + leg.id() + " is not the planned one.");
        }
        // Requests have lines of their own.
        StringBuilder text =
                new StringBuilder(JournalLines.text(Map.of("leg", leg.withRequests(part -> List.of())))).append('\n');
        for (LoadLeg.Part part : leg.parts()) {
            part.requests().forEach(request -> {
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("part", part.name());
                line.put("request", request);
                text.append(JournalLines.text(line)).append('\n');
            });
        }
        Path file = file(leg.id());
        if (Files.exists(file)) {
            throw new LoadTestException("The leg " + leg.id() + " is in " + folder + " already.");
        }
        try {
            write(file, text.toString());
        } catch (IOException e) {
            throw unwritable(folder, e);
        }
    }

    /** Writes remarks of the person who ran the suite, a sentence a line, in place of earlier ones. */
    public static void writeFindings(Path folder, List<String> sentences) {
        try {
            if (sentences.isEmpty()) {
                Files.deleteIfExists(folder.resolve(FINDINGS));
            } else {
                write(folder.resolve(FINDINGS), String.join("\n", sentences) + "\n");
            }
        } catch (IOException e) {
            throw unwritable(folder, e);
        }
    }

    /**
     * Writes the heads that requests begin with, each as a sidecar is asked to hold it. Where texts begin with a salt,
     * or the server makes tokens of text, what it will have in its cache is not known here, and nothing is to be
     * written.
     */
    public void writePrefixes(List<Suite.Leg> legs) {
        Path place = folder.resolve(PREFIXES);
        for (Suite.Leg leg : legs) {
            leg.load().prefixes().forEach((name, tokens) -> {
                try {
                    Files.createDirectories(place);
                    write(
                            place.resolve(leg.load().recipe().name() + "-" + name + ".json"),
                            "{\"tokens\":" + tokens + ",\"leaseSeconds\":" + HELD_FOR_SECONDS + "}\n");
                } catch (IOException e) {
                    throw unwritable(place, e);
                }
            });
        }
    }

    /** Returns remarks of the person who ran the suite. */
    public List<String> findings() {
        Path file = folder.resolve(FINDINGS);
        try {
            return Files.exists(file)
                    ? Files.readAllLines(file).stream()
                            .filter(line -> !line.isBlank())
                            .toList()
                    : List.of();
        } catch (IOException e) {
            throw new LoadTestException("The file " + file + " cannot be read: " + FileTrouble.why(e) + ".", e);
        }
    }

    private Path file(String id) {
        return folder.resolve(LEGS).resolve(id + ".jsonl");
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Path beside = file.resolveSibling(file.getFileName() + ".tmp");
        try (FileChannel channel = FileChannel.open(
                beside, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = StandardCharsets.UTF_8.encode(text);
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            channel.force(true);
        }
        Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** The planned legs that are not there, in their order. */
    public List<String> missing() {
        return plan.legs().keySet().stream()
                .filter(id -> !Files.exists(file(id)))
                .toList();
    }

    /** The legs that are there, in the order of the plan. */
    public List<LoadLeg> legs() {
        return plan.legs().keySet().stream()
                .map(this::file)
                .filter(Files::exists)
                .map(LoadFolder::read)
                .toList();
    }

    private static LoadLeg read(Path file) {
        try {
            List<String> lines = Files.readAllLines(file);
            if (lines.isEmpty()) {
                throw new IOException("it is empty");
            }
            LoadLeg head = JournalLines.read(lines.getFirst(), Head.class).leg();
            Map<String, List<RequestRecord>> requests = new LinkedHashMap<>();
            for (String line : lines.subList(1, lines.size())) {
                Line read = JournalLines.read(line, Line.class);
                requests.computeIfAbsent(read.part(), name -> new ArrayList<>()).add(read.request());
            }
            return head.withRequests(part -> requests.getOrDefault(part.name(), List.of()));
        } catch (IOException e) {
            throw new LoadTestException(
                    "The leg in " + file + " cannot be read: "
                            + Objects.requireNonNullElse(e.getMessage(), "it is torn")
                                    .lines()
                                    .findFirst()
                                    .orElse("")
                            + "; move the file away, and go on with the folder by --resume.",
                    e);
        }
    }

    /** The first line of a leg's file. */
    record Head(LoadLeg leg) {}

    /** Any other one. */
    record Line(String part, RequestRecord request) {}

    private static LoadTestException unwritable(Path folder, IOException cause) {
        return new LoadTestException(
                "The folder " + folder + " cannot be written: " + FileTrouble.why(cause)
                        + "; mend that, or name another folder.",
                cause);
    }
}
