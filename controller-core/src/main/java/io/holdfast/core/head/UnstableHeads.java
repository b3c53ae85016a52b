package io.holdfast.core.head;

import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.VisibleRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Finds requests that share most of their tokens and yet no cache can spare them, since they differ early: a date or an
 * id in the first line, tools in another order each time.
 *
 * <p>It is told of the prompts that an engine computed, by one thread.
 */
public final class UnstableHeads {
    /*
     * What is looked for
     * ------------------
     * A block is named by its tokens and by all before them. So after one token that differs nothing of a prompt is
     * found in the cache, though it says what the last one said. That is content which was computed before, and is
     * computed again under another chain of blocks. Each word of this counts:
     *   - Content: tokens are cut into pieces where the tokens themselves tell (Pieces), so that a piece is recognised
     *     wherever it stands, and one that was inserted does not shift the rest.
     *   - Computed: what was found in the cache costs nothing and is not looked at. So a system prompt before different
     *     texts is no finding, as long as it is found; nor is the next turn of a conversation, nor another answer to
     *     it.
     *   - Under another chain: each piece is remembered with the block in which it ends, whose hash names all before
     *     it. Content that was lost and is stored again as it was has the same block. Then the engine lost it, which is
     *     what residence and shared prefixes tell of; its head is as stable as can be. Also a prompt that is sent
     *     again.
     *
     * What is a finding
     * -----------------
     * The pieces of a prompt that came again point to the prompts that had them last. The one to which most of them
     * point is compared token by token: from which one on do they differ? After that, at least LEAST_SAME tokens must
     * be the same in content, and at least half of those up to the last that is: what was changed is then shorter than
     * what was not, and moving it is worth the trouble. A few common phrases in long texts that differ are no finding.
     * Documents that come in another order are one; documents of which each request brings others are none, but for
     * those requests that happen to bring mostly the same. What follows the last piece that is the same does not count:
     * that is the user's text.
     *
     * Prompts that point to each other make a group. It is told of from LEAST_REQUESTS on, since a text that somebody
     * sent again with a change is none; and where it is at least LEAST_SHARE of all that the engine computed, since ten
     * applications with a name in their first line compute their common part ten times, but once each.
     *
     * Bounds
     * ------
     * The pieces of some six million tokens, the tokens of the last prompts up to four million, MOST_GROUPS groups, of
     * which that with the least computed again goes when another one comes: 23 MB at most, 6 MB of it from the
     * beginning. Content that comes again later than that is not recognised, so what is told is a lower bound; about a
     * piece of each stretch that is the same is missing as well.
     */

    /** Less content that is the same is none. */
    public static final int LEAST_SAME = 256;
    /** Fewer requests tell nothing. */
    public static final int LEAST_REQUESTS = 4;
    /** Less of all that was computed is not worth a word. */
    public static final double LEAST_SHARE = 0.01;

    private static final int MOST_GROUPS = 64;
    private static final int MOST_PIECES = 1 << 18;
    private static final int MOST_PROMPTS = 1 << 12;
    private static final int MOST_TOKENS = 1 << 22;
    private static final int MOST_POINTED_TO = 16;
    private static final long PLACES = 0x2545_F491_4F6C_DD1DL;

    /** Pieces of one prompt that another one, or a group of others, had before. */
    private static final class Pointed {
        /** The prompt that had the pieces; of several, the last. */
        private Prompt prompt;

        private final Optional<HeadGroup> group;
        private int[] starts = new int[16];
        private int[] ends = new int[16];
        private int pieces;
        private int tokens;

        private Pointed(Prompt prompt) {
            this.prompt = prompt;
            this.group = prompt.group();
        }

        private boolean has(Prompt other) {
            return other == prompt || (group.isPresent() && other.group().equals(group));
        }

        private void add(Prompt other, int start, int end) {
            prompt = other.number > prompt.number ? other : prompt;
            if (pieces == starts.length) {
                starts = Arrays.copyOf(starts, 2 * pieces);
                ends = Arrays.copyOf(ends, 2 * pieces);
            }
            starts[pieces] = start;
            ends[pieces++] = end;
            tokens += end - start;
        }

        private int from(int token) {
            int same = 0;
            for (int i = 0; i < pieces; i++) {
                same += starts[i] >= token ? ends[i] - starts[i] : 0;
            }
            return same;
        }

        private int lastEnd() {
            return ends[pieces - 1];
        }
    }

    private final Pieces cut = new Pieces();
    /** Number of the prompt that had a piece last, by its content. */
    private final RecentKeys contents = new RecentKeys(MOST_PIECES);
    /**
     * Number of the prompt that had a piece there, by its content and the block in which it ends; and of the one that
     * ended with a block.
     */
    private final RecentKeys places = new RecentKeys(MOST_PIECES);

    private final Prompt nobody = new Prompt(RecentKeys.NONE, new int[0], 0);
    private final Prompt[] prompts = new Prompt[MOST_PROMPTS];
    private int oldest = 1;
    private int last;
    private long rememberedTokens;
    private final List<HeadGroup> groups = new ArrayList<>();
    private final List<Pointed> pointed = new ArrayList<>();
    private long computedTokens;

    public UnstableHeads() {
        Arrays.fill(prompts, nobody);
    }

    /**
     * Takes what a request showed of its prompt, as {@link RequestListener#prompt} tells it; one of which a token or
     * the beginning is not known is passed over.
     */
    public void prompt(VisibleRequest request, int before, EngineBlocks tree, BlockTokens tokens) {
        long[] path = tree.path(request.lastBlock());
        int blocks = request.promptBlocks();
        if (blocks == 0 || path.length < blocks) {
            return;
        }
        long[] prompt = Arrays.copyOf(path, blocks);
        tokens.of(new Prefix() {
                    @Override
                    public int blocks() {
                        return prompt.length;
                    }

                    @Override
                    public long block(int depth) {
                        return prompt[depth];
                    }
                })
                .ifPresent(all -> prompt(all, prompt, before == 0 ? request.hits() : before, before > 0));
    }

    /**
     * Takes a prompt, or as much of it as is known.
     *
     * @param tokens all of them from the first on, in full blocks; kept, and not to be changed
     * @param blocks the hashes of these blocks
     * @param computed the first block that was computed; those before it were in the cache
     * @param goesOn whether those before it were computed, too, and told of
     */
    public void prompt(int[] tokens, long[] blocks, int computed, boolean goesOn) {
        if (computed >= blocks.length) {
            return;
        }
        int each = tokens.length / blocks.length;
        computedTokens += (long) (blocks.length - computed) * each;
        Prompt prompt = goesOn && computed > 0 ? remembered(places.get(ended(blocks[computed - 1]))) : nobody;
        if (prompt == nobody) {
            if ((blocks.length - computed) * each < LEAST_SAME) {
                return;
            }
            prompt = remember(tokens, computed * each);
        } else {
            int more = tokens.length - prompt.tokens.length;
            prompt.group().ifPresent(group -> group.more(more, 0));
            rememberedTokens += more;
            prompt.tokens = tokens;
        }
        places.put(ended(blocks[blocks.length - 1]), prompt.number);
        look(prompt, blocks, each);
        forgetOldest();
    }

    private static long ended(long block) {
        return Pieces.finished(block + PLACES);
    }

    private void look(Prompt prompt, long[] blocks, int each) {
        pointed.clear();
        cut.open(prompt.tokens, prompt.cutFrom);
        while (cut.next()) {
            long place = Pieces.finished(cut.hash() ^ (blocks[(cut.end() - 1) / each] * PLACES));
            boolean there = places.put(place, prompt.number) != RecentKeys.NONE;
            Prompt earlier = remembered(contents.get(cut.hash()));
            // A prompt that is stored as it was leaves its content to the one that is in a group.
            if (!there || earlier == nobody) {
                contents.put(cut.hash(), prompt.number);
            }
            if (!there && earlier != nobody && earlier != prompt) {
                pointTo(earlier);
            }
        }
        prompt.cutFrom = cut.end();
        pointed.stream()
                .filter(to -> prompt.group().isEmpty() || prompt.group().equals(to.group))
                .max(Comparator.comparingInt(to -> to.tokens))
                .ifPresent(to -> compare(prompt, to));
    }

    private void pointTo(Prompt earlier) {
        for (Pointed to : pointed) {
            if (to.has(earlier)) {
                to.add(earlier, cut.start(), cut.end());
                return;
            }
        }
        if (pointed.size() < MOST_POINTED_TO) {
            Pointed to = new Pointed(earlier);
            to.add(earlier, cut.start(), cut.end());
            pointed.add(to);
        }
    }

    private void compare(Prompt prompt, Pointed to) {
        boolean counted = prompt.group().isPresent();
        int parting = counted ? prompt.parting : prompt.parting(to.prompt);
        if (parting < 0) {
            return;
        }
        int same = to.from(parting);
        if (prompt.same + same < LEAST_SAME || 2 * (prompt.same + same) < to.lastEnd() - parting) {
            return;
        }
        prompt.same += same;
        if (counted) {
            prompt.group().ifPresent(group -> group.more(0, same));
            return;
        }
        prompt.parting = parting;
        HeadGroup group = to.group.orElseGet(() -> begin(to.prompt));
        group.add(prompt, to.prompt);
    }

    private HeadGroup begin(Prompt first) {
        if (groups.size() == MOST_GROUPS) {
            HeadGroup least = groups.stream()
                    .min(Comparator.comparingLong(HeadGroup::againTokens))
                    .orElseThrow();
            least.forget();
            groups.remove(least);
        }
        HeadGroup group = new HeadGroup(first);
        groups.add(group);
        return group;
    }

    private Prompt remember(int[] tokens, int cutFrom) {
        Prompt prompt = new Prompt(++last, tokens, cutFrom);
        int place = last % MOST_PROMPTS;
        rememberedTokens += tokens.length - prompts[place].tokens.length;
        prompts[place] = prompt;
        oldest = Math.max(oldest, last - MOST_PROMPTS + 1);
        return prompt;
    }

    private Prompt remembered(int number) {
        Prompt prompt = prompts[number % MOST_PROMPTS];
        return prompt.number == number ? prompt : nobody;
    }

    private void forgetOldest() {
        while (rememberedTokens > MOST_TOKENS && oldest <= last) {
            int place = oldest++ % MOST_PROMPTS;
            rememberedTokens -= prompts[place].tokens.length;
            prompts[place] = nobody;
        }
    }

    /** Returns what was found so far, that with the most tokens computed again first. */
    public List<UnstableHead> found() {
        return groups.stream()
                .filter(group -> group.requests() >= LEAST_REQUESTS)
                .map(group -> group.found(computedTokens))
                .filter(head -> head.share() >= LEAST_SHARE)
                .sorted(Comparator.comparingLong(UnstableHead::againTokens).reversed())
                .toList();
    }
}
