package io.holdfast.valkey;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.FleetStoreBounds;
import io.holdfast.embed.cell.FleetStoreException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.ScoredValue;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.async.RedisKeyAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Store of a fleet on Valkey, or on whatever speaks its protocol: one server, the primary that sentinels know, or a
 * cluster.
 *
 * <p>It connects in the background, and again whenever it has to. Answers come on a thread of its own, which whoever has
 * long work to do with them must leave.
 */
public final class ValkeyFleetStore implements FleetStore {
    /*
     * Keys are {hf:CELL}:KIND:NAME. What is between the braces decides on the server of a cluster, so that a cell is on
     * one of them and its keys can be listed there.
     *
     * What is there may be anything, put by anybody. So what is fetched is bounded: one value comes by GETRANGE, one byte
     * longer than allowed to show that it is; a listing ends after so many keys and rounds; and FloodGuard hangs up on
     * answers that are longer than all that we would ever have put. What is no value or no sum of ours is left out and
     * counted.
     *
     * Listing is what costs, since each engine reads of each other one. So one walk over the keys finds all kinds that
     * are asked for, and their values come by MGET, 128 at once. That would fetch a huge value whole: after the first
     * flood the values of listings come by GETRANGE as well, for as long as this store is open.
     *
     * A member of a window is the largest number less its name, in hexadecimal: a server puts members of equal sums in
     * the reverse order of their text, and the smaller name shall come first.
     *
     * A window must not outlive us without an end, nor end amid its increments. So each flush of them begins and ends with
     * its time to live, and the server has nearly always read all of a flush or none.
     *
     * Commands: SET, GETRANGE, MGET, SCAN, ZINCRBY, PEXPIRE, ZREVRANGE, EVAL. A command has the timeout; a call of several waits
     * for each. Nothing is sent twice: a caller that got no answer knows best whether asking again makes sense.
     */

    private static final String RENEWAL =
            "return redis.call('get',KEYS[1])==ARGV[1] and redis.call('pexpire',KEYS[1],ARGV[2]) or 0";
    /** Calls that wait at once; more of them than a fleet's tick ever has. */
    static final int MOST_CALLS = 256;
    /** Commands of one call that wait at once. */
    private static final int FLUSH = 128;

    private static final int SCANNED = 1_000;
    private static final int MOST_ROUNDS = 64;
    private static final HexFormat HEX = HexFormat.of();
    private static final int NAME_DIGITS = 2 * Long.BYTES;

    private final ValkeyFailures failures;
    private final ValkeyLink link;
    private final FloodGuard.Meter meter;
    private final AtomicInteger calls = new AtomicInteger();
    private final LongAdder dropped = new LongAdder();

    /**
     * Keys that a listing found.
     *
     * @param cell what the keys of all kinds begin with
     * @param most how many of each kind
     * @param names names found, by kind
     */
    private record Listing(
            String cell, Map<String, Integer> most, Map<String, Set<String>> names, AtomicInteger rounds) {
        Listing(String cell, Map<String, Integer> most) {
            this(cell, most, new HashMap<>(), new AtomicInteger());
            most.keySet().forEach(kind -> names.put(kind, new LinkedHashSet<>()));
        }

        /** What the keys have in common, for the server. */
        String pattern() {
            return cell + (most.size() == 1 ? most.keySet().iterator().next() + ":*" : "*");
        }

        boolean full() {
            return names.entrySet().stream()
                    .allMatch(each -> each.getValue().size() >= most.getOrDefault(each.getKey(), 0));
        }

        /** Adds keys, and returns how many of them are none of ours. */
        int add(List<String> found) {
            int others = 0;
            for (String path : found) {
                int colon = path.indexOf(':', cell.length());
                if (!path.startsWith(cell) || colon < 0 || !Key.isName(path.substring(colon + 1))) {
                    others++;
                    continue;
                }
                String kind = path.substring(cell.length(), colon);
                Set<String> its = names.getOrDefault(kind, Set.of());
                if (its.size() < most.getOrDefault(kind, 0)) {
                    its.add(path.substring(colon + 1));
                }
            }
            return others;
        }

        List<Key> keys(String id) {
            List<Key> keys = new ArrayList<>();
            names.forEach((kind, each) -> each.forEach(name -> keys.add(new Key(id, kind, name))));
            return keys;
        }
    }

    private ValkeyFleetStore(ValkeyFailures failures, ValkeyLink link, FloodGuard.Meter meter) {
        this.failures = failures;
        this.link = link;
        this.meter = meter;
    }

    /** Says whether a text is meant as an address of such a store, rightly written or not. */
    public static boolean isAddress(String text) {
        return ValkeyAddress.isAddress(text);
    }

    /**
     * Returns a store that connects in the background.
     *
     * @param address {@code valkey://host:port/database}, {@code valkey-sentinel://host1,host2/name} or {@code
     *     valkey-cluster://host1,host2}; {@code valkeys}, {@code valkeys-sentinel} and {@code valkeys-cluster} for TLS, with
     *     {@code ?ca=FILE} where not Java's own certificates are to be trusted; {@code redis} for {@code valkey} is the same
     * @param userVariable variable of the environment that has the user; the server's default user without one
     * @param passwordVariable variable that has the password; no login without one
     * @param environment variables by name
     * @param timeout how long a command may take
     * @param background where connections are begun; the first one loads classes for a second and more
     * @throws FleetStoreException with one sentence, where the address is none or a variable is not set
     */
    public static ValkeyFleetStore open(
            String address,
            Optional<String> userVariable,
            Optional<String> passwordVariable,
            Map<String, String> environment,
            Duration timeout,
            Executor background) {
        ValkeyAddress parsed = ValkeyAddress.of(address);
        FleetStoreBounds.millis(timeout);
        if (userVariable.isPresent() && passwordVariable.isEmpty()) {
            throw new FleetStoreException("A user of Valkey has a password; name the variable that has it as well.");
        }
        Optional<ValkeyClient.Login> login = passwordVariable.map(password -> new ValkeyClient.Login(
                userVariable.map(user -> variable(environment, user)), variable(environment, password)));
        Optional<String> variables = passwordVariable.map(
                password -> userVariable.map(user -> user + " and ").orElse("") + password);
        ValkeyFailures failures = new ValkeyFailures(parsed.said(), variables, timeout);
        FloodGuard.Meter meter = new FloodGuard.Meter();
        ValkeyLink link = new ValkeyLink(new ValkeyClient(parsed, login, timeout, meter), failures, background);
        link.open();
        return new ValkeyFleetStore(failures, link, meter);
    }

    @Override
    public CompletionStage<Void> put(Key key, byte[] value, Duration ttl) {
        return checked(() -> {
            byte[] sent = FleetStoreBounds.value(value).clone();
            SetArgs until = SetArgs.Builder.px(FleetStoreBounds.millis(ttl));
            return call(
                    path(key), about -> asked(about.set(path(key), sent, until)).thenAccept(ok -> {}));
        });
    }

    @Override
    public CompletionStage<Optional<byte[]>> get(Key key) {
        return call(path(key), about -> value(about, path(key)));
    }

    @Override
    public CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most) {
        return list(cell, Map.of(kind, most)).thenApply(all -> all.getOrDefault(kind, Map.of()));
    }

    @Override
    public CompletionStage<Map<String, Map<String, byte[]>>> list(String cell, Map<String, Integer> most) {
        Map<String, Integer> bounded = new HashMap<>();
        most.forEach((kind, count) -> bounded.put(new Key(cell, kind, "-").kind(), Math.clamp(count, 0, MOST_LISTED)));
        Map<String, Map<String, byte[]>> values = new HashMap<>();
        bounded.keySet().forEach(kind -> values.put(kind, new ConcurrentHashMap<>()));
        bounded.values().removeIf(count -> count == 0);
        if (bounded.isEmpty()) {
            return CompletableFuture.completedFuture(values);
        }
        String some = path(new Key(cell, "any", "-"));
        Listing listing = new Listing(some.substring(0, some.indexOf('}') + 2), bounded);
        return work(wire -> waited(wire.keeper(some))
                .thenCompose(keeper -> scan(keeper, ScanCursor.INITIAL, listing))
                .thenCompose(found -> wire.about(some).thenCompose(about -> read(about, found.keys(cell), values)))
                .thenApply(done -> values));
    }

    @Override
    public CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl) {
        return checked(() -> {
            long millis = FleetStoreBounds.millis(ttl);
            List<Map.Entry<Long, Double>> sent = amounts.isEmpty()
                    ? List.of()
                    : FleetStoreBounds.amounts(Map.copyOf(amounts)).entrySet().stream()
                            .toList();
            String path = path(window);
            return sent.isEmpty()
                    ? CompletableFuture.completedFuture(null)
                    : call(
                            path,
                            about -> inTurn(sent, flush -> {
                                List<CompletionStage<?>> asked = new ArrayList<>();
                                asked.add(asked(about.pexpire(path, millis)));
                                for (Map.Entry<Long, Double> sum : flush) {
                                    asked.add(asked(about.zincrby(path, sum.getValue(), member(sum.getKey()))));
                                }
                                asked.add(asked(about.pexpire(path, millis)));
                                return asked;
                            }));
        });
    }

    @Override
    public CompletionStage<SequencedMap<Long, Double>> top(Key window, int most) {
        // Both ends of a range count, and an end of -1 would be the very last.
        int last = Math.min(most, MOST_SUMS) - 1;
        return last < 0
                ? CompletableFuture.completedFuture(new LinkedHashMap<>())
                : call(
                        path(window),
                        about -> asked(about.zrevrangeWithScores(path(window), 0, last))
                                .thenApply(this::sums));
    }

    @Override
    public CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl) {
        return checked(() -> {
            byte[] name = FleetStoreBounds.owner(owner).getBytes(US_ASCII);
            SetArgs until = SetArgs.Builder.nx().px(FleetStoreBounds.millis(ttl));
            return call(
                    path(key), about -> asked(about.set(path(key), name, until)).thenApply("OK"::equals));
        });
    }

    @Override
    public CompletionStage<Boolean> renew(Key key, String owner, Duration ttl) {
        return checked(() -> {
            byte[] name = FleetStoreBounds.owner(owner).getBytes(US_ASCII);
            byte[] millis = Long.toString(FleetStoreBounds.millis(ttl)).getBytes(US_ASCII);
            String[] keys = {path(key)};
            return call(
                    path(key),
                    about -> asked(about.<Long>eval(RENEWAL, ScriptOutputType.INTEGER, keys, name, millis))
                            .thenApply(renewed -> renewed == 1));
        });
    }

    @Override
    public String said() {
        String state = link.trouble()
                .map(sentence -> sentence.substring(0, sentence.length() - 1))
                .orElse(failures.where() + " answers");
        return dropped() == 0 ? state : state + "; " + dropped() + " values in it were none of ours and were left out";
    }

    /** Values, names and sums that were read and left out, since nobody of ours can have put them there. */
    public long dropped() {
        return dropped.sum();
    }

    @Override
    public void close() {
        link.close();
    }

    private CompletionStage<Optional<byte[]>> value(RedisClusterAsyncCommands<String, byte[]> about, String path) {
        // A key that is not there is an empty text.
        return asked(about.getrange(path, 0, MOST_BYTES)).thenApply(this::within);
    }

    private Optional<byte[]> within(byte[] value) {
        if (value.length > MOST_BYTES) {
            dropped.increment();
        }
        return value.length == 0 || value.length > MOST_BYTES ? Optional.empty() : Optional.of(value);
    }

    /** Reads values into the maps of their kinds. */
    private CompletionStage<Void> read(
            RedisClusterAsyncCommands<String, byte[]> about, List<Key> keys, Map<String, Map<String, byte[]>> values) {
        return keys.isEmpty()
                ? CompletableFuture.completedFuture(null)
                : inTurn(
                        keys,
                        flush -> meter.flooded().get() ? oneByOne(about, flush, values) : atOnce(about, flush, values));
    }

    private List<CompletionStage<?>> atOnce(
            RedisClusterAsyncCommands<String, byte[]> about, List<Key> flush, Map<String, Map<String, byte[]>> values) {
        Map<String, Key> byPath = new HashMap<>();
        flush.forEach(key -> byPath.put(path(key), key));
        return List.of(asked(about.mget(byPath.keySet().toArray(String[]::new)))
                .thenAccept(found -> found.forEach(each -> {
                    Key key = byPath.get(each.getKey());
                    if (key != null && each.hasValue()) {
                        within(each.getValue()).ifPresent(value -> keep(key, value, values));
                    }
                })));
    }

    private List<CompletionStage<?>> oneByOne(
            RedisClusterAsyncCommands<String, byte[]> about, List<Key> flush, Map<String, Map<String, byte[]>> values) {
        List<CompletionStage<?>> asked = new ArrayList<>();
        for (Key key : flush) {
            asked.add(valueIfOne(about, path(key))
                    .thenAccept(found -> found.ifPresent(value -> keep(key, value, values))));
        }
        return asked;
    }

    private static void keep(Key key, byte[] value, Map<String, Map<String, byte[]>> values) {
        values.getOrDefault(key.kind(), new HashMap<>()).put(key.name(), value);
    }

    private CompletionStage<Optional<byte[]>> valueIfOne(RedisClusterAsyncCommands<String, byte[]> about, String path) {
        return value(about, path).exceptionally(failure -> {
            if (!ValkeyFailures.isOtherKind(failure)) {
                throw new CompletionException(failure);
            }
            return Optional.empty();
        });
    }

    /** Looks for keys of a cell, until enough are found or there are no more; a round after the other. */
    private CompletionStage<Listing> scan(
            RedisKeyAsyncCommands<String, byte[]> keeper, ScanCursor from, Listing listing) {
        ScanArgs args = ScanArgs.Builder.limit(SCANNED).match(listing.pattern());
        return asked(keeper.scan(from, args)).thenCompose(cursor -> {
            dropped.add(listing.add(cursor.getKeys()));
            if (cursor.isFinished() || listing.full()) {
                return CompletableFuture.completedFuture(listing);
            }
            if (listing.rounds().incrementAndGet() == MOST_ROUNDS) {
                return CompletableFuture.failedFuture(new FleetStoreException(failures.where() + " has more than "
                        + SCANNED * MOST_ROUNDS
                        + " keys, too many to look for those of a cell among them; give Holdfast"
                        + " a database of its own."));
            }
            return scan(keeper, cursor, listing);
        });
    }

    private SequencedMap<Long, Double> sums(List<ScoredValue<byte[]>> members) {
        SequencedMap<Long, Double> sums = new LinkedHashMap<>();
        for (ScoredValue<byte[]> member : members) {
            OptionalLong name = name(member.getValue());
            if (name.isPresent() && Double.isFinite(member.getScore())) {
                sums.put(name.getAsLong(), member.getScore());
            } else {
                dropped.increment();
            }
        }
        return sums;
    }

    private static byte[] member(long name) {
        return HEX.toHexDigits(Long.MAX_VALUE - name).getBytes(US_ASCII);
    }

    private static OptionalLong name(byte[] member) {
        String digits = member.length == NAME_DIGITS ? new String(member, US_ASCII) : "";
        return digits.matches("[0-9a-f]{" + NAME_DIGITS + "}")
                ? OptionalLong.of(Long.MAX_VALUE - HexFormat.fromHexDigitsToLong(digits))
                : OptionalLong.empty();
    }

    private static String path(Key key) {
        return "{hf:" + key.cell() + "}:" + key.kind() + ":" + key.name();
    }

    private static String variable(Map<String, String> environment, String name) {
        return Optional.ofNullable(environment.get(name))
                .filter(value -> !value.isEmpty())
                .orElseThrow(() -> new FleetStoreException("The environment variable " + name
                        + ", which is to have what Valkey asks for at the login, is not set; set it,"
                        + " or name another."));
    }

    private static <T> CompletionStage<T> checked(Supplier<CompletionStage<T>> call) {
        try {
            return call.get();
        } catch (FleetStoreException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private <T> CompletionStage<T> call(
            String path, Function<RedisClusterAsyncCommands<String, byte[]>, CompletionStage<T>> commands) {
        return work(wire -> waited(wire.about(path)).thenCompose(commands));
    }

    /** Works with the connection once there is one, and gives it up where it turns out to be of no use. */
    @SuppressWarnings("FutureReturnValueIgnored") // The answer says how it ended.
    private <T> CompletionStage<T> work(Function<ValkeyLink.Wire, CompletionStage<T>> work) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        if (calls.incrementAndGet() > MOST_CALLS) {
            calls.decrementAndGet();
            return CompletableFuture.failedFuture(new FleetStoreException(failures.where() + " has yet to answer "
                    + MOST_CALLS + " calls, so that no more are made; see why it is slow."));
        }
        waited(link.wire())
                .thenCompose(wire -> worked(wire, work).whenComplete((done, failure) -> {
                    if (failure != null && ValkeyFailures.endsConnection(failure)) {
                        link.lost(wire, failure);
                    }
                }))
                .whenComplete((done, failure) -> {
                    calls.decrementAndGet();
                    if (failure == null) {
                        answer.complete(done);
                    } else {
                        answer.completeExceptionally(failures.sentence(failure));
                    }
                });
        return answer;
    }

    private static <T> CompletionStage<T> worked(
            ValkeyLink.Wire wire, Function<ValkeyLink.Wire, CompletionStage<T>> work) {
        try {
            return work.apply(wire);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Waits for a connection no longer than for an answer. */
    private <T> CompletableFuture<T> waited(CompletionStage<T> connection) {
        return connection
                .toCompletableFuture()
                .copy()
                .orTimeout(failures.timeout().toMillis(), MILLISECONDS);
    }

    private <T> CompletionStage<T> asked(RedisFuture<T> command) {
        return command.whenComplete((answer, failure) -> {
            meter.unanswered().set(0);
            if (failure == null) {
                link.answered();
            }
        });
    }

    /** Sends commands for so many items at once, and those for the next ones when all of these are answered. */
    private static <T> CompletionStage<Void> inTurn(
            List<T> items, Function<List<T>, List<CompletionStage<?>>> commands) {
        List<T> flush = items.subList(0, Math.min(FLUSH, items.size()));
        CompletionStage<Void> answered = CompletableFuture.allOf(commands.apply(flush).stream()
                .map(CompletionStage::toCompletableFuture)
                .toArray(CompletableFuture<?>[]::new));
        return flush.size() == items.size()
                ? answered
                : answered.thenCompose(done -> inTurn(items.subList(flush.size(), items.size()), commands));
    }
}
