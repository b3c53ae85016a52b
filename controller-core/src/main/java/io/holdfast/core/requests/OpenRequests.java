package io.holdfast.core.requests;

import io.holdfast.core.index.LongToLongMap;
import java.util.Arrays;
import java.util.function.Consumer;

/** The requests that may still go on, found by the last block of their path; at most one for each block. */
final class OpenRequests {
    private final VisibleRequest nobody = new VisibleRequest(0, 0, 0);
    private final LongToLongMap places = new LongToLongMap();
    private final VisibleRequest[] requests;
    private final int[] free;
    private int freeCount;
    private int used;
    private int hand;

    OpenRequests(int most) {
        requests = new VisibleRequest[most];
        free = new int[most];
        clear();
    }

    /** The request that ends with this block, or {@link #nobody}. */
    VisibleRequest endingAt(long block) {
        long place = places.get(block);
        return place == 0 ? nobody : requests[(int) place - 1];
    }

    VisibleRequest nobody() {
        return nobody;
    }

    boolean full() {
        return freeCount == 0;
    }

    /** The next request of a round through all of them, or {@link #nobody} where its place is empty. */
    VisibleRequest next() {
        hand = hand + 1 >= used ? 0 : hand + 1;
        return requests[hand];
    }

    /** Adds a request. There must be room, and no other request with the same last block. */
    void add(VisibleRequest request) {
        request.place = free[--freeCount];
        requests[request.place] = request;
        used = Math.max(used, request.place + 1);
        places.put(request.lastBlock(), request.place + 1L);
    }

    /** The request ended with {@code before}, and no longer does. */
    void moved(VisibleRequest request, long before) {
        places.remove(before);
        places.put(request.lastBlock(), request.place + 1L);
    }

    void remove(VisibleRequest request) {
        places.remove(request.lastBlock());
        requests[request.place] = nobody;
        free[freeCount++] = request.place;
    }

    void forEach(Consumer<VisibleRequest> action) {
        for (int i = 0; i < used; i++) {
            if (requests[i] != nobody) {
                action.accept(requests[i]);
            }
        }
    }

    /** Forgets all of them. */
    void clear() {
        places.clear();
        Arrays.fill(requests, nobody);
        used = 0;
        freeCount = requests.length;
        for (int i = 0; i < requests.length; i++) {
            free[i] = requests.length - 1 - i;
        }
    }
}
