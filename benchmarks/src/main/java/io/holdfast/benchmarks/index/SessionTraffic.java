package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Conversations under shared system prompts. A session begins with one of 256 system prompts of 8 to 64 blocks, the popular
 * ones far more often than others (Zipf, exponent 1.1), and has up to twelve turns of 2 to 25 blocks that the user sends and 1
 * to 12 that are decoded, 256 blocks at most. Nine turns in ten go to the session's engine; once in 20,000 an engine is
 * cleared. A router then asks for next turns of recent sessions (7 in 10), new sessions under a known system prompt (2 in 10)
 * and prompts that nobody has seen.
 */
final class SessionTraffic {
    private static final int SYSTEM_PROMPTS = 256;
    private static final double ZIPF = 1.1;
    private static final int SESSIONS_PER_ENGINE = 400;
    private static final int MOST_TURNS = 12;
    private static final int MOST_BLOCKS = 256;
    private static final double STAYS = 0.9;
    private static final int REQUESTS_PER_CLEAR = 20_000;
    private static final int MOST_RECENT = 50_000;
    private static final double NEXT_TURN = 0.7;
    private static final double KNOWN_PROMPT = 0.9;

    private static final class Session {
        private PromptPath path = new PromptPath();
        private int engine;
        private int turns;
    }

    private final int engines;
    private final SplittableRandom random;
    private final List<PromptPath> systemPrompts = new ArrayList<>();
    private final double[] popularity = new double[SYSTEM_PROMPTS];
    private final List<PromptPath> recent = new ArrayList<>();
    private long content;
    private int requests;

    SessionTraffic(int engines, long seed) {
        this.engines = engines;
        random = new SplittableRandom(seed);
        double sum = 0;
        for (int i = 0; i < SYSTEM_PROMPTS; i++) {
            systemPrompts.add(extended(new PromptPath(), between(8, 64)));
            sum += Math.pow(i + 1.0, -ZIPF);
            popularity[i] = sum;
        }
    }

    void write(Engines caches, WorkloadWriter out, long blocks, int queries) throws IOException {
        List<Session> sessions = new ArrayList<>();
        for (int i = 0; i < SESSIONS_PER_ENGINE * engines; i++) {
            sessions.add(new Session());
        }
        while (out.operations() < blocks) {
            turn(caches, sessions.get(random.nextInt(sessions.size())));
        }
        for (int i = 0; i < queries; i++) {
            out.query(query());
        }
    }

    private void turn(Engines caches, Session session) throws IOException {
        if (session.turns == 0) {
            session.path = systemPrompt().copy();
            session.engine = random.nextInt(engines);
            session.turns = between(1, MOST_TURNS);
        }
        int room = MOST_BLOCKS - session.path.blocks();
        int sent = Math.min(room, between(2, 25));
        int decoded = Math.min(room - sent, between(1, 12));
        extended(session.path, sent + decoded);
        session.turns = session.path.blocks() == MOST_BLOCKS ? 0 : session.turns - 1;
        int engine = random.nextDouble() < STAYS ? session.engine : random.nextInt(engines);
        if (random.nextInt(REQUESTS_PER_CLEAR) == 0) {
            caches.clear(engine);
        }
        caches.request(engine, session.path, decoded);
        remember(session.path.copy());
    }

    private void remember(PromptPath path) {
        if (recent.size() < MOST_RECENT) {
            recent.add(path);
        } else {
            recent.set(requests % MOST_RECENT, path);
        }
        requests++;
    }

    private PromptPath query() {
        double kind = random.nextDouble();
        if (kind < NEXT_TURN) {
            return extended(recent.get(random.nextInt(recent.size())).copy(), between(1, 24));
        }
        return kind < KNOWN_PROMPT
                ? extended(systemPrompt().copy(), between(2, 61))
                : extended(new PromptPath(), between(8, 107));
    }

    private PromptPath systemPrompt() {
        double at = random.nextDouble() * popularity[SYSTEM_PROMPTS - 1];
        int prompt = 0;
        while (popularity[prompt] < at) {
            prompt++;
        }
        return systemPrompts.get(prompt);
    }

    private PromptPath extended(PromptPath path, int blocks) {
        for (int i = 0; i < blocks; i++) {
            path.add(++content);
        }
        return path;
    }

    private int between(int least, int most) {
        return random.nextInt(least, most + 1);
    }
}
