package io.holdfast.embed.cell;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Calls of a store that belong together, which nobody waits for: what is put first, and then what is read. A round that
 * was given up keeps its answers to itself.
 */
final class Round {
    final long began;
    final boolean readsToo;

    private CompletableFuture<Optional<byte[]>> before = CompletableFuture.completedFuture(Optional.empty());
    private final List<CompletableFuture<?>> puts = new ArrayList<>();
    private Optional<CompletableFuture<Map<String, Map<String, byte[]>>>> lists = Optional.empty();
    private CompletableFuture<SequencedMap<Long, Double>> sums =
            CompletableFuture.completedFuture(new LinkedHashMap<>());

    Round(long began, boolean readsToo) {
        this.began = began;
        this.readsToo = readsToo;
    }

    /** Asks for a value as it is before anything is put. */
    void before(Supplier<CompletionStage<Optional<byte[]>>> call) {
        before = called(call);
        puts.add(before);
    }

    void put(Supplier<CompletionStage<Void>> call) {
        puts.add(called(call));
    }

    void list(FleetStore store, String cell, Map<String, Integer> most) {
        lists = Optional.of(called(() -> store.list(cell, most)));
    }

    void top(FleetStore store, FleetStore.Key window, int most) {
        sums = called(() -> store.top(window, most));
    }

    boolean putsDone() {
        return puts.stream().allMatch(CompletableFuture::isDone);
    }

    boolean reads() {
        return lists.isPresent();
    }

    boolean readsDone() {
        return sums.isDone() && lists.filter(CompletableFuture::isDone).isPresent();
    }

    /** Returns true if each call was done. */
    boolean succeeded() {
        return puts.stream().noneMatch(CompletableFuture::isCompletedExceptionally)
                && lists.filter(CompletableFuture::isCompletedExceptionally).isEmpty()
                && !sums.isCompletedExceptionally();
    }

    /** Returns why it told nothing, in words without a full stop. */
    String trouble() {
        Stream<CompletableFuture<?>> calls =
                Stream.concat(puts.stream(), Stream.concat(lists.stream(), Stream.of(sums)));
        return calls.filter(CompletableFuture::isCompletedExceptionally)
                .findFirst()
                .map(failed -> SharedEngine.sentence(failed.exceptionNow()).replaceAll("\\.$", ""))
                .orElse(
                        putsDone() && readsDone()
                                ? "what the store has under our name is not what was put there"
                                : "the store did not answer all of it in time");
    }

    /** Returns the value that was asked for before anything was put; absent where there was none. */
    Optional<byte[]> before() {
        return before.join();
    }

    /** Returns what was listed of a kind; nothing where it was not asked for. */
    Map<String, byte[]> listed(String kind) {
        return lists.map(CompletableFuture::join).map(all -> all.get(kind)).orElse(Map.of());
    }

    Map<Long, Double> sums() {
        return sums.join();
    }

    /** A store that throws, in the place of an answer, has failed the call. */
    private static <T> CompletableFuture<T> called(Supplier<CompletionStage<T>> call) {
        try {
            return call.get().toCompletableFuture();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
