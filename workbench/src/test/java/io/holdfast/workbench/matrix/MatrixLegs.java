package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Legs of suites, made and looked at by tests. */
final class MatrixLegs {
    private MatrixLegs() {}

    static Suite.Watcher silent() {
        return new Suite.Watcher() {
            @Override
            public void begins(Suite.Leg leg, int number, int of) {}

            @Override
            public void ended(LoadLeg leg) {}
        };
    }

    static ResultFile results(LoadFolder files) {
        return new ResultFile(
                files.plan().suite(),
                "m",
                "",
                Map.of(),
                files.legs().stream()
                        .map(leg -> TwoUsers.comparable(leg, leg.result("test", List.of(50.0), Optional.empty())))
                        .toList());
    }

    /** An answer to one prompt of 100 tokens, after a second. */
    static RequestRecord answer(int tokens, int cached) {
        return new RequestRecord(
                0,
                Role.LOAD,
                0,
                RequestStatus.OK,
                0,
                0,
                OptionalLong.of(1_000_000_000),
                OptionalLong.of(1_000_000_000),
                OptionalLong.of(2_000_000_000),
                2_000_000_000,
                OptionalInt.of(100),
                OptionalInt.of(tokens),
                OptionalInt.of(cached),
                "");
    }

    static LoadLeg leg(String id, Map<String, String> settings, RequestRecord... requests) {
        return new LoadLeg(
                id,
                "load",
                "",
                "",
                settings,
                "",
                List.of(new LoadLeg.Part("load", true, 0, 2_000_000_000, List.of(requests))),
                Map.of(),
                Optional.empty(),
                Optional.empty());
    }

    static LoadLeg answeredOtherwise(LoadLeg leg) {
        return leg.withRequests(part -> part.requests().stream()
                .map(request -> request.withOutput("other"))
                .toList());
    }
}
