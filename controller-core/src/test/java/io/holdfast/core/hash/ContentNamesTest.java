package io.holdfast.core.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The vectors were computed from the rule with the reference library of the hash. */
final class ContentNamesTest {
    private static final long TENANT = 0x40f297a5a1a0a938L;

    @Test
    void blocksOfSixteen_chain() {
        assertThat(names(range(1, 64), 16, ContentNames.NO_NAMESPACE))
                .containsExactly(0xea06fc71a5ee6e88L, 0xad01835a37dd294cL, 0x0d55e56c2bccbd1aL, 0x445502a8048d6688L);
    }

    @Test
    void blocksOfSixtyFour_chain() {
        assertThat(names(range(1, 128), 64, ContentNames.NO_NAMESPACE))
                .containsExactly(0xf617bf3b93a1d900L, 0x0e934255bc70c31fL);
    }

    @Test
    void blocksOfOneToken_chain() {
        assertThat(names(new int[] {128000, 128006, 9125}, 1, ContentNames.NO_NAMESPACE))
                .containsExactly(0x2f5f22c809e571efL, 0x5b5fc0d142d545c8L, 0x81b64ea1671a16feL);
    }

    @Test
    void largestToken_isFourBytesUnsigned() {
        assertThat(names(new int[] {0, -1, 1, 2}, 2, ContentNames.NO_NAMESPACE))
                .containsExactly(0x0125704d75a609f6L, 0xe8d47bf1215144ffL);
    }

    @Test
    void firstBlock_hasItsLocalHashForAName() {
        int[] tokens = range(1, 16);
        long local = ContentNames.local(tokens, 0, 16);
        assertThat(ContentNames.root(local, ContentNames.NO_NAMESPACE)).isEqualTo(local);
    }

    @Test
    void namespaces_haveNumbersOfTheirOwn() {
        assertThat(ContentNames.namespace("", "")).isEqualTo(ContentNames.NO_NAMESPACE);
        assertThat(ContentNames.namespace("tenant-a", "")).isEqualTo(TENANT);
        assertThat(ContentNames.namespace("", "sql-lora")).isEqualTo(0x06c92d9351ab31cfL);
        assertThat(ContentNames.namespace("tenant-a", "sql-lora")).isEqualTo(0x1ffdb4c2b3a22df8L);
        assertThat(ContentNames.namespace("tenant-b", "")).isEqualTo(0x0bec6de18625ae81L);
        assertThat(ContentNames.namespace("té", "")).isEqualTo(0xc85ac31bc1dc5c0bL);
    }

    @Test
    void saltAndAdapter_areToldApart() {
        Set<Long> namespaces = new HashSet<>();
        List<String> texts = List.of("", "a", "b", "ab", "ba", "aab", "\0", "a\0");
        for (String salt : texts) {
            for (String lora : texts) {
                namespaces.add(ContentNames.namespace(salt, lora));
            }
        }
        assertThat(namespaces).hasSize(texts.size() * texts.size());
    }

    @Test
    void blocksOfANamespace_areChainedToIt() {
        assertThat(names(range(1, 64), 16, TENANT))
                .containsExactly(0xe4c2e8f8210f77c9L, 0xcf3694406fa8a82aL, 0x8101496b57b61823L, 0xd316a067af73e467L);
    }

    @Test
    void samePromptInManyNamespaces_sharesNoName() {
        int[] tokens = range(1, 16 * 32);
        Set<Long> names = new HashSet<>();
        for (int tenant = 0; tenant < 500; tenant++) {
            String salt = tenant == 0 ? "" : "tenant-" + tenant;
            for (long name : names(tokens, 16, ContentNames.namespace(salt, ""))) {
                names.add(name);
            }
        }
        assertThat(names).hasSize(500 * 32).doesNotContain(0L);
    }

    @Test
    void extra_changesTheLocalHashOfItsBlock() {
        long extra = ContentNames.extra("mmhash01");
        assertThat(extra).isEqualTo(0x894a801a039965e4L);
        long local = ContentNames.local(range(1, 16), 0, 16);
        assertThat(ContentNames.with(local, extra)).isEqualTo(0xc60263f6db28138dL);
        long other = ContentNames.extra("mmhash02");
        assertThat(ContentNames.with(extra, other)).isEqualTo(0xd7dd8f80376785f7L);
        assertThat(ContentNames.with(ContentNames.with(local, extra), other))
                .isNotEqualTo(ContentNames.with(ContentNames.with(local, other), extra));
    }

    @Test
    void namesOfARange_areTheStepsOneByOne() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 500; i++) {
            int[] tokens = random.ints(random.nextInt(600)).toArray();
            int from = random.nextInt(tokens.length + 1);
            int count = random.nextInt(tokens.length - from + 1);
            int blockTokens = 1 + random.nextInt(70);
            long namespace = random.nextBoolean() ? ContentNames.NO_NAMESPACE : random.nextLong();
            long[] into = new long[count / blockTokens + 2];
            Arrays.fill(into, 7);
            int blocks = ContentNames.names(tokens, from, count, blockTokens, namespace, into);
            assertThat(blocks).isEqualTo(count / blockTokens);
            long parent = 0;
            for (int block = 0; block < blocks; block++) {
                long local = ContentNames.local(tokens, from + block * blockTokens, blockTokens);
                parent = block == 0 ? ContentNames.root(local, namespace) : ContentNames.next(parent, local);
                assertThat(into[block]).isEqualTo(parent);
            }
            assertThat(into[blocks]).as("nothing is written behind the names").isEqualTo(7);
        }
    }

    /** A run may allocate a little once, whatever its length. */
    @Test
    void namingBlocks_allocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        int[] tokens = range(1, 1 << 13);
        long[] names = new long[tokens.length];
        for (int blockTokens : new int[] {1, 4, 16, 32, 48, 64, 512}) {
            for (int turn = 0; turn < 2; turn++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                int blocks = 0;
                for (int i = 0; i < 50; i++) {
                    blocks += ContentNames.names(tokens, 0, tokens.length, blockTokens, 1 + i, names);
                }
                long bytes = threads.getCurrentThreadAllocatedBytes() - before;
                assertThat(blocks).isEqualTo(50 * (tokens.length / blockTokens));
                assertThat(turn == 0 ? 0 : bytes)
                        .as("%d blocks of %d", blocks, blockTokens)
                        .isLessThan(512);
            }
        }
    }

    @Test
    void impossibleRequest_isRefused() {
        assertThatThrownBy(() -> ContentNames.names(new int[4], 0, 4, 0, 0, new long[4]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("A block has at least one token, not 0.");
        assertThatThrownBy(() -> ContentNames.names(new int[4], 0, 4, 1, 0, new long[3]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("There are 4 blocks and room for 3 names;");
        assertThatThrownBy(() -> ContentNames.names(new int[4], 1, 4, 1, 0, new long[4]))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    private static long[] names(int[] tokens, int blockTokens, long namespace) {
        long[] names = new long[tokens.length / blockTokens];
        assertThat(ContentNames.names(tokens, 0, tokens.length, blockTokens, namespace, names))
                .isEqualTo(names.length);
        return names;
    }

    private static int[] range(int first, int last) {
        return IntStream.rangeClosed(first, last).toArray();
    }
}
