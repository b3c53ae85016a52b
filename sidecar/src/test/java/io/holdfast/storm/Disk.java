package io.holdfast.storm;

import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;

/*
 * The disk of a sidecar and the threads that wait for it, in virtual time.
 *
 * A write to a disk that hangs blocks its caller. Virtual time has one thread, so a task that may block runs on a thread of
 * its own, and the storm's thread waits until it has ended or is blocked: one of them runs at any time, and the order is that
 * of virtual time. While the disk does not hang, tasks run where they are.
 */
final class Disk implements Executor {
    private final Timeline time;
    private boolean full;
    private long hangsUntil;

    Disk(Timeline time) {
        this.time = time;
    }

    void full(boolean now) {
        full = now;
    }

    void hang(long nanos) {
        hangsUntil = time.now() + nanos;
    }

    boolean isFair() {
        return !full && !hangs();
    }

    @Override
    public void execute(Runnable task) {
        time.after(Timeline.MILLI / 10, () -> {
            if (hangs()) {
                new Worker(task).goOn();
            } else {
                task.run();
            }
        });
    }

    /** Returns when a write would be durable. */
    void write() throws IOException {
        if (hangs() && Thread.currentThread() instanceof Worker.Thread0 thread) {
            thread.worker.block();
        }
        if (full) {
            throw new IOException("No space left on device");
        }
    }

    private boolean hangs() {
        return time.now() < hangsUntil;
    }

    private final class Worker {
        /** A thread that knows its worker. */
        private static final class Thread0 extends Thread {
            private final Worker worker;

            Thread0(Worker worker, Runnable task) {
                super(task);
                this.worker = worker;
                setDaemon(true);
            }
        }

        private final Thread0 thread;
        private volatile boolean running;
        private volatile boolean started;
        private volatile Thread waiting = Thread.currentThread();

        Worker(Runnable task) {
            thread = new Thread0(this, () -> {
                try {
                    task.run();
                } finally {
                    pause();
                }
            });
        }

        /** On the storm's thread: returns when the task is over or blocked. */
        void goOn() {
            waiting = Thread.currentThread();
            running = true;
            if (started) {
                LockSupport.unpark(thread);
            } else {
                started = true;
                thread.start();
            }
            while (running) {
                LockSupport.park(this);
            }
        }

        private void block() {
            time.at(hangsUntil, this::goOn);
            pause();
            while (!running) {
                LockSupport.park(this);
            }
        }

        private void pause() {
            running = false;
            LockSupport.unpark(waiting);
        }
    }
}
