package io.holdfast.examples.router;

import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.PrefixMatch;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/**
 * Chooses the engine that holds most of a prompt, by what each engine says that it stores and removes. Load is not weighed.
 * Blocks go by their tokens, however engines hash, and are of one size. Any thread may add and choose.
 */
public final class PrefixRouter {
    /** Where prompts go, and what is known of it. */
    public record Target(URI url, Engine engine) {}

    private final Fleet fleet;
    private final List<Target> leastRecentFirst = new ArrayList<>();
    private int decisions;
    private int blind;

    public PrefixRouter(Fleet fleet) {
        this.fleet = fleet;
    }

    public Fleet fleet() {
        return fleet;
    }

    public synchronized Target add(URI url, EngineOptions engine) {
        Target target = new Target(url, fleet.add(engine));
        leastRecentFirst.add(target);
        return target;
    }

    /** The engine with the longest prefix of these tokens; among equals the least recently chosen. */
    public Target choose(int[] tokens) {
        boolean known = knowsAll();
        PrefixMatch held = fleet.match(tokens);
        synchronized (this) {
            decisions++;
            blind += known ? 0 : 1;
            Target best = leastRecentFirst.getFirst();
            for (Target each : leastRecentFirst) {
                best = held.tokens(each.engine) > held.tokens(best.engine) ? each : best;
            }
            leastRecentFirst.remove(best);
            leastRecentFirst.add(best);
            return best;
        }
    }

    /** How many of these tokens, from the first on, the engine has said that it holds on the GPU or in host memory. */
    public int cachedTokens(Target target, int[] tokens) {
        return fleet.match(tokens).tokens(target.engine);
    }

    /** Says whether it is certain what each engine has; a decision made while it is not is a blind one. */
    public boolean knowsAll() {
        return fleet.engines().stream().allMatch(Engine::certain);
    }

    public synchronized String summary() {
        return blind + " of " + decisions + " decisions were blind.";
    }
}
