package io.holdfast.benchmarks;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/**
 * Measures how evenly an emulated engine says its tokens under load, and if it grows.
 *
 * <p>{@code EmulatorLoad --url URL --pid PID [--streams 64] [--decode-us 3200] [--seconds 60] [--prompt 320] [--answer
 * 320]}: so many streamed completions at once, each with a prompt that nobody sent before, so that the cache evicts all
 * the time once it is full. One line every ten seconds: tokens a second, by how much the time between two tokens of a
 * stream differs from a decode step, and the server's resident memory. Start the server with no time for prefills,
 * which would come between the steps: {@code --prefill-us-per-token 0 --first-token-ms 0}.
 */
final class EmulatorLoad {
    private static final int LINE_SECONDS = 10;
    private static final int WARM_UP_LINES = 2;
    private static final int VOCABULARY = 1_000;

    private final URI url;
    private final int promptTokens;
    private final int answerTokens;
    private final long stepNanos;
    private final AtomicLong tokens = new AtomicLong();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final ConcurrentLinkedQueue<long[]> errors = new ConcurrentLinkedQueue<>();

    private EmulatorLoad(URI url, int promptTokens, int answerTokens, long stepNanos) {
        this.url = url;
        this.promptTokens = promptTokens;
        this.answerTokens = answerTokens;
        this.stepNanos = stepNanos;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Map<String, String> options = new HashMap<>(Map.of(
                "--streams", "64", "--decode-us", "3200", "--seconds", "60", "--prompt", "320", "--answer", "320"));
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], args[i + 1]);
        }
        EmulatorLoad load = new EmulatorLoad(
                URI.create(option(options, "--url")),
                Integer.parseInt(option(options, "--prompt")),
                Integer.parseInt(option(options, "--answer")),
                Long.parseLong(option(options, "--decode-us")) * 1_000);
        for (int i = 0; i < Integer.parseInt(option(options, "--streams")); i++) {
            RandomGenerator random =
                    RandomGeneratorFactory.of("L64X128MixRandom").create(i);
            Thread.ofPlatform().daemon().start(() -> load.stream(random));
        }
        load.report(option(options, "--pid"), Integer.parseInt(option(options, "--seconds")));
    }

    private static String option(Map<String, String> options, String name) {
        return Optional.ofNullable(options.get(name))
                .orElseThrow(() -> new IllegalArgumentException(name + " is missing."));
    }

    private void report(String pid, int seconds) throws IOException, InterruptedException {
        System.out.println("seconds  tokens/s  off a decode step, ms: p50     p99   p99.9   resident MiB");
        for (int line = 1; line <= seconds / LINE_SECONDS; line++) {
            tokens.set(0);
            errors.clear();
            long from = System.nanoTime();
            Thread.sleep(Duration.ofSeconds(LINE_SECONDS));
            double elapsed = (System.nanoTime() - from) / 1e9;
            double[] sorted = errors.stream()
                    .flatMapToLong(Arrays::stream)
                    .mapToDouble(nanos -> Math.abs(nanos) / 1e6)
                    .sorted()
                    .toArray();
            System.out.printf(
                    Locale.ROOT,
                    "%7d  %8.0f  %26.3f %7.3f %7.3f  %13d%s%n",
                    line * LINE_SECONDS,
                    tokens.get() / elapsed,
                    quantile(sorted, 0.5),
                    quantile(sorted, 0.99),
                    quantile(sorted, 0.999),
                    residentMebibytes(pid),
                    line <= WARM_UP_LINES ? "  (warming up)" : "");
        }
        stopped.set(true);
    }

    private void stream(RandomGenerator random) {
        try (Socket socket = new Socket(url.getHost(), url.getPort())) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
            OutputStream out = socket.getOutputStream();
            while (!stopped.get()) {
                out.write(request(random));
                out.flush();
                readAnswer(in);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The server at " + url + " went away.", e);
        }
    }

    private byte[] request(RandomGenerator random) {
        StringBuilder body = new StringBuilder("{\"model\":\"holdfast-emulated\",\"stream\":true,\"max_tokens\":")
                .append(answerTokens)
                .append(",\"ignore_eos\":true,\"prompt\":[");
        for (int i = 0; i < promptTokens; i++) {
            body.append(i == 0 ? "" : ",").append(random.nextInt(VOCABULARY));
        }
        byte[] content = body.append("]}").toString().getBytes(StandardCharsets.UTF_8);
        byte[] head = ("POST /v1/completions HTTP/1.1\r\nHost: " + url.getHost()
                        + "\r\nContent-Type: application/json\r\nContent-Length: " + content.length + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        byte[] all = Arrays.copyOf(head, head.length + content.length);
        System.arraycopy(content, 0, all, head.length, content.length);
        return all;
    }

    /** Reads lines up to the end of the chunked body, and notes when each event came. */
    private void readAnswer(InputStream in) throws IOException {
        long[] gaps = new long[answerTokens];
        int count = 0;
        long last = 0;
        boolean more = true;
        while (more) {
            String line = line(in);
            if (line.startsWith("data: {")) {
                long now = System.nanoTime();
                tokens.incrementAndGet();
                if (last != 0 && count < gaps.length) {
                    gaps[count++] = now - last - stepNanos;
                }
                last = now;
            } else if (line.startsWith("HTTP/1.1") && !line.contains(" 200 ")) {
                throw new IOException(line);
            }
            more = !line.equals("0");
        }
        line(in);
        errors.add(Arrays.copyOf(gaps, count));
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("The answer was cut off.");
            }
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }

    private static double quantile(double[] sorted, double share) {
        return sorted.length == 0
                ? Double.NaN
                : sorted[(int) Math.min(sorted.length - 1L, (long) (share * sorted.length))];
    }

    private static long residentMebibytes(String pid) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc", pid, "status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) >> 10;
            }
        }
        return -1;
    }
}
