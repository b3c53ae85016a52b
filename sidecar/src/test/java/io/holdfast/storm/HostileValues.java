package io.holdfast.storm;

import io.holdfast.embed.cell.Digest;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.HeldCopy;
import io.holdfast.embed.cell.HoldReport;
import io.holdfast.embed.cell.Hot;
import io.holdfast.embed.cell.HotEnd;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** What somebody who may write to a fleet's store puts into it: garbage, and lies that are well formed. */
final class HostileValues {
    private static final List<String> KINDS = List.of("engine", "digest", "report", "hold", "curves2");
    private static final long YEAR = Duration.ofDays(365).toMillis();

    private final StormStore store;
    private final String cell;
    private final SplittableRandom random;

    HostileValues(StormStore store, String cell, SplittableRandom random) {
        this.store = store;
        this.cell = cell;
        this.random = random;
    }

    /**
     * Puts something.
     *
     * @param engines names of engines that there are
     * @param holds holds that somebody took
     * @param names names of prefixes that there are
     */
    void put(List<String> engines, List<FleetHold> holds, List<Long> names) {
        String engine = any(engines);
        long name = random.nextInt(4) == 0 ? random.nextLong() | 1 : any(names);
        switch (random.nextInt(12)) {
            case 0 -> put(any(KINDS), random.nextBoolean() ? engine : id(), garbage());
            case 1 -> old(value -> value[0] = (byte) random.nextInt());
            case 2 -> old(value -> value[random.nextInt(value.length)] ^= (byte) (1 << random.nextInt(8)));
            case 3 -> echo();
            case 4 -> digest(engine, name);
            case 5 -> put("engine", engine, sign(engine));
            case 6 -> {
                // Enough of them that sums are read in place of digests.
                for (int i = random.nextInt(1, 140); i > 0; i--) {
                    String nobody = "nobody-" + random.nextInt(1_000);
                    put("engine", nobody, sign(nobody));
                }
            }
            case 7 ->
                holds.stream()
                        .skip(random.nextInt(Math.max(1, holds.size())))
                        .findFirst()
                        .ifPresent(hold -> put(again(hold, hold.copies(), YEAR, hold.address(), false)));
            case 8 ->
                holds.stream()
                        .skip(random.nextInt(Math.max(1, holds.size())))
                        .findFirst()
                        .ifPresent(hold -> put(again(
                                hold,
                                1 + random.nextInt(5),
                                random.nextLong(YEAR),
                                "http://nobody:1",
                                random.nextInt(3) == 0)));
            case 9 -> {
                for (int i = random.nextInt(1, 250); i > 0; i--) {
                    put(invented(random.nextLong() | 1));
                }
            }
            case 10 -> put(invented(name));
            default -> report(engine);
        }
    }

    /** Puts a value again that was put before. */
    void echo() {
        List<StormStore.Put> past = store.past();
        if (!past.isEmpty()) {
            StormStore.Put put = any(past);
            puts(put.key(), put.value());
        }
    }

    private void old(Consumer<byte[]> change) {
        List<StormStore.Put> past = store.past();
        if (!past.isEmpty()) {
            StormStore.Put put = any(past);
            byte[] value = put.value().clone();
            change.accept(value);
            puts(put.key(), value);
        }
    }

    private void digest(String engine, long name) {
        List<HotEnd> ends = new ArrayList<>();
        ends.add(new HotEnd(name, 1 << 26, 1e9f, true, true));
        for (int i = 0; i < 200; i++) {
            ends.add(new HotEnd(random.nextLong() | 2, 1 + random.nextInt(1 << 20), i, random.nextBoolean(), false));
        }
        Hot hot = new Hot(OptionalDouble.of(Float.MAX_VALUE), OptionalLong.of(Long.MAX_VALUE), ends);
        put("digest", engine, new Digest(engine, "", random.nextLong(), Long.MAX_VALUE, hot).bytes(cell));
    }

    private void report(String engine) {
        List<HeldCopy> copies = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            copies.add(new HeldCopy(
                    HexFormat.of().toHexDigits(0x1000L + i), HeldCopy.State.HELD, 1 << 26, "because of " + i));
        }
        put("report", engine, new HoldReport(engine, copies).bytes(cell));
    }

    private FleetHold invented(long name) {
        int blocks = random.nextBoolean() ? 1 + random.nextInt(20) : 1 << 22;
        return new FleetHold(
                id(),
                name,
                blocks,
                blocks * 16,
                random.nextBoolean() ? FleetHold.ALL : 1 + random.nextInt(3),
                "nobody",
                100,
                random.nextLong(YEAR),
                "http://nobody:1",
                false);
    }

    private static FleetHold again(FleetHold hold, int copies, long left, String address, boolean released) {
        return new FleetHold(
                hold.id(),
                hold.name(),
                hold.blocks(),
                hold.tokens(),
                copies,
                hold.requester(),
                hold.weight(),
                left,
                address,
                released);
    }

    private void put(FleetHold hold) {
        put("hold", hold.id() + (hold.released() ? ":released" : ""), hold.bytes(cell));
    }

    private void put(String kind, String name, byte[] value) {
        puts(new FleetStore.Key(cell, kind, name), value);
    }

    private void puts(FleetStore.Key key, byte[] value) {
        if (random.nextInt(3) == 0) {
            store.insists(key, value, random.nextLong(30 * Timeline.SECOND));
        } else {
            store.puts(key, value, ttl());
        }
    }

    /** The sign of an engine, byte by byte. */
    private byte[] sign(String engine) {
        byte[] name = engine.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(2 + 8 + 2 + name.length + 2 + 8 + 8 + 8)
                .put((byte) 1)
                .put((byte) 'E')
                .putLong(HexFormat.fromHexDigitsToLong(cell))
                .putShort((short) name.length)
                .put(name)
                .putShort((short) 0)
                .putLong(random.nextLong())
                .putLong(random.nextBoolean() ? Long.MAX_VALUE : random.nextLong(100))
                .putLong(random.nextLong(1L << 40))
                .array();
    }

    private byte[] garbage() {
        byte[] bytes = new byte[1 + random.nextInt(FleetStore.MOST_BYTES)];
        random.nextBytes(bytes);
        if (random.nextBoolean()) {
            bytes[0] = 1;
        }
        return bytes;
    }

    private String id() {
        return HexFormat.of().toHexDigits(random.nextLong());
    }

    private Duration ttl() {
        return Duration.ofSeconds(random.nextInt(3) == 0 ? 86_400 : 1 + random.nextInt(60));
    }

    private <T> T any(List<T> all) {
        return all.get(random.nextInt(all.size()));
    }
}
