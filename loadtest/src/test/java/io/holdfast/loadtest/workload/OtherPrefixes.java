package io.holdfast.loadtest.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Workloads whose load asks for another prefix than the one that is held. */
public final class OtherPrefixes {
    private OtherPrefixes() {}

    /** The same with one byte more in the system prompt of its last request. */
    public static Workload oneByte(Workload workload, int positions) {
        List<List<Phase>> legs = new ArrayList<>();
        for (int position = 0; position < positions; position++) {
            List<Phase> phases = new ArrayList<>(workload.phases(position));
            Phase last = phases.removeLast();
            List<LoadRequest> requests = new ArrayList<>(last.requests());
            LoadRequest changed = requests.removeLast();
            List<LoadRequest.Message> messages = new ArrayList<>(changed.messages());
            LoadRequest.Message system = messages.removeFirst();
            messages.addFirst(new LoadRequest.Message(system.role(), system.content() + "."));
            requests.add(LoadRequest.ofMessages(changed.role(), changed.cycle(), messages, changed.maxTokens()));
            phases.add(new Phase(last.role(), last.cycle(), requests, last.isFlood(), last.turns()));
            legs.add(phases);
        }
        return new Workload(
                "another prefix", 1, workload.touch(), workload.touchOfAnother(), 0, new Arrivals.Closed(), legs);
    }

    /** What is wrong with the first leg. */
    public static Optional<String> ofFirst(Workload workload) {
        return workload.withAnotherPrefix(0);
    }
}
