package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.events.VllmExtras.Item;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The vectors were computed with Python's own serialisers and hashes; some were seen on servers. */
final class VllmBlockNamesTest {
    private static final VllmHashing CBOR = new VllmHashing(Algorithm.SHA256_CBOR, "0", Form.PLAIN);

    @Test
    void next_isTheDigestAndKnowsItsOwnTextsWhereOthersCannot() {
        int[] tokens = range(0, 7);
        for (Algorithm algorithm : Algorithm.values()) {
            VllmBlockNames names = new VllmBlockNames(new VllmHashing(algorithm, "0", Form.TAGGED));
            byte[] first = names.next(names.root(), tokens, 0, 4, "tenant-a");
            assertThat(names.digest(names.root(), tokens, 0, 4, VllmExtras.salted("tenant-a")))
                    .contains(first);
            assertThat(names.digest(first, tokens, 4, 4, VllmExtras.NONE))
                    .contains(names.next(first, tokens, 4, 4, ""));
            assertThat(names.next(names.root(), tokens, 0, 4, "cache_salt")).isNotEqualTo(first);
        }
    }

    @Test
    void parentOfFirstBlocks_isTheHashOfTheSeed() {
        assertThat(root(Algorithm.SHA256_CBOR, "0"))
                .isEqualTo("4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e");
        assertThat(root(Algorithm.SHA256_CBOR, "42"))
                .isEqualTo("9fa6eb003f14425eb9c8e6baacfbcaab26257357b829c7bfa74ffcc4f31c1780");
        assertThat(root(Algorithm.SHA256_CBOR, VllmHashing.UNSET_SEED))
                .isEqualTo("9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0");
        assertThat(root(Algorithm.XXHASH_CBOR, "0")).isEqualTo("1ebe36576dcb573f26b99533a20aaeca");
    }

    @Test
    void blocksOfFour_chain() {
        List<byte[]> digests = digests(CBOR, range(0, 15), 4, List.of());
        assertThat(hex(digests))
                .containsExactly(
                        "8d4c7c828f1611f485f1ebfc2b19f0fe1c90d0a71d00cd90948a1fa5e8c9e91f",
                        "ed6fa5d37a067707ede9aff44aa2819ab639263ca4ca66e8d36d02ffac952d33",
                        "1b7047f472ffe29f9649139ce64bf3c05228f5a99bb7792568bb68f2d7410c30",
                        "bc3ffb7fd0c74a14baed79d7009a7ee5d0cfc21a4a0aa1c342754a915e780a0a");
        assertThat(new VllmBlockNames(CBOR).of(range(0, 15), 4))
                .containsExactly(names(digests))
                .containsExactly(unsigned(
                        "10703402261835016479", "15234836411599629619", "7546740992792136752", "4788815766994029066"));
    }

    @Test
    void numbersAtTheEdgesOfTheirForms_haveTheShortest() {
        int[] tokens = {0, 23, 24, 255, 256, 65535, 65536, 151935};
        assertThat(hex(digests(CBOR, tokens, 8, List.of())))
                .containsExactly("aeb1ee8c73a310c8958fb768b16e9812e4135c3846f88270b8b83e8e9a9ea1e9");
    }

    @Test
    void anotherSeed_givesOtherNames() {
        VllmHashing hashing = new VllmHashing(Algorithm.SHA256_CBOR, "42", Form.PLAIN);
        assertThat(hex(digests(hashing, range(1, 16), 16, List.of())))
                .containsExactly("476e88fb0c175c0b4ef0343e158b5157c2ac537d37d97830e235fcc84bc5706d");
    }

    @Test
    void plainSalt_isInTheFirstBlock() {
        assertThat(hex(digests(CBOR, range(0, 7), 4, List.of(VllmExtras.salted("tenant-a")))))
                .containsExactly(
                        "58ecd4af47139332c2ad56d1accd8fc49e661a9254e26c4ff6630fcb153cf25b",
                        "d4e77625c37140113f850b5d9ee38598d5d166ac2a201fde895aabbffc84d2d3");
        assertThat(new VllmBlockNames(CBOR).of(range(0, 7), 4, "tenant-a"))
                .hasValueSatisfying(names ->
                        assertThat(names).containsExactly(unsigned("17754051520933720667", "9897411972163752659")));
    }

    @Test
    void plainAdapter_isInEachBlock() {
        VllmExtras lora = new VllmExtras("sql-lora", List.of(), "");
        assertThat(hex(digests(CBOR, range(0, 7), 4, List.of(lora, lora))))
                .containsExactly(
                        "71ea7abca3eb31988a1e9e5515b7da3c0a7dbfd1f1404f4d4b9c85c061b2ade7",
                        "d6e97a8b07c64fead045f6fe6fdd7d8b14d5e8d88369bd7a1d56f59cdc74f7d1");
    }

    @Test
    void plainItem_hasItsPlaceInEachBlock() {
        VllmExtras first = new VllmExtras("sql-lora", List.of(new Item("mmhash01", 2)), "tenant-a");
        VllmExtras second = new VllmExtras("sql-lora", List.of(new Item("mmhash01", -2)), "");
        assertThat(hex(digests(CBOR, range(0, 7), 4, List.of(first, second))))
                .containsExactly(
                        "1223a76aa98e628e72e197c8ca2f775362bf7a6e610651fa4c2f4d0a0ef7385a",
                        "441fadc5a806c7e502312a0f214bb290e7741c29a62c0e8a1dc100ec86ce9b55");
    }

    @Test
    void blocksOfSixteen_chain() {
        assertThat(hex(digests(
                        CBOR, IntStream.rangeClosed(1, 32).map(i -> 101 * i).toArray(), 16, List.of())))
                .containsExactly(
                        "d450abdaf2c9ebdd0e0cbfbc4e24a5c07ff71dcab37be7426d4fa0e5fdb93342",
                        "0d95d2dc02f528b32afbd33ebffedd911ed1978087b0a01679b4ddd62261c5db");
    }

    @Test
    void seedOfAServerWithoutOne_chains() {
        VllmHashing hashing = new VllmHashing(Algorithm.SHA256_CBOR, VllmHashing.UNSET_SEED, Form.TAGGED);
        assertThat(hex(digests(hashing, range(0, 15), 4, List.of())))
                .containsExactly(
                        "c49ab11fb576db6f376aef58c24f728a0ba1807e8cac5f940f1a5c4c20741898",
                        "9d0a7c928c548f9aeea31ae98471cf515045a206851732ac14cb3083c18d40f9",
                        "f96dd657a1cf55a0a400707b90c437fb0b516dbc833996713e6829a3fe01fe19",
                        "5065cf453272ca2a87436dc7f03d797849b40a8c7f02aa9bc9888872909f87a8");
    }

    @Test
    void shortDigests_chain() {
        VllmHashing hashing = new VllmHashing(Algorithm.XXHASH_CBOR, "0", Form.TAGGED);
        assertThat(hex(digests(hashing, range(0, 7), 4, List.of())))
                .containsExactly("c20df5f86688b63f4cb5a744053f0b61", "75c35caf4a74a79326db18216e1df188");
        assertThat(new VllmBlockNames(hashing).of(range(0, 7), 4))
                .containsExactly(unsigned("5527508028254784353", "2799858125201338760"));
    }

    @Test
    void promptSeenOnAServer_hasItsNames() {
        int[] tokens = {
            785, 3974, 13876, 38835, 34208, 916, 279, 15678, 5562, 13, 44801, 2266, 25, 8287, 1411, 27217, //
            1161, 11567, 9477, 1687, 11756, 2252, 4640, 19120, 9500, 27711, 40538, 3891, 15045, 78, 4568, 64
        };
        assertThat(new VllmBlockNames(CBOR).of(tokens, 16))
                .containsExactly(unsigned("15724667998076285447", "13006404108087305737"));
    }

    @Test
    void tailShorterThanABlock_hasNoName() {
        VllmBlockNames names = new VllmBlockNames(CBOR);
        assertThat(names.of(range(0, 14), 4)).hasSize(3).startsWith(names.of(range(0, 3), 4));
        assertThat(names.of(range(0, 2), 4)).isEmpty();
    }

    /** Block sizes, numbers, texts and extras of all forms, frames and long texts included. */
    @Test
    void serialisedObjects_areWhatPythonWrites() throws IOException {
        int vectors = 0;
        for (String line : lines("vllm_digests.txt")) {
            String[] fields = line.split(" ", -1);
            int count = Integer.parseInt(fields[0]);
            int bits = Integer.parseInt(fields[1]);
            long state = Long.parseLong(fields[2]);
            int[] tokens = new int[count];
            for (int i = 0; i < count; i++) {
                state = next(state);
                tokens[i] = (int) (state >>> (Long.SIZE - bits));
            }
            byte[] parent = new byte[32];
            for (int i = 0; i < parent.length; i++) {
                state = next(state);
                parent[i] = (byte) (state >>> 56);
            }
            Form form = fields[3].equals("tagged") ? Form.TAGGED : Form.PLAIN;
            VllmExtras extras = new VllmExtras(text(fields[4]), items(fields[5]), text(fields[6]));
            for (Algorithm algorithm : Algorithm.values()) {
                VllmBlockNames names = new VllmBlockNames(new VllmHashing(algorithm, "0", form));
                byte[] sized = Arrays.copyOf(parent, names.root().length);
                String digest = fields[
                        7
                                + List.of("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")
                                        .indexOf(algorithm.option())];
                assertThat(names.digest(sized, tokens, 0, count, extras).map(HexFormat.of()::formatHex))
                        .as("%s of %s", algorithm, line)
                        .contains(digest);
            }
            vectors++;
        }
        assertThat(vectors).isEqualTo(216);
    }

    @Test
    void extrasOfANewerVersion_areOpaqueButForSalts() {
        for (Algorithm algorithm : Algorithm.values()) {
            VllmBlockNames names = new VllmBlockNames(new VllmHashing(algorithm, "0", Form.TAGGED));
            VllmExtras lora = new VllmExtras("sql-lora", List.of(), "");
            VllmExtras item = new VllmExtras("", List.of(new Item("mmhash01", 0)), "");
            assertThat(names.digest(names.root(), range(1, 4), 0, 4, lora)).isEmpty();
            assertThat(names.digest(names.root(), range(1, 4), 0, 4, item)).isEmpty();
            assertThat(names.digest(names.root(), range(1, 4), 0, 4, VllmExtras.salted("x")))
                    .isPresent();
        }
    }

    @Test
    void equalTexts_areOpaqueWherePythonMayShareThem() {
        VllmExtras both = new VllmExtras("x", List.of(), "x");
        VllmExtras twice = new VllmExtras("", List.of(new Item("i", 0), new Item("i", 2)), "");
        VllmBlockNames cbor = new VllmBlockNames(CBOR);
        VllmBlockNames pickle = new VllmBlockNames(new VllmHashing(Algorithm.SHA256, "0", Form.PLAIN));
        VllmBlockNames tagged = new VllmBlockNames(new VllmHashing(Algorithm.SHA256, "0", Form.TAGGED));
        for (VllmExtras extras : List.of(both, twice)) {
            assertThat(cbor.digest(cbor.root(), range(1, 4), 0, 4, extras)).isPresent();
            assertThat(pickle.digest(pickle.root(), range(1, 4), 0, 4, extras)).isEmpty();
        }
        assertThat(tagged.of(range(1, 4), 4, "cache_salt")).isEmpty();
        assertThat(pickle.of(range(1, 4), 4, "cache_salt")).isPresent();
    }

    @Test
    void everyHashing_isDetectedFromAFirstBlock() {
        int[] tokens = range(1, 16);
        VllmExtras salt = VllmExtras.salted("tenant-a");
        for (Algorithm algorithm : Algorithm.values()) {
            for (String seed : List.of("0", "42", VllmHashing.UNSET_SEED, "20260101")) {
                for (Form form : Form.values()) {
                    VllmHashing hashing = new VllmHashing(algorithm, seed, form);
                    VllmBlockNames names = new VllmBlockNames(hashing);
                    byte[] plain = names.digest(names.root(), tokens, 0, 16, VllmExtras.NONE)
                            .orElseThrow();
                    byte[] salted =
                            names.digest(names.root(), tokens, 0, 16, salt).orElseThrow();
                    List<String> own = List.of("20260101");
                    VllmHashing newest = new VllmHashing(algorithm, seed, Form.TAGGED);
                    assertThat(VllmHashing.detect(tokens, VllmExtras.NONE, plain, own))
                            .contains(newest);
                    assertThat(VllmHashing.detect(tokens, VllmExtras.NONE, VllmBlockNames.name(plain), own))
                            .contains(newest);
                    assertThat(VllmHashing.detect(tokens, salt, salted, own)).contains(hashing);
                    assertThat(VllmHashing.detect(tokens, salt, VllmBlockNames.name(salted), own))
                            .contains(hashing);
                }
            }
        }
    }

    @Test
    void unknownSeed_isNotDetected() {
        VllmBlockNames names = new VllmBlockNames(new VllmHashing(Algorithm.SHA256, "7", Form.TAGGED));
        assertThat(VllmHashing.detect(range(1, 16), VllmExtras.NONE, names.of(range(1, 16), 16)[0], List.of()))
                .isEmpty();
        assertThat(VllmHashing.detect(range(1, 16), VllmExtras.NONE, new byte[32], List.of("7")))
                .isEmpty();
    }

    @Test
    void algorithms_haveTheirNamesOnTheCommandLine() {
        assertThat(Arrays.stream(Algorithm.values()).map(Algorithm::option))
                .containsExactly("sha256", "sha256_cbor", "xxhash", "xxhash_cbor");
        assertThat(Algorithm.of("sha256_cbor")).contains(Algorithm.SHA256_CBOR);
        assertThat(Algorithm.of("builtin")).isEmpty();
    }

    @Test
    void impossibleRequest_isRefused() {
        VllmBlockNames names = new VllmBlockNames(CBOR);
        assertThatThrownBy(() -> names.of(new int[4], 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("A block has at least one token, not 0.");
        assertThatThrownBy(() -> names.digest(new byte[16], new int[4], 0, 4, VllmExtras.NONE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("A digest of sha256_cbor has 32 bytes, the parent has 16.");
        assertThatThrownBy(() -> names.digest(names.root(), new int[4], 1, 4, VllmExtras.NONE))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    private static String root(Algorithm algorithm, String seed) {
        return HexFormat.of().formatHex(new VllmBlockNames(new VllmHashing(algorithm, seed, Form.TAGGED)).root());
    }

    /** The chain of a prompt whose blocks have these extras, and none where the list has ended. */
    private static List<byte[]> digests(VllmHashing hashing, int[] tokens, int blockTokens, List<VllmExtras> extras) {
        VllmBlockNames names = new VllmBlockNames(hashing);
        List<byte[]> digests = new ArrayList<>();
        byte[] parent = names.root();
        for (int i = 0; i < tokens.length / blockTokens; i++) {
            VllmExtras own = i < extras.size() ? extras.get(i) : VllmExtras.NONE;
            Optional<byte[]> digest = names.digest(parent, tokens, i * blockTokens, blockTokens, own);
            parent = digest.orElseThrow();
            digests.add(parent);
        }
        return digests;
    }

    private static List<String> hex(List<byte[]> digests) {
        return digests.stream().map(HexFormat.of()::formatHex).toList();
    }

    private static long[] names(List<byte[]> digests) {
        return digests.stream().mapToLong(VllmBlockNames::name).toArray();
    }

    private static long[] unsigned(String... names) {
        return Arrays.stream(names).mapToLong(Long::parseUnsignedLong).toArray();
    }

    private static int[] range(int first, int last) {
        return IntStream.rangeClosed(first, last).toArray();
    }

    private static long next(long state) {
        return state * 6364136223846793005L + 1442695040888963407L;
    }

    private static String text(String field) {
        int star = field.lastIndexOf('*');
        return star < 0 ? "" : field.substring(0, star).repeat(Integer.parseInt(field.substring(star + 1)));
    }

    private static List<Item> items(String field) {
        List<Item> items = new ArrayList<>();
        if (!field.equals("-")) {
            for (String item : field.split(",", -1)) {
                int colon = item.lastIndexOf(':');
                items.add(new Item(text(item.substring(0, colon)), Integer.parseInt(item.substring(colon + 1))));
            }
        }
        return items;
    }

    private static List<String> lines(String resource) throws IOException {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Objects.requireNonNull(VllmBlockNamesTest.class.getResourceAsStream(resource)),
                StandardCharsets.UTF_8))) {
            return reader.lines().filter(line -> !line.startsWith("#")).toList();
        }
    }
}
