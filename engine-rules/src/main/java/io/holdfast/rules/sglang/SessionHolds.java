package io.holdfast.rules.sglang;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/*
 * What sessions refer to in the tree. References order evictions, they forbid none.
 *
 * References
 * ----------
 * A session has leaves: the nodes where its finished requests ended. Each node counts the references of all sessions. A
 * finished request adds one to every node from its own last one up to, and without, the session's nearest leaf above,
 * which then is a leaf no more; without such a leaf, up to the root. So one session counts twice on what two of its
 * branches share. The nodes of a leaf that is deleted lose its reference up to the parent, which becomes the leaf, or
 * all the way up where the parent is a leaf already. Cutting a node copies its count to the upper half; the lower half
 * stays the leaf.
 *
 * Closing
 * -------
 * Closing takes all references away. A request belongs to the session that was open under its id when it arrived: one
 * that ends after the closing leaves no reference, and a request that arrives later under the same id opens the session
 * anew.
 */
final class SessionHolds {
    /** A session, from the first request with its id until it is closed. */
    static final class Session {
        private final Set<RadixNode> leaves = new HashSet<>();
        private boolean closed;
    }

    private final HoldFaults holdFaults;
    private final Consumer<RadixNode> changed;
    private final Map<String, Session> open = new HashMap<>();
    private final Map<RadixNode, Set<Session>> endings = new HashMap<>();
    private int heldTokens;

    /** @param changed is told of a node whose references are others now */
    SessionHolds(HoldFaults holdFaults, Consumer<RadixNode> changed) {
        this.holdFaults = holdFaults;
        this.changed = changed;
    }

    /**
     * The session that a request which arrives now belongs to; one that is closed already, where promises are broken.
     */
    Session arrived(String id) {
        if (!holdFaults.keepsHold()) {
            Session none = new Session();
            none.closed = true;
            return none;
        }
        return open.computeIfAbsent(id, _ -> new Session());
    }

    /** A request of the session ended here. */
    void finished(Session session, RadixNode node) {
        if (session.closed || node.isRoot() || session.leaves.contains(node)) {
            return;
        }
        RadixNode at = node;
        while (!at.isRoot() && !session.leaves.contains(at)) {
            refer(at, 1);
            at = at.parent();
        }
        if (!at.isRoot()) {
            unmark(session, at);
        }
        mark(session, node);
    }

    /** A node left the tree; its parent is still there. */
    void deleted(RadixNode node) {
        Set<Session> ended = endings.get(node);
        if (ended == null) {
            return;
        }
        RadixNode parent = node.parent();
        for (Session session : List.copyOf(ended)) {
            unmark(session, node);
            refer(node, -1);
            if (parent.isRoot() || session.leaves.contains(parent)) {
                referUpwards(parent, -1);
            } else {
                mark(session, parent);
            }
        }
    }

    /** Gives up what the session refers to; nothing happens if there is no such session. */
    void close(String id) {
        Optional.ofNullable(open.remove(id)).ifPresent(session -> {
            session.closed = true;
            for (RadixNode leaf : List.copyOf(session.leaves)) {
                unmark(session, leaf);
                referUpwards(leaf, -1);
            }
        });
    }

    void clear() {
        open.values().forEach(session -> session.closed = true);
        open.clear();
        endings.clear();
        heldTokens = 0;
    }

    private void mark(Session session, RadixNode leaf) {
        session.leaves.add(leaf);
        endings.computeIfAbsent(leaf, _ -> new HashSet<>()).add(session);
    }

    private void unmark(Session session, RadixNode leaf) {
        session.leaves.remove(leaf);
        endings.computeIfPresent(leaf, (_, sessions) -> {
            sessions.remove(session);
            return sessions.isEmpty() ? null : sessions;
        });
    }

    private void referUpwards(RadixNode node, int change) {
        for (RadixNode at = node; !at.isRoot(); at = at.parent()) {
            refer(at, change);
        }
    }

    /** Ends of the branches of open sessions, by the session's id, for observers. */
    Map<String, Set<RadixNode>> leaves() {
        Map<String, Set<RadixNode>> leaves = new HashMap<>();
        open.forEach((id, session) -> leaves.put(id, Set.copyOf(session.leaves)));
        return leaves;
    }

    /** Tokens that any session refers to. */
    int heldTokens() {
        return heldTokens;
    }

    private void refer(RadixNode node, int change) {
        boolean before = node.references > 0;
        node.references += change;
        if (before != node.references > 0) {
            heldTokens += before ? -node.tokens.size() : node.tokens.size();
        }
        if (!node.isDeleted()) {
            changed.accept(node);
        }
    }
}
