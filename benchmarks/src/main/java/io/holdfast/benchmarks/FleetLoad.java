package io.holdfast.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.CellCounters;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.Hot;
import io.holdfast.embed.cell.HotEnd;
import io.holdfast.valkey.ValkeyFleetStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Cost of a fleet for its store: so many engines of one cell, each with a digest of 256 prefixes, over a real server that
 * this process starts and whose own counters it prints.
 *
 * <p>Up to 100 engines each has a client of its own, as beside each sidecar; of more, 25 share one.
 */
public final class FleetLoad {
    private static final Cell CELL = new Cell("model", 16, "");
    private static final int ENDS = Hot.MOST_ENDS;
    /** Prefixes of the whole cell, of which few are hot at many engines. */
    private static final int PREFIXES = 45_000;

    private static final int CLIENTS_ALONE = 100;
    private static final int SHARING = 25;
    /** Time over which engines begin, one after the other, and until all are known. */
    private static final Duration BEGINNING = Duration.ofMinutes(1);

    private static final Duration WARM_UP = Duration.ofMinutes(2);
    private static final long SECOND = 1_000_000_000L;
    private static final double MB = 1e6;

    private final int engines;
    private final int port;
    private final List<FleetStore> clients = new ArrayList<>();
    private final List<CellMember> members = new ArrayList<>();
    private final LongSupplier clock = System::nanoTime;
    private long begin;

    private FleetLoad(int engines, int holds, int port, ExecutorService background) {
        this.engines = engines;
        this.port = port;
        SplittableRandom random = new SplittableRandom(1);
        int count = engines <= CLIENTS_ALONE ? engines : (engines + SHARING - 1) / SHARING;
        for (int i = 0; i < count; i++) {
            clients.add(ValkeyFleetStore.open(
                    "valkey://127.0.0.1:" + port,
                    Optional.empty(),
                    Optional.empty(),
                    Map.of(),
                    // Here all of them wait for two cores, which sidecars do not.
                    Duration.ofSeconds(8),
                    background));
        }
        for (int i = 0; i < engines; i++) {
            Hot hot = hot(random.split());
            members.add(new CellMember(
                    clients.get(i % count),
                    CELL,
                    "main:node-" + i + "-4f1c8a2e",
                    "https://10.0." + i / 250 + "." + (1 + i % 250) + ":8471",
                    clock,
                    random.split(),
                    () -> hot,
                    List::of));
        }
        for (int i = 0; i < holds; i++) {
            members.get(i % engines)
                    .hold(FleetHold.of(
                            random.nextLong(),
                            1 + random.nextInt(PREFIXES),
                            64,
                            1_024,
                            2,
                            "platform",
                            1,
                            Duration.ofHours(2),
                            "https://10.0.0.1:8471"));
        }
    }

    /**
     * Takes the number of engines (64), minutes (10) and holds of the fleet (0); {@code VALKEY_SERVER} names the program.
     */
    public static void main(String[] args) throws Exception {
        int engines = args.length > 0 ? Integer.parseInt(args[0]) : 64;
        double minutes = args.length > 1 ? Double.parseDouble(args[1]) : 10;
        int holds = args.length > 2 ? Integer.parseInt(args[2]) : 0;
        int port = freePort();
        Process server = new ProcessBuilder(
                        Optional.ofNullable(System.getenv("VALKEY_SERVER")).orElse("valkey-server"),
                        "--port",
                        Integer.toString(port),
                        "--bind",
                        "127.0.0.1",
                        "--save",
                        "",
                        "--appendonly",
                        "no",
                        "--loglevel",
                        "warning")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(server::destroy));
        try (ExecutorService background = Executors.newFixedThreadPool(4)) {
            FleetLoad load = new FleetLoad(engines, holds, port, background);
            load.run(minutes);
            load.clients.forEach(FleetStore::close);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** One digest: half of it prefixes that most engines know, half of it rare ones. */
    private static Hot hot(SplittableRandom random) {
        Set<Long> names = new LinkedHashSet<>();
        while (names.size() < ENDS) {
            long name = names.size() % 2 == 0 ? random.nextInt(ENDS) : random.nextInt(PREFIXES);
            // As far apart as hashes are.
            names.add((name + 1) * 0x9E3779B97F4A7C15L);
        }
        List<HotEnd> ends = new ArrayList<>();
        names.forEach(name -> ends.add(new HotEnd(
                name,
                16 * (1 + random.nextInt(500)),
                (float) (random.nextDouble() * 200),
                random.nextInt(4) > 0,
                random.nextInt(10) == 0)));
        return new Hot(OptionalDouble.of(90), OptionalLong.of(400_000), ends);
    }

    private void run(double minutes) throws InterruptedException {
        begin = System.nanoTime();
        poll(WARM_UP.toNanos());
        Map<String, Double> before = info();
        long rounds = sum(CellCounters::rounds);
        long failed = sum(CellCounters::failed);
        long start = System.nanoTime();
        long processor = processor();
        poll((long) (minutes * 60 * SECOND));
        double seconds = (System.nanoTime() - start) / 1e9;
        Map<String, Double> rates = new TreeMap<>();
        Map<String, Double> after = info();
        after.forEach((name, value) -> rates.put(name, (value - before.getOrDefault(name, 0.0)) / seconds));
        print(seconds, rates, after);
        System.out.printf(
                Locale.ROOT,
                "%d rounds, %d of them without an answer; every engine sees %d of %d, by %s; this process %.0f %% of a"
                        + " core%n",
                sum(CellCounters::rounds) - rounds,
                sum(CellCounters::failed) - failed,
                members.stream()
                        .mapToInt(each -> each.view().engines().size())
                        .min()
                        .orElse(0),
                engines,
                members.getFirst().view().sums() ? "sums" : "digests",
                (processor() - processor) / 1e7 / seconds);
    }

    private long sum(ToLongFunction<CellCounters> what) {
        return members.stream().map(CellMember::counters).mapToLong(what).sum();
    }

    /** Polls each member once a second, one after the other, so that their rounds are spread as those of sidecars are. */
    private void poll(long nanos) throws InterruptedException {
        long start = System.nanoTime();
        long polls = nanos / SECOND * members.size();
        for (long i = 0; i < polls; i++) {
            long due = start + i * SECOND / members.size();
            long wait = due - System.nanoTime();
            if (wait > 0) {
                TimeUnit.NANOSECONDS.sleep(wait);
            }
            int member = (int) (i % members.size());
            long now = clock.getAsLong();
            if (member * BEGINNING.toNanos() / members.size() <= now - begin) {
                members.get(member).poll(now);
            }
        }
    }

    private static long processor() {
        return ProcessHandle.current()
                .info()
                .totalCpuDuration()
                .orElse(Duration.ZERO)
                .toNanos();
    }

    private void print(double seconds, Map<String, Double> rates, Map<String, Double> after) {
        System.out.printf(
                Locale.ROOT,
                "%d engines by %d clients, %.0f s: %.0f commands/s, %.3f MB/s in, %.3f MB/s out, %.1f %% of a core"
                        + " (%.1f user, %.1f system), %.1f MB resident (%.1f MB at the most used), %.0f keys%n",
                engines,
                clients.size(),
                seconds,
                value(rates, "total_commands_processed"),
                value(rates, "total_net_input_bytes") / MB,
                value(rates, "total_net_output_bytes") / MB,
                100 * (value(rates, "used_cpu_user") + value(rates, "used_cpu_sys")),
                100 * value(rates, "used_cpu_user"),
                100 * value(rates, "used_cpu_sys"),
                value(after, "used_memory_rss") / MB,
                value(after, "used_memory_peak") / MB,
                value(after, "keys"));
        System.out.println("command       calls/s   us/call   per cent of a core");
        rates.entrySet().stream()
                .filter(each -> each.getKey().startsWith("calls ") && each.getValue() > 0.05)
                .sorted(Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder()))
                .forEach(each -> {
                    String command = each.getKey().substring("calls ".length());
                    double micros = value(rates, "usec " + command);
                    System.out.printf(
                            Locale.ROOT,
                            "%-12s %8.1f  %8.1f  %8.2f%n",
                            command,
                            each.getValue(),
                            micros / each.getValue(),
                            micros / 1e4);
                });
    }

    private static double value(Map<String, Double> values, String name) {
        return values.getOrDefault(name, 0.0);
    }

    /** All numbers of the server's INFO, those of its commands as "calls NAME" and "usec NAME". */
    private Map<String, Double> info() {
        Map<String, Double> values = new TreeMap<>();
        for (String line : asked("INFO", "everything").lines().toList()) {
            String[] pair = line.split(":", 2);
            if (pair.length < 2) {
                continue;
            }
            if (pair[0].startsWith("cmdstat_")) {
                Stream.of(pair[1].split(","))
                        .map(each -> each.split("="))
                        .filter(each -> each[0].equals("calls") || each[0].equals("usec"))
                        .forEach(each -> values.put(
                                each[0] + " " + pair[0].substring("cmdstat_".length()), Double.parseDouble(each[1])));
            } else if (pair[0].equals("db0")) {
                values.put("keys", Double.parseDouble(pair[1].replaceAll("keys=(\\d+).*", "$1")));
            } else if (pair[1].matches("\\d+(\\.\\d+)?")) {
                values.put(pair[0], Double.parseDouble(pair[1]));
            }
        }
        return values;
    }

    private String asked(String... words) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write((String.join(" ", words) + "\r\n").getBytes(UTF_8));
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
            int length = Integer.parseInt(
                    Optional.ofNullable(in.readLine()).orElse("$0").substring(1));
            char[] text = new char[length];
            int read = 0;
            for (int more = 0; read < length && more >= 0; read += Math.max(0, more)) {
                more = in.read(text, read, length - read);
            }
            return new String(text, 0, read);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
