package io.holdfast.rules.phases;

import io.holdfast.rules.engine.Generation;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;

/**
 * Prefix left by each agent's last request: on the GPU while there is room (hot), outside it after that (warm).
 *
 * <p>A request with a session is its agent; one without is whoever has the longest beginning in common with it. What it
 * finds is copied, in whole blocks, and never the whole prompt.
 */
final class AgentCaches {
    /** Agents that are remembered, so that a server does not grow for ever. */
    private static final int AGENTS = 256;

    /** @param onGpu false when the tokens have to be brought back first */
    record Found(int tokens, boolean onGpu) {
        static final Found NOTHING = new Found(0, true);
    }

    private static final class Agent {
        private final String session;
        private final int[] tokens;
        private int blocks;

        private Agent(String session, int[] tokens, int blocks) {
            this.session = session;
            this.tokens = tokens;
            this.blocks = blocks;
        }

        private boolean hot() {
            return blocks > 0;
        }
    }

    private final int blockTokens;

    /** The least recently used first. */
    private final Deque<Agent> agents = new ArrayDeque<>();

    private int hotBlocks;

    AgentCaches(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    Found find(Generation request) {
        Optional<Agent> best = Optional.empty();
        int longest = 0;
        for (Agent agent : agents) {
            int common = common(agent, request);
            if (common > longest) {
                best = Optional.of(agent);
                longest = common;
            }
        }
        best.ifPresent(agent -> {
            agents.remove(agent);
            agents.add(agent);
        });
        int tokens = longest;
        return best.map(agent -> new Found(tokens, agent.hot())).orElse(Found.NOTHING);
    }

    /**
     * Takes over what an ended request held, in place of what its agent had before; returns the blocks that this freed.
     */
    int keep(Generation request, int[] tokens, int blocks) {
        int freed = 0;
        for (Iterator<Agent> each = agents.iterator(); each.hasNext(); ) {
            Agent agent = each.next();
            if (agent.session.equals(request.terms().session())
                    && (!agent.session.isEmpty() || continues(tokens, agent.tokens))) {
                freed += agent.blocks;
                each.remove();
            }
        }
        agents.add(new Agent(request.terms().session(), tokens, blocks));
        hotBlocks += blocks - freed;
        if (agents.size() > AGENTS) {
            int oldest = agents.remove().blocks;
            hotBlocks -= oldest;
            freed += oldest;
        }
        return freed;
    }

    /**
     * Moves the least recently used caches off the GPU until so many blocks are free or none is left; returns how many.
     */
    int moveOut(int wanted) {
        int freed = 0;
        for (Agent agent : agents) {
            if (freed >= wanted) {
                break;
            }
            freed += agent.blocks;
            agent.blocks = 0;
        }
        hotBlocks -= freed;
        return freed;
    }

    int hotBlocks() {
        return hotBlocks;
    }

    private int common(Agent agent, Generation request) {
        String session = request.terms().session();
        if (!session.isEmpty() && !session.equals(agent.session)) {
            return 0;
        }
        int most = request.prompt().length - 1;
        int differs = Arrays.mismatch(agent.tokens, request.prompt());
        return Math.min(differs < 0 ? most : differs, most) / blockTokens * blockTokens;
    }

    private static boolean continues(int[] tokens, int[] before) {
        return before.length <= tokens.length && Arrays.equals(tokens, 0, before.length, before, 0, before.length);
    }
}
