package io.holdfast.core.plan;

/** A reason of the closed list, with its numbers. */
public record Why(Reason code, String said) {
    Why after(String before) {
        return new Why(code, before + said);
    }

    Why and(String more) {
        return new Why(code, said + more);
    }

    Plan.Line line(Plan.Action action, long holdId, long prefix, long lastBlock, int blocks) {
        return new Plan.Line(action, holdId, prefix, lastBlock, blocks, code, said);
    }
}
