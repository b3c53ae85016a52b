package io.holdfast.rules.vllm;

import io.holdfast.rules.vllm.VllmSettings.Policy;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;

/** Requests that wait to be admitted. */
final class WaitingLine {
    /** The less important and the later a request, the further behind. */
    static final Comparator<VllmRequest> BY_PRIORITY = Comparator.comparingInt(
                    (VllmRequest request) -> request.generation.terms().priority())
            .thenComparingLong(request -> request.generation.arrivalNanos());

    private final Queue<VllmRequest> line;

    WaitingLine(Policy policy) {
        line = policy == Policy.PRIORITY ? new PriorityQueue<>(BY_PRIORITY) : new ArrayDeque<>();
    }

    void add(VllmRequest request) {
        line.add(request);
    }

    /** Lets one that was preempted wait before all others, unless priorities say otherwise. */
    void putBack(VllmRequest request) {
        if (line instanceof ArrayDeque<VllmRequest> queue) {
            queue.addFirst(request);
        } else {
            line.add(request);
        }
    }

    Optional<VllmRequest> first() {
        return Optional.ofNullable(line.peek());
    }

    boolean remove(VllmRequest request) {
        return line.remove(request);
    }

    boolean isEmpty() {
        return line.isEmpty();
    }

    int size() {
        return line.size();
    }

    List<VllmRequest> inOrder() {
        return line instanceof PriorityQueue<VllmRequest>
                ? line.stream().sorted(BY_PRIORITY).toList()
                : List.copyOf(line);
    }
}
