package io.holdfast.loadtest.journal;

import java.util.ArrayList;
import java.util.List;

/**
 * The order in which the lives of a run come: that of its plan, but a pair that runs again comes after all others of
 * its round. So a round stays together in time, and a life that was repeated lies no further from the rest than it
 * must.
 */
public final class LifeOrder {
    private final RunHeader header;
    private final List<Integer> lives = new ArrayList<>();

    public LifeOrder(RunHeader header) {
        this.header = header;
        for (int life = header.firstLife(); life <= header.plan().lives().size(); life++) {
            lives.add(life);
        }
    }

    LifeOrder(RunHeader header, List<Integer> lives) {
        this.header = header;
        this.lives.addAll(lives);
    }

    /** All lives, the first one first. */
    public List<Integer> lives() {
        return List.copyOf(lives);
    }

    /** Returns the number of lives. */
    public int size() {
        return lives.size();
    }

    /** The life at a place, from 0. */
    public int at(int place) {
        return lives.get(place);
    }

    /** Puts a life behind the others of its round. */
    public void putLastInRound(int life) {
        int round = roundOf(life);
        lives.remove(Integer.valueOf(life));
        int place = 0;
        while (place < lives.size() && roundOf(lives.get(place)) <= round) {
            place++;
        }
        lives.add(place, life);
    }

    /** All legs in this order. */
    List<PlannedLeg> legs() {
        return lives.stream().flatMap(life -> header.legsOf(life).stream()).toList();
    }

    /** Returns the round, from 1; the rehearsal is a round of its own before all others. */
    private int roundOf(int life) {
        int round = 0;
        int before = 0;
        while (life > before) {
            before += header.plan().rounds().get(round).size();
            round++;
        }
        return round;
    }
}
