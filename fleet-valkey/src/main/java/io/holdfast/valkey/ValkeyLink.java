package io.holdfast.valkey;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.holdfast.embed.cell.FleetStoreException;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisKeyAsyncCommands;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection at a time, which is opened in the background, and anew after whatever was no answer. */
@SuppressWarnings("FutureReturnValueIgnored") // Each ends in what it completes.
final class ValkeyLink implements AutoCloseable {
    /*
     * The client library would reconnect by itself, and that is off: it stays on a connection whose other end is gone
     * without a word for as long as the system does, which was 20 s and more with a wire cut, and asks Sentinel nothing
     * meanwhile. Here whoever gets no answer in time says so, and that connection is closed. All that waits on it fails
     * with it, for the order of answers is what tells them apart.
     *
     * States: an attempt is under way, and calls wait for it; a connection is there; or an attempt failed, and calls fail
     * at once with its sentence until the next one begins, after a pause with jitter. A connection that is lost is followed by
     * a pause as well, in which calls wait; pauses grow until a command is answered.
     *
     * The log hears of trouble once, and again only after a connection has lived for a while: one that is lost every second
     * is one trouble.
     *
     * A cluster counts as one connection. When one of its servers is silent, all are opened anew, by the topology of
     * whoever answers then; a process has one cell as a rule, and so only ever talks to one of them.
     */

    private static final Logger LOG = LoggerFactory.getLogger(ValkeyLink.class);

    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(50);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
    /** Attempts after which a pause grows no more. */
    private static final long LONGEST_GROWTH = 16;
    /** Beyond the time that the client library gives an attempt, should it forget one. */
    private static final Duration LONGEST_ATTEMPT = Duration.ofSeconds(30);

    /** Time after which a connection that lives ends what trouble there was. */
    private static final Duration SOUND = Duration.ofSeconds(30);

    private final ValkeyClient client;
    private final ValkeyFailures failures;
    private final Executor background;
    private final Delay pauses =
            Delay.fullJitter(SHORTEST_PAUSE, LONGEST_PAUSE, SHORTEST_PAUSE.toMillis(), MILLISECONDS);

    private final Object lock = new Object();
    private CompletableFuture<Wire> current = new CompletableFuture<>();
    private Optional<FleetStoreException> trouble = Optional.empty();
    private long attempts;
    private boolean warned;
    private boolean closed;

    /** One open connection, or those of a cluster; closing it ends the client of this connection, which remembers. */
    sealed interface Wire {
        /** Commands about a key, once whoever has it is connected. */
        CompletionStage<RedisClusterAsyncCommands<String, byte[]>> about(String key);

        /** The server that has a key, for commands that name none. */
        CompletionStage<? extends RedisKeyAsyncCommands<String, byte[]>> keeper(String key);

        void onEnd(Runnable action);

        void close();
    }

    record OneServer(StatefulRedisConnection<String, byte[]> connection, Runnable ended) implements Wire {
        @Override
        public CompletionStage<RedisClusterAsyncCommands<String, byte[]>> about(String key) {
            return CompletableFuture.completedFuture(connection.async());
        }

        @Override
        public CompletionStage<? extends RedisKeyAsyncCommands<String, byte[]>> keeper(String key) {
            return CompletableFuture.completedFuture(connection.async());
        }

        @Override
        public void onEnd(Runnable action) {
            connection.addListener(new RedisConnectionStateListener() {
                @Override
                public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
                    action.run();
                }
            });
        }

        @Override
        public void close() {
            connection.closeAsync().whenComplete((done, failure) -> ended.run());
        }
    }

    record Cluster(StatefulRedisClusterConnection<String, byte[]> connection, Runnable ended) implements Wire {
        @Override
        public CompletionStage<RedisClusterAsyncCommands<String, byte[]>> about(String key) {
            return node(key).thenApply(node -> connection.async());
        }

        @Override
        public CompletionStage<? extends RedisKeyAsyncCommands<String, byte[]>> keeper(String key) {
            return node(key).thenApply(StatefulRedisConnection::async);
        }

        private CompletionStage<StatefulRedisConnection<String, byte[]>> node(String key) {
            RedisClusterNode node = connection.getPartitions().getMasterBySlot(SlotHash.getSlot(key));
            return node == null
                    ? CompletableFuture.failedFuture(
                            new RedisException("no server of it has slot " + SlotHash.getSlot(key)))
                    : connection.getConnectionAsync(
                            node.getUri().getHost(), node.getUri().getPort());
        }

        /** One of them may go while the others do well; the next call about one of its keys shows it. */
        @Override
        public void onEnd(Runnable action) {}

        @Override
        public void close() {
            connection.closeAsync().whenComplete((done, failure) -> ended.run());
        }
    }

    ValkeyLink(ValkeyClient client, ValkeyFailures failures, Executor background) {
        this.client = client;
        this.failures = failures;
        this.background = background;
    }

    /** Begins to connect, on the executor: the first time loads hundreds of classes. */
    void open() {
        attempt(wireless());
    }

    /** The connection, now or when the attempt that is under way succeeds. */
    CompletableFuture<Wire> wire() {
        synchronized (lock) {
            return current.copy();
        }
    }

    /** Notes that this connection is of no use any more. */
    void lost(Wire wire, Throwable why) {
        FleetStoreException sentence = failures.sentence(why);
        CompletableFuture<Wire> next = new CompletableFuture<>();
        Duration pause;
        synchronized (lock) {
            if (closed
                    || !current.isDone()
                    || current.isCompletedExceptionally()
                    || !current.join().equals(wire)) {
                return;
            }
            current = next;
            trouble = Optional.of(sentence);
            pause = pause();
        }
        warn(sentence);
        wire.close();
        later(pause, () -> attempt(next));
    }

    /** Notes that a command was answered: what connects again has no reason to wait for long. */
    void answered() {
        synchronized (lock) {
            attempts = 0;
        }
    }

    private Duration pause() {
        attempts++;
        return pauses.createDelay(Math.min(attempts, LONGEST_GROWTH));
    }

    private void warn(FleetStoreException sentence) {
        boolean first;
        synchronized (lock) {
            first = !warned;
            warned = true;
        }
        if (first) {
            LOG.warn("{}", sentence.getMessage());
        }
    }

    private void later(Duration pause, Runnable action) {
        try {
            CompletableFuture.delayedExecutor(pause.toMillis(), MILLISECONDS, background)
                    .execute(action);
        } catch (RejectedExecutionException e) {
            LOG.warn("{} is not asked any more, since its threads have ended.", failures.where());
        }
    }

    /** What is the matter; empty while a connection is there. */
    Optional<String> trouble() {
        synchronized (lock) {
            return trouble.isEmpty() && !current.isDone()
                    ? Optional.of(failures.where() + " has not been connected to yet.")
                    : trouble.map(FleetStoreException::getMessage);
        }
    }

    @Override
    public void close() {
        CompletableFuture<Wire> last;
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            last = current;
            current = CompletableFuture.failedFuture(ended());
        }
        last.completeExceptionally(ended());
        last.whenComplete((wire, failure) -> {
            if (failure == null) {
                wire.close();
            }
            client.close();
        });
    }

    private CompletableFuture<Wire> wireless() {
        synchronized (lock) {
            if (!closed) {
                current = new CompletableFuture<>();
            }
            return current;
        }
    }

    private void attempt(CompletableFuture<Wire> into) {
        try {
            CompletableFuture.supplyAsync(client::connect, background)
                    .thenCompose(opened -> opened)
                    .whenComplete((wire, failure) -> {
                        if (failure != null) {
                            into.completeExceptionally(failure);
                        } else if (!into.complete(wire)) {
                            wire.close();
                        }
                    });
        } catch (RejectedExecutionException e) {
            into.completeExceptionally(ended());
        }
        into.orTimeout(LONGEST_ATTEMPT.toMillis(), MILLISECONDS).whenComplete((wire, failure) -> {
            if (failure == null) {
                succeeded(wire);
            } else {
                failed(failure);
            }
        });
    }

    private void succeeded(Wire wire) {
        boolean again;
        synchronized (lock) {
            trouble = Optional.empty();
            again = warned;
        }
        if (!again) {
            LOG.info("{} answers.", failures.where());
        }
        later(SOUND, () -> sound(wire));
        wire.onEnd(() -> lost(wire, new RedisException("it closed the connection")));
    }

    private void sound(Wire wire) {
        synchronized (lock) {
            boolean same = current.isDone()
                    && !current.isCompletedExceptionally()
                    && current.join().equals(wire);
            if (closed || !same || !warned) {
                return;
            }
            warned = false;
        }
        LOG.info("{} answers again.", failures.where());
    }

    private void failed(Throwable failure) {
        FleetStoreException sentence = failures.sentence(failure);
        Duration pause;
        synchronized (lock) {
            if (closed) {
                return;
            }
            trouble = Optional.of(sentence);
            current = CompletableFuture.failedFuture(sentence);
            pause = pause();
        }
        warn(sentence);
        later(pause, () -> attempt(wireless()));
    }

    private FleetStoreException ended() {
        return new FleetStoreException(
                "The connection to " + failures.where() + " is closed, because its process ends.");
    }
}
