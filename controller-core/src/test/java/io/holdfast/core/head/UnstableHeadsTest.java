package io.holdfast.core.head;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hash.ContentNames;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Traffic as users send it, through a cache that computes what it does not have. */
final class UnstableHeadsTest {
    private static final int PROMPT = 2_000;
    private static final int TEXT = 120;

    private final SplittableRandom random = new SplittableRandom(27);
    private final int[] systemPrompt = tokens(PROMPT);

    /** A cache without bounds, that can be emptied; it tells of what it computes. */
    private static final class CacheOf {
        private final UnstableHeads heads = new UnstableHeads();
        private final int blockTokens;
        private final int chunk;
        private final Set<Long> there = new HashSet<>();

        CacheOf(int blockTokens) {
            this(blockTokens, Integer.MAX_VALUE);
        }

        CacheOf(int blockTokens, int chunk) {
            this.blockTokens = blockTokens;
            this.chunk = chunk;
        }

        void send(int[]... parts) {
            int[] all = joined(parts);
            long[] names = new long[all.length / blockTokens];
            int blocks = ContentNames.names(all, 0, all.length, blockTokens, ContentNames.NO_NAMESPACE, names);
            int from = 0;
            while (from < blocks && there.contains(names[from])) {
                from++;
            }
            boolean goesOn = false;
            while (from < blocks) {
                int to = (int) Math.min(blocks, (long) from + chunk);
                heads.prompt(Arrays.copyOf(all, to * blockTokens), Arrays.copyOf(names, to), from, goesOn);
                from = to;
                goesOn = true;
            }
            Arrays.stream(names).forEach(there::add);
        }

        void empty() {
            there.clear();
        }

        List<UnstableHead> found() {
            return heads.found();
        }
    }

    private static int[] joined(int[]... parts) {
        return Arrays.stream(parts).flatMapToInt(Arrays::stream).toArray();
    }

    private int[] tokens(int count) {
        return random.ints(count, 0, 128_000).toArray();
    }

    /** A date of twelve tokens, of which the last two change. */
    private int[] date() {
        int[] date = IntStream.range(500, 512).toArray();
        date[10] = random.nextInt(1000);
        date[11] = random.nextInt(1000);
        return date;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 16, 32, 64})
    void aDateBeforeTheSystemPrompt_isFoundWithItsPlaceAndItsCost(int blockTokens) {
        CacheOf cache = new CacheOf(blockTokens);
        for (int i = 0; i < 20; i++) {
            cache.send(date(), systemPrompt, tokens(TEXT));
        }

        assertThat(cache.found()).hasSize(1);
        UnstableHead head = cache.found().getFirst();
        assertThat(head.requests()).isEqualTo(20);
        assertThat(head.from()).isEqualTo(10);
        assertThat(head.earliest()).isEqualTo(10);
        assertThat(head.sameTokens()).isBetween(PROMPT - 100L, (long) PROMPT);
        assertThat(head.againTokens()).isBetween(19 * (PROMPT - 100L), 19L * PROMPT);
        assertThat(head.promptTokens()).isBetween(PROMPT + 12L + TEXT - blockTokens, PROMPT + 12L + TEXT);
        assertThat(head.share()).isBetween(0.8, 0.95);
        UnstableHead.Example example = head.example().orElseThrow();
        assertThat(example.from()).isEqualTo(10);
        assertThat(example.before().tokens()).containsExactly(502, 503, 504, 505, 506, 507, 508, 509);
        assertThat(example.one().tokens().subList(0, 2))
                .isNotEqualTo(example.other().tokens().subList(0, 2));
        assertThat(example.one().tokens().subList(2, 10))
                .isEqualTo(example.other().tokens().subList(2, 10))
                .isEqualTo(Arrays.stream(systemPrompt).limit(8).boxed().toList());
    }

    /** What was inserted has another length each time, so nothing stands where it stood. */
    @Test
    void anIdOfAnyLengthInTheMiddleOfTheInstructions_isFound() {
        CacheOf cache = new CacheOf(16);
        int[] first = Arrays.copyOf(systemPrompt, 300);
        int[] second = Arrays.copyOfRange(systemPrompt, 300, PROMPT);
        for (int i = 0; i < 12; i++) {
            cache.send(first, tokens(1 + random.nextInt(40)), second, tokens(TEXT));
        }

        assertThat(cache.found()).hasSize(1);
        UnstableHead head = cache.found().getFirst();
        assertThat(head.requests()).isEqualTo(12);
        assertThat(head.from()).isEqualTo(300);
        assertThat(head.sameTokens()).isBetween(PROMPT - 400L, PROMPT - 300L);
    }

    @Test
    void toolsInAnotherOrderEachTime_areFound() {
        List<int[]> tools = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            tools.add(tokens(150 + 10 * i));
        }
        CacheOf cache = new CacheOf(16);
        Random order = new Random(27);
        int[] begin = tokens(50);
        for (int i = 0; i < 20; i++) {
            Collections.shuffle(tools, order);
            List<int[]> parts = new ArrayList<>(tools);
            parts.addFirst(begin);
            parts.add(tokens(TEXT));
            cache.send(parts.toArray(int[][]::new));
        }

        assertThat(cache.found()).hasSize(1);
        UnstableHead head = cache.found().getFirst();
        assertThat(head.requests()).isGreaterThan(17);
        assertThat(head.earliest()).isEqualTo(50);
        // Of 1,950, a piece or two at each seam left out.
        assertThat(head.sameTokens()).isBetween(1_300L, 1_950L);
    }

    @Test
    void promptsThatComeInChunks_areCountedOnceAndWhole() {
        CacheOf cache = new CacheOf(16, 32);
        for (int i = 0; i < 10; i++) {
            cache.send(date(), systemPrompt, tokens(TEXT));
        }

        assertThat(cache.found()).hasSize(1);
        UnstableHead head = cache.found().getFirst();
        assertThat(head.requests()).isEqualTo(10);
        assertThat(head.sameTokens()).isBetween(PROMPT - 150L, (long) PROMPT);
        assertThat(head.promptTokens()).isBetween(PROMPT + TEXT - 16L, PROMPT + TEXT + 12L);
    }

    /** Each of ten users' clients has its own head; behind each stands what all have. */
    @Test
    void headsThatComeBack_countOnceEach() {
        List<int[]> dates = IntStream.range(0, 10).mapToObj(any -> date()).toList();
        CacheOf cache = new CacheOf(16);
        for (int i = 0; i < 200; i++) {
            if (i % 20 == 0) {
                cache.empty();
            }
            cache.send(dates.get(i % 10), systemPrompt, tokens(TEXT));
        }

        assertThat(cache.found()).hasSize(1);
        assertThat(cache.found().getFirst().requests()).isEqualTo(10);
    }

    @Test
    void headsThatAreRareAmongWhatIsComputed_areNotTold() {
        CacheOf cache = new CacheOf(16);
        for (int i = 0; i < 10; i++) {
            cache.send(date(), systemPrompt, tokens(TEXT));
        }
        assertThat(cache.found()).hasSize(1);
        for (int i = 0; i < 200; i++) {
            cache.send(tokens(10_000));
        }
        assertThat(cache.found()).isEmpty();
    }

    @Test
    void twoKindsOfRequests_areTwoFindingsTheDearerFirst() {
        int[] other = tokens(3 * PROMPT);
        CacheOf cache = new CacheOf(16);
        for (int i = 0; i < 20; i++) {
            cache.send(date(), systemPrompt, tokens(TEXT));
            cache.send(tokens(5), other, tokens(TEXT));
        }

        assertThat(cache.found()).hasSize(2);
        assertThat(cache.found()).extracting(UnstableHead::from).containsExactly(0, 10);
    }

    @Test
    void threeRequests_areNotYetAFinding() {
        CacheOf cache = new CacheOf(16);
        for (int i = 0; i < UnstableHeads.LEAST_REQUESTS - 1; i++) {
            cache.send(date(), systemPrompt, tokens(TEXT));
        }
        assertThat(cache.found()).isEmpty();
        cache.send(date(), systemPrompt, tokens(TEXT));
        assertThat(cache.found()).hasSize(1);
    }

    /** The cache is emptied all the time, so that nearly all is computed over and over. */
    @ParameterizedTest
    @ValueSource(ints = {1, 16, 64})
    void aSystemPromptBeforeDifferentTexts_isNoFindingHoweverOftenItIsLost(int blockTokens) {
        CacheOf cache = new CacheOf(blockTokens);
        for (int i = 0; i < 100; i++) {
            cache.send(systemPrompt, tokens(TEXT + random.nextInt(2_000)));
            if (i % 3 == 0) {
                cache.empty();
            }
        }
        assertThat(cache.found()).isEmpty();
    }

    @Test
    void promptsThatComeOnce_areNoFinding() {
        CacheOf cache = new CacheOf(16);
        for (int i = 0; i < 200; i++) {
            cache.send(tokens(300 + random.nextInt(3_000)));
        }
        assertThat(cache.found()).isEmpty();
    }

    @Test
    void conversations_areNoFindingWithOtherAnswersAndOtherEndsAndLosses() {
        CacheOf cache = new CacheOf(16);
        for (int talk = 0; talk < 20; talk++) {
            int[] history = systemPrompt;
            for (int turn = 0; turn < 8; turn++) {
                int[] question = tokens(50 + random.nextInt(400));
                // Asked again, since the first answer did not please.
                cache.send(history, question);
                cache.send(history, question, tokens(200));
                history = joined(history, question, tokens(100 + random.nextInt(500)));
                cache.send(history, tokens(30));
                if (random.nextInt(4) == 0) {
                    cache.empty();
                }
            }
        }
        assertThat(cache.found()).isEmpty();
    }

    @Test
    void theSamePromptAgain_isNoFinding() {
        CacheOf cache = new CacheOf(16);
        int[] text = tokens(TEXT);
        for (int i = 0; i < 20; i++) {
            cache.send(systemPrompt, text);
            cache.empty();
        }
        assertThat(cache.found()).isEmpty();
    }

    /** A sentence that stands in many texts, and one token over and over, are no content that is worth moving. */
    @Test
    void phrasesAndFillers_areNoFinding() {
        int[] phrase = tokens(100);
        int[] filler = new int[1_000];
        CacheOf cache = new CacheOf(16);
        for (int i = 0; i < 50; i++) {
            cache.send(tokens(400), phrase, tokens(400), phrase, tokens(400));
            cache.send(tokens(40), filler, tokens(TEXT));
        }
        assertThat(cache.found()).isEmpty();
    }

    /** Each request brings five of forty documents. */
    @Test
    void documentsDrawnForEachRequest_areNoFinding() {
        List<int[]> documents = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            documents.add(tokens(400));
        }
        CacheOf cache = new CacheOf(16);
        Random order = new Random(27);
        for (int i = 0; i < 200; i++) {
            Collections.shuffle(documents, order);
            List<int[]> parts = new ArrayList<>(documents.subList(0, 5));
            parts.addFirst(systemPrompt);
            parts.add(tokens(TEXT));
            cache.send(parts.toArray(int[][]::new));
        }
        assertThat(cache.found()).isEmpty();
    }

    /** Far more kinds than are kept, each a few times, beside one that costs. */
    @Test
    void theDearestStays_whenTooManyKindsCome() {
        CacheOf cache = new CacheOf(16);
        for (int kind = 0; kind < 150; kind++) {
            int[] body = tokens(400);
            for (int i = 0; i < 3; i++) {
                cache.send(tokens(5), body);
                cache.send(date(), systemPrompt, tokens(TEXT));
            }
        }
        assertThat(cache.found()).hasSize(1);
        assertThat(cache.found().getFirst().requests()).isEqualTo(450);
    }
}
