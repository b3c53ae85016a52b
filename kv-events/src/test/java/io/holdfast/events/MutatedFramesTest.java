package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * Frames of every generation with errors of every kind: each is read as a plain reader reads it or refused as a plain reader
 * refuses it; nothing escapes, a refused frame reaches nobody, and none costs more memory than its length warrants.
 */
final class MutatedFramesTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final int MUTATIONS = DEEP ? 1_000_000 : 20_000;
    /** What arrays beside a frame of only hashes come to, copies made while they grow included. */
    private static final long BYTES_PER_BYTE = 64;

    private static final long ONCE = 64 << 10;

    private final KvEventDecoder decoder = new KvEventDecoder();
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @Test
    void mutatedFrame_isReadAsAPlainReaderReadsIt() throws IOException {
        SplittableRandom random = new SplittableRandom(7);
        List<byte[]> seeds = seeds();
        int read = 0;
        int refused = 0;
        int unjudged = 0;
        for (int i = 0; i < MUTATIONS; i++) {
            byte[] frame = mutated(random, seeds);
            try {
                NaiveDecoder plain = new NaiveDecoder(frame);
                List<String> expected = plain.lines();
                assertThat(heard(frame)).as("mutation %d", i).isEqualTo(expected);
                assertThat(decoder.rank()).isEqualTo(plain.rank);
                read++;
            } catch (NaiveDecoder.Refused e) {
                assertThat(heard(frame))
                        .as("mutation %d, %s", i, e.getMessage())
                        .isEmpty();
                refused++;
            } catch (NaiveDecoder.TooDeep e) {
                heard(frame);
                unjudged++;
            }
        }
        assertThat(read).isGreaterThan(MUTATIONS / 10);
        assertThat(refused).isGreaterThan(MUTATIONS / 10);
        assertThat(unjudged).isLessThan(MUTATIONS / 10);
    }

    @Test
    void unknownEvents_areCountedOfFramesThatAreRead() throws IOException {
        SplittableRandom random = new SplittableRandom(8);
        List<byte[]> seeds = seeds();
        long unknown = 0;
        for (int i = 0; i < 5000; i++) {
            byte[] frame = mutated(random, seeds);
            heard(frame);
            try {
                NaiveDecoder plain = new NaiveDecoder(frame);
                plain.lines();
                unknown += plain.unknown;
            } catch (NaiveDecoder.Refused e) {
                // Adds nothing.
            } catch (NaiveDecoder.TooDeep e) {
                unknown = decoder.unknownEvents();
            }
            assertThat(decoder.unknownEvents()).as("mutation %d", i).isEqualTo(unknown);
        }
        assertThat(unknown).isPositive();
    }

    @Test
    void frameCutAnywhere_isRefused() throws IOException {
        for (byte[] seed : seeds()) {
            int step = DEEP ? 1 : 1 + seed.length / 100;
            for (int length = 0; length < seed.length; length += step) {
                assertThat(heard(Arrays.copyOf(seed, length))).isEmpty();
            }
        }
    }

    @Test
    void frameThatNamesMoreThanAnyCacheHolds_isRefused() {
        byte[] frame = new byte[EventTape.MOST_BLOCKS + 64];
        byte[] start = HexFormat.of().parseHex("92c09192ac426c6f636b52656d6f766564dd");
        System.arraycopy(start, 0, frame, 0, start.length);
        int count = frame.length - start.length - Integer.BYTES;
        for (int i = 0; i < Integer.BYTES; i++) {
            frame[start.length + i] = (byte) (count >>> (24 - 8 * i));
        }
        assertThat(heard(frame)).isEmpty();
        assertThat(decoder.refusal()).isEqualTo("it names more than 4194304 blocks");
    }

    private static List<byte[]> seeds() throws IOException {
        List<byte[]> seeds = new ArrayList<>();
        for (String golden : GoldenPayloads.ALL) {
            seeds.add(HexFormat.of().parseHex(golden));
        }
        for (String recording : RecordedFrames.FORMS) {
            List<RecordedFrames.Frame> frames = RecordedFrames.of(recording);
            int step = Math.max(1, frames.size() / 40);
            for (int i = 0; i < frames.size(); i += step) {
                seeds.add(frames.get(i).payload());
            }
        }
        return seeds;
    }

    /** What a sink hears of the frame: nothing, or all of it. */
    private List<String> heard(byte[] frame) {
        long before = threads.getCurrentThreadAllocatedBytes();
        boolean whole = decoder.read(frame);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(allocated).isLessThan(BYTES_PER_BYTE * frame.length + ONCE);
        Details details = new Details();
        if (whole) {
            assertThat(decoder.refusal()).isEmpty();
            decoder.deliver(1, details);
            assertThat(details.lines).last().isEqualTo("end");
        } else {
            assertThat(decoder.refusal()).isNotEmpty();
            decoder.deliver(1, details);
            assertThat(details.lines).containsExactly("batch at 0", "end");
            details.lines.clear();
        }
        return details.lines;
    }

    private static byte[] mutated(SplittableRandom random, List<byte[]> seeds) {
        byte[] bytes = seeds.get(random.nextInt(seeds.size())).clone();
        for (int times = 1 + random.nextInt(3); times > 0 && bytes.length > 0; times--) {
            // Heads of containers stand at the front more often than not.
            int at = random.nextInt(random.nextBoolean() ? bytes.length : Math.min(bytes.length, 64));
            switch (random.nextInt(9)) {
                case 0 -> bytes[at] = (byte) random.nextInt(256);
                case 1 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
                case 2 -> bytes = random.nextInt(4) == 0 ? Arrays.copyOf(bytes, at) : bytes;
                case 3 -> bytes = spliced(bytes, at, random.nextInt(1, 9), new byte[0]);
                case 4 -> bytes = spliced(bytes, at, 0, noise(random));
                case 5 -> bytes = spliced(bytes, at, 1, header(random));
                case 6 -> {
                    byte[] other = seeds.get(random.nextInt(seeds.size()));
                    int from = random.nextInt(other.length);
                    int to = Math.min(other.length, from + random.nextInt(1, 200));
                    bytes = spliced(bytes, at, random.nextInt(0, 200), Arrays.copyOfRange(other, from, to));
                }
                case 7 -> {
                    byte[] nested = new byte[random.nextInt(1, 300)];
                    Arrays.fill(nested, (byte) (random.nextBoolean() ? 0x91 : 0x81));
                    bytes = random.nextInt(4) == 0 ? spliced(bytes, at, 0, nested) : bytes;
                }
                default -> swapWord(random, bytes);
            }
        }
        return bytes;
    }

    /** Puts a known word in place of another one of its length or a nil in place of a value, so that the frame stays whole. */
    private static void swapWord(SplittableRandom random, byte[] bytes) {
        String[][] words = {
            {"BlockRemoved", "BlockStolen0", "block_hashes"},
            {"token_ids", "lora_name", "group_idx", "token_ids"},
            {"cache_salt", "extra_keys", "block_size", "session_id"},
            {"type", "tipe"},
            {"full_attention", "sliding_window"},
            {"GPU", "CPU", "NPU"},
        };
        String[] set = words[random.nextInt(words.length)];
        byte[] from = set[random.nextInt(set.length)].getBytes(StandardCharsets.US_ASCII);
        byte[] to = set[random.nextInt(set.length)].getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i + from.length <= bytes.length && from.length == to.length; i++) {
            if (Arrays.equals(bytes, i, i + from.length, from, 0, from.length) && random.nextBoolean()) {
                System.arraycopy(to, 0, bytes, i, to.length);
            }
        }
    }

    /** A header that declares more than any frame holds, or a little. */
    private static byte[] header(SplittableRandom random) {
        int[] kinds = {0xdd, 0xdf, 0xdb, 0xc6, 0xc9, 0xdc, 0xde, 0xc4, 0xd9, 0xc7, 0xcb, 0xcf, 0xd3, 0xc1};
        byte high = (byte) (random.nextBoolean() ? 0 : random.nextInt(256));
        byte low = (byte) random.nextInt(random.nextBoolean() ? 4 : 256);
        byte middle = (byte) (random.nextInt(3) == 0 ? -1 : 0);
        return new byte[] {(byte) kinds[random.nextInt(kinds.length)], high, middle, middle, low};
    }

    private static byte[] noise(SplittableRandom random) {
        byte[] noise = new byte[1 + random.nextInt(8)];
        random.nextBytes(noise);
        return noise;
    }

    private static byte[] spliced(byte[] bytes, int at, int without, byte[] with) {
        int rest = Math.min(bytes.length, at + without);
        byte[] result = new byte[at + with.length + bytes.length - rest];
        System.arraycopy(bytes, 0, result, 0, at);
        System.arraycopy(with, 0, result, at, with.length);
        System.arraycopy(bytes, rest, result, at + with.length, bytes.length - rest);
        return result;
    }

    /** Writes everything down that a sink is told, as the plain reader does. */
    private static final class Details implements KvEventSink {
        private final List<String> lines = new ArrayList<>();

        @Override
        public void batchStarted(long sequence, long stampMicros) {
            lines.add("batch at " + stampMicros);
        }

        @Override
        public void stored(StoredBlocks chain) {
            long[] hashes = LongStream.range(0, chain.count())
                    .map(i -> chain.hash((int) i))
                    .toArray();
            long[] extras = LongStream.range(0, chain.count())
                    .map(i -> chain.extra((int) i))
                    .toArray();
            lines.add(NaiveDecoder.stored(
                            hashes,
                            chain.rooted() ? Optional.empty() : Optional.of(chain.parent()),
                            IntStream.range(0, chain.tokenCount())
                                    .map(chain::token)
                                    .boxed()
                                    .toList(),
                            chain.blockTokens(),
                            chain.tier(),
                            chain.group(),
                            chain.windowed())
                    + NaiveDecoder.apart(chain.namespaced(), chain.namespace(), extras));
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            lines.add("removed " + Arrays.toString(Arrays.copyOfRange(hashes, from, to)) + " from " + tier + " of "
                    + group);
        }

        @Override
        public void cleared() {
            lines.add("cleared");
        }

        @Override
        public void batchEnded() {
            lines.add("end");
        }

        @Override
        public void gap(Gap gap) {
            throw new AssertionError("a frame has no gap");
        }

        @Override
        public void restarted(long seen) {
            throw new AssertionError("a frame restarts nothing");
        }
    }
}
