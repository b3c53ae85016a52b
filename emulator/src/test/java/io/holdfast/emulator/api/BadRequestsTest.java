package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.testing.RawHttp;
import io.holdfast.emulator.testing.Served;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;

/**
 * Thousands of bad requests by seed, over real sockets. Each is answered with an error, or with nothing where the real server
 * says nothing; the server serves on, and holds on to nothing. {@code -Dholdfast.scale=deep} fires all 10,000.
 */
class BadRequestsTest {
    private static final int REQUESTS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 10_000 : 1_000;
    private static final long SEED = 20_261_121;
    private static final Speed SPEED = new Speed(1, 100, 100, 1);
    private static final int LONG = 10_000;

    private static final String GOOD = "{\"model\": \"holdfast-emulated\", \"prompt\": [1,2,3,4,5,6,7,8,9],"
            + " \"max_tokens\": 3, \"temperature\": 0}";
    private static final List<String> VALUES = List.of(
            "\"x\"",
            "-1",
            "1.5",
            "[]",
            "{}",
            "[[]]",
            "[\"a\", 5]",
            "{\"a\": 1}",
            "1e300",
            "99999999999999999999",
            "\"\"");
    private static final List<String> WRONG_FIELDS = List.of(
            "\"max_tokens\": \"x\"",
            "\"max_tokens\": -5",
            "\"max_tokens\": 1.5",
            "\"max_tokens\": [1]",
            "\"temperature\": \"hot\"",
            "\"temperature\": -1",
            "\"top_p\": 7",
            "\"stream\": \"maybe\"",
            "\"stop\": 5",
            "\"n\": \"x\"",
            "\"n\": 0",
            "\"min_tokens\": -1",
            "\"priority\": \"high\"",
            "\"cache_salt\": 5",
            "\"stop_token_ids\": [\"x\"]",
            "\"frequency_penalty\": 9");

    @Test
    void sglang_afterThousandsOfBadRequests_servesAsBefore() {
        try (Served<SglangEngine> served =
                Served.sglang(SglangSettings.defaults(), Served.api(), Faults.none(), new VirtualClock(), SPEED)) {
            survives(served, List.of("/v1/completions", "/v1/chat/completions", "/generate"), engine -> {
                var stats = engine.stats();
                return stats.running() + stats.waiting();
            });
        }
    }

    @Test
    void vllm_afterThousandsOfBadRequests_servesAsBefore() {
        try (Served<VllmEngine> served =
                Served.vllm(VllmSettings.defaults(), Served.api(), Faults.none(), new VirtualClock(), SPEED)) {
            survives(served, List.of("/v1/completions", "/v1/chat/completions"), engine -> {
                var stats = engine.stats();
                return stats.running() + stats.waiting();
            });
        }
    }

    @Test
    void bodiesOf100Megabytes_areAnsweredAsByTheRealServers() {
        byte[] spaces = large("{\"model\":\"holdfast-emulated\",\"prompt\":\"a\",\"max_tokens\":1", ' ', "}");
        byte[] garbage = large("", 'x', "");
        byte[] prompt = large("{\"model\":\"holdfast-emulated\",\"max_tokens\":1,\"prompt\":\"", 'a', "\"}");
        try (Served<SglangEngine> sglang = Served.sglang(
                        SglangSettings.defaults(), Served.api(), Faults.none(), new VirtualClock(), SPEED);
                Served<VllmEngine> vllm =
                        Served.vllm(VllmSettings.defaults(), Served.api(), Faults.none(), new VirtualClock(), SPEED)) {
            RawHttp one = new RawHttp(sglang.port(), 120_000);
            RawHttp other = new RawHttp(vllm.port(), 120_000);
            for (RawHttp client : List.of(one, other)) {
                assertThat(client.send(spaces, false).status()).isEqualTo(200);
                assertThat(client.send(garbage, false).body()).contains("JSON decode error");
            }
            assertThat(one.send(prompt, false).body())
                    .contains("The input (33333334 tokens) is longer than the model's context length (8192 tokens).");
            assertThat(other.send(prompt, false).body())
                    .contains("your prompt contains 100000000 characters (more than 131072 characters");
            assertThat(one.get("/health").status()).isEqualTo(200);
            assertThat(other.get("/health").status()).isEqualTo(200);
        }
    }

    private static byte[] large(String before, char filler, String after) {
        byte[] body = new byte[before.length() + 100_000_000 + after.length()];
        Arrays.fill(body, (byte) filler);
        System.arraycopy(before.getBytes(StandardCharsets.UTF_8), 0, body, 0, before.length());
        System.arraycopy(after.getBytes(StandardCharsets.UTF_8), 0, body, body.length - after.length(), after.length());
        return RawHttp.request("POST", "/v1/completions", "application/json", body);
    }

    private static <E extends Engine> void survives(Served<E> served, List<String> paths, ToIntFunction<E> inEngine) {
        RawHttp client = new RawHttp(served.port(), 20_000);
        JsonNode before = client.post("/v1/completions", GOOD).json().path("choices");
        assertThat(before.isMissingNode()).isFalse();
        int threads = Thread.activeCount();
        SplittableRandom random = new SplittableRandom(SEED);
        Map<Integer, Integer> statuses = new TreeMap<>();
        List<String> surprises = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            fire(random, paths, client, statuses, surprises);
        }
        assertThat(surprises).isEmpty();
        assertThat(statuses.keySet()).as("%s", statuses).contains(0, 400, 404, 405);
        until(() -> served.engine().look(inEngine::applyAsInt).getFirst() == 0);
        assertThat(client.post("/v1/completions", GOOD).json().path("choices")).isEqualTo(before);
        assertThat(client.get("/health").status()).isEqualTo(200);
        assertThat(Thread.activeCount())
                .isLessThanOrEqualTo(threads + Runtime.getRuntime().availableProcessors());
        String metrics = client.get("/metrics").body();
        assertThat(metrics.lines()
                        .filter(line -> line.startsWith("sglang:http_requests_active") && !line.contains("/metrics"))
                        .filter(line -> !line.endsWith(" 0.0")))
                .isEmpty();
    }

    private static void fire(
            SplittableRandom random,
            List<String> paths,
            RawHttp client,
            Map<Integer, Integer> statuses,
            List<String> surprises) {
        String path = paths.get(random.nextInt(paths.size()));
        int kind = random.nextInt(12);
        byte[] request = request(random, path, kind);
        RawHttp.Answer answer = client.send(request, kind == 9);
        statuses.merge(answer.status(), 1, Integer::sum);
        boolean known = answer.status() == 0
                || (answer.status() >= 400 && answer.status() < 500 && isError(answer))
                || answer.status() == 307
                || (answer.status() == 200 && (kind == 2 || kind == 9 || kind == 1));
        if (!known) {
            surprises.add(kind + " " + answer.status() + " for "
                    + new String(request, StandardCharsets.ISO_8859_1).substring(0, Math.min(request.length, 400))
                    + ": " + answer.body());
        }
    }

    private static boolean isError(RawHttp.Answer answer) {
        return answer.body().isEmpty()
                || answer.body().equals("Invalid HTTP request received.")
                || answer.json().has("error")
                || answer.json().has("detail")
                || answer.json().path("object").asText().equals("error");
    }

    private static byte[] request(SplittableRandom random, String path, int kind) {
        return switch (kind) {
            case 0 -> json(path, garbage(random));
            case 1 -> json(path, VALUES.get(random.nextInt(VALUES.size())));
            case 2 -> json("/v1/completions", mutated(random));
            case 3 -> json("/v1/completions", with(WRONG_FIELDS.get(random.nextInt(WRONG_FIELDS.size()))));
            case 4 -> json(path, "{\"model\": \"no-such-model\", \"messages\": 5, \"prompt\": {}, \"text\": 5}");
            case 5 -> json("/v1/completions", "{\"prompt\": " + tokens(random, LONG, 1) + "}");
            case 6 -> json("/v1/completions", "{\"prompt\": " + tokens(random, 5, -1) + "}");
            case 7 -> RawHttp.request(random.nextBoolean() ? "DELETE" : "GET", path, "application/json", new byte[0]);
            case 8 -> RawHttp.request("POST", path, "text/" + random.nextInt(9), GOOD.getBytes(StandardCharsets.UTF_8));
            case 9 -> json("/v1/completions", GOOD);
            case 10 -> raw(garbage(random) + "\r\n\r\n");
            default -> json("/no/such/route/" + random.nextInt(99), GOOD);
        };
    }

    private static byte[] json(String path, String body) {
        return RawHttp.request("POST", path, "application/json", body.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] raw(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String with(String field) {
        return GOOD.substring(0, GOOD.length() - 1) + ", " + field + "}";
    }

    private static String garbage(SplittableRandom random) {
        StringBuilder text = new StringBuilder("!");
        for (int length = random.nextInt(60); length > 0; length--) {
            text.append((char) random.nextInt(' ', 0x7F));
        }
        return text.toString();
    }

    private static String mutated(SplittableRandom random) {
        StringBuilder text = new StringBuilder(GOOD);
        for (int times = random.nextInt(1, 4); times > 0; times--) {
            int at = random.nextInt(text.length());
            switch (random.nextInt(3)) {
                case 0 -> text.deleteCharAt(at);
                case 1 -> text.insert(at, (char) random.nextInt(' ', 0x7F));
                default -> text.setLength(Math.max(1, at));
            }
        }
        return text.toString();
    }

    private static String tokens(SplittableRandom random, int count, int sign) {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : ",").append(sign * random.nextInt(1, 1_000));
        }
        return text.append(']').toString();
    }

    private static void until(BooleanSupplier holds) {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (!holds.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited for too long").isLessThan(deadline);
            LockSupport.parkNanos(1_000_000);
        }
    }
}
