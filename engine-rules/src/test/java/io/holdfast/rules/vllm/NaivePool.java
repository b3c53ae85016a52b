package io.holdfast.rules.vllm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;

/** The pool's rules, written with lists and no thought of speed. */
final class NaivePool {
    private final int blocks;
    private final boolean namelessFirst;
    private final Map<Integer, Integer> users = new HashMap<>();
    private final Map<Integer, Long> names = new HashMap<>();
    private final List<Integer> named = new ArrayList<>();
    private final List<Integer> aside = new ArrayList<>();
    final List<Integer> queue = new ArrayList<>();
    final List<Long> removed = new ArrayList<>();
    private int limit;

    NaivePool(int blocks, boolean namelessFirst) {
        this.blocks = blocks;
        this.namelessFirst = namelessFirst;
        limit = blocks - 1;
        for (int block = 1; block < blocks; block++) {
            queue.add(block);
        }
    }

    OptionalInt find(long name) {
        return named.stream()
                .filter(block -> Objects.equals(names.get(block), name))
                .mapToInt(Integer::intValue)
                .findFirst();
    }

    void touch(int block) {
        queue.remove(Integer.valueOf(block));
        users.merge(block, 1, Integer::sum);
    }

    int take() {
        int block = queue.removeFirst();
        users.put(block, 1);
        forget(block);
        return block;
    }

    void name(int block, long name) {
        names.put(block, name);
        named.add(block);
    }

    void release(List<Integer> table) {
        List<Integer> nameless = new ArrayList<>();
        for (int block : table.reversed()) {
            if (users.merge(block, -1, Integer::sum) == 0) {
                users.remove(block);
                if (namelessFirst && !names.containsKey(block)) {
                    nameless.add(block);
                } else {
                    queue.add(block);
                }
            }
        }
        queue.addAll(0, nameless);
        fit();
    }

    boolean clear() {
        if (!users.isEmpty()) {
            return false;
        }
        names.clear();
        named.clear();
        return true;
    }

    void limit(int most) {
        limit = most;
        fit();
        while (blocks - 1 - aside.size() < limit) {
            queue.addFirst(aside.removeLast());
        }
    }

    int inUse() {
        return users.size();
    }

    private void fit() {
        while (blocks - 1 - aside.size() > limit && !queue.isEmpty()) {
            int block = queue.removeFirst();
            forget(block);
            aside.add(block);
        }
    }

    private void forget(int block) {
        Long name = names.remove(block);
        if (name != null) {
            named.remove(Integer.valueOf(block));
            removed.add(name);
        }
    }
}
