package io.holdfast.loadtest.workload;

import java.util.List;
import java.util.SplittableRandom;

/**
 * A head of its own for every text of a leg, where nobody can empty the server's cache: what earlier legs and earlier
 * runs left there is then of no use to it. All heads are equally long, and a workload's id is taken without them.
 *
 * <p>The nonce is of one run. With the same nonce the same leg has the same head, but for one that is run again: what
 * the pair that does not count left in the cache is of no use to the pair in its place.
 *
 * @param again how often pairs had to be run again before: resumes and voided pairs together
 */
public record Salt(long nonce, int again) {
    /** Few enough to lie within one block together with what follows, so that no two texts share a block by them. */
    private static final int TOKENS = 4;

    /** Creates the salt of a run that goes through. */
    public Salt(long nonce) {
        this(nonce, 0);
    }

    /** Returns the salt of the legs after one more pair that does not count. */
    public Salt next() {
        return new Salt(nonce, again + 1);
    }

    /** These requests as the leg at a position in a life sends them. */
    public List<LoadRequest> on(List<LoadRequest> requests, int life, int position) {
        return behind(head(life, position), requests);
    }

    /** These requests as the leg of that number sends them, where legs are counted through. */
    public List<LoadRequest> on(List<LoadRequest> requests, int leg) {
        return behind(head(leg), requests);
    }

    private static List<LoadRequest> behind(int[] head, List<LoadRequest> requests) {
        return requests.stream().map(request -> request.behind(head)).toList();
    }

    /** Salts one request of that leg. */
    public LoadRequest on(LoadRequest request, int life, int position) {
        return request.behind(head(life, position));
    }

    /** Returns the number of tokens by which each request becomes longer. */
    public static int tokens() {
        return TOKENS;
    }

    private int[] head(int life, int position) {
        return head((long) life * Workload.MOST_LEGS_OF_A_LIFE + position);
    }

    private int[] head(long leg) {
        SplittableRandom ofTheRun = new SplittableRandom(nonce);
        long base = ofTheRun.nextLong();
        for (int i = 0; i < again; i++) {
            base = ofTheRun.nextLong();
        }
        SplittableRandom random = new SplittableRandom(base + leg).split();
        int[] head = new int[TOKENS];
        for (int i = 0; i < TOKENS; i++) {
            head[i] = IdlePrefixFlood.anyToken(random);
        }
        return head;
    }
}
