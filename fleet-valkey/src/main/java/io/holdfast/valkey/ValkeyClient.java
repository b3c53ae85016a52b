package io.holdfast.valkey;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** The client library, with all that we want different from what it does by itself. */
final class ValkeyClient implements AutoCloseable {
    private static final RedisCodec<String, byte[]> CODEC = RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE);
    private static final int THREADS = 2;
    /** Commands that wait for an answer on one connection; calls are bounded before. */
    private static final int MOST_COMMANDS = 1 << 15;
    /** Time to shake hands: the first time loads classes, and a TLS server may be far. */
    private static final Duration CONNECTING = Duration.ofSeconds(5);

    private static final Duration TOPOLOGY = Duration.ofMinutes(1);

    private final ValkeyAddress address;
    private final Optional<Login> login;
    private final Duration timeout;
    private final NettyCustomizer guarded;
    /** Made by the first attempt, so that nothing is loaded by whoever makes a store; attempts never overlap. */
    private Optional<ClientResources> resources = Optional.empty();

    private boolean closed;

    record Login(Optional<String> user, String password) {
        @Override
        public String toString() {
            return "Login";
        }
    }

    ValkeyClient(ValkeyAddress address, Optional<Login> login, Duration timeout, FloodGuard.Meter meter) {
        this.address = address;
        this.login = login;
        this.timeout = timeout;
        this.guarded = new NettyCustomizer() {
            @Override
            public void afterChannelInitialized(Channel channel) {
                channel.pipeline().addFirst(new FloodGuard(meter, address.said()));
            }
        };
    }

    CompletionStage<? extends ValkeyLink.Wire> connect() {
        ClientResources shared = resources();
        return switch (address.form()) {
            case SERVER, SENTINEL -> {
                RedisClient client = RedisClient.create(shared);
                client.setOptions(with(ClientOptions.builder()).build());
                yield client.connectAsync(CODEC, uris().getFirst())
                        .toCompletableFuture()
                        .<ValkeyLink.Wire>thenApply(
                                connection -> new ValkeyLink.OneServer(connection, () -> end(client)))
                        .whenComplete((wire, failure) -> {
                            if (failure != null) {
                                end(client);
                            }
                        });
            }
            case CLUSTER -> {
                RedisClusterClient client = RedisClusterClient.create(shared, uris());
                client.setOptions(clustered());
                yield client.refreshPartitionsAsync()
                        .thenCompose(known -> client.connectAsync(CODEC))
                        .<ValkeyLink.Wire>thenApply(connection -> new ValkeyLink.Cluster(connection, () -> end(client)))
                        .whenComplete((wire, failure) -> {
                            if (failure != null) {
                                end(client);
                            }
                        });
            }
        };
    }

    /**
     * Ends what one connection had, when the last of its timers has run: one that finds its threads gone complains in the
     * log. Nobody waits for it.
     */
    @SuppressWarnings("FutureReturnValueIgnored")
    private static void end(AbstractRedisClient client) {
        client.shutdownAsync(CONNECTING.toSeconds() + 1, 2 * CONNECTING.toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // Threads of a process that ends are nobody's trouble.
    public synchronized void close() {
        closed = true;
        resources.ifPresent(made -> made.shutdown(0, 1, TimeUnit.SECONDS));
    }

    private synchronized ClientResources resources() {
        if (closed) {
            throw new IllegalStateException("closed");
        }
        if (resources.isEmpty()) {
            resources = Optional.of(ClientResources.builder()
                    .ioThreadPoolSize(THREADS)
                    .computationThreadPoolSize(THREADS)
                    .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                    .nettyCustomizer(guarded)
                    .build());
        }
        return resources.get();
    }

    private List<RedisURI> uris() {
        List<ValkeyAddress.Host> hosts = address.hosts();
        if (address.form() == ValkeyAddress.Form.SENTINEL) {
            RedisURI.Builder sentinels = RedisURI.builder().withSentinelMasterId(address.primary());
            hosts.forEach(host -> sentinels.withSentinel(host.name(), host.port()));
            return List.of(with(sentinels));
        }
        return hosts.stream()
                .map(host -> with(RedisURI.builder()
                        .withHost(host.name())
                        .withPort(host.port())
                        .withDatabase(address.database())))
                .toList();
    }

    private RedisURI with(RedisURI.Builder uri) {
        login.ifPresent(given -> given.user()
                .ifPresentOrElse(
                        user -> uri.withAuthentication(user, given.password()),
                        () -> uri.withPassword(given.password().toCharArray())));
        return uri.withSsl(address.tls())
                .withTimeout(CONNECTING)
                .withClientName("holdfast")
                .build();
    }

    private <T extends ClientOptions.Builder> T with(T options) {
        SslOptions.Builder tls = SslOptions.builder().jdkSslProvider();
        address.authority().ifPresent(file -> tls.trustManager(file.toFile()));
        options.autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(MOST_COMMANDS)
                .maintNotificationsConfig(MaintNotificationsConfig.disabled())
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECTING)
                        .keepAlive(true)
                        .build())
                .timeoutOptions(TimeoutOptions.builder().fixedTimeout(timeout).build())
                .sslOptions(tls.build());
        return options;
    }

    private ClusterClientOptions clustered() {
        ClusterClientOptions.Builder options = ClusterClientOptions.builder();
        with(options);
        return options.topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .enablePeriodicRefresh(TOPOLOGY)
                        .build())
                .build();
    }
}
