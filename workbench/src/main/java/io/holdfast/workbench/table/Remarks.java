package io.holdfast.workbench.table;

import io.holdfast.workbench.table.Remark.Topic;
import java.util.ArrayList;
import java.util.List;

/** Remarks in the order in which they are made. */
final class Remarks {
    private final List<Remark> all = new ArrayList<>();

    /** Adds one that speaks against what the table is published for. */
    void against(Topic topic, String where, String text) {
        say(true, topic, where, text);
    }

    /** Adds one that is for the reader to weigh. */
    void note(Topic topic, String where, String text) {
        say(false, topic, where, text);
    }

    void say(boolean against, Topic topic, String where, String text) {
        all.add(new Remark(topic, where, text, against));
    }

    void add(List<Remark> others) {
        all.addAll(others);
    }

    List<Remark> all() {
        return List.copyOf(all);
    }
}
