package io.holdfast.sidecar.config;

import io.holdfast.sidecar.config.DiscoveryConfig.Dns;
import io.holdfast.sidecar.config.DiscoveryConfig.Records;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.dns.DnsClient;
import io.vertx.core.dns.DnsClientOptions;
import io.vertx.core.dns.DnsException;
import io.vertx.core.dns.DnsResponseCode;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** Asks a name server which engines a name stands for. */
public final class DnsLookup {
    private static final int SECONDS = 5;
    private static final int LONGEST_ID = 64;

    private final Vertx vertx;

    public DnsLookup(Vertx vertx) {
        this.vertx = vertx;
    }

    /** One place that a name gave. */
    public record Found(String host, int port) {}

    /**
     * Waits for the answer, within bounds.
     *
     * @return in a stable order; empty where the name has no addresses any more
     * @throws IOException with a clause, where it cannot be known
     */
    public List<Found> find(Dns dns) throws IOException {
        List<Found> found = dns.records() == Records.SRV
                ? services(dns)
                : addresses(dns).stream()
                        .map(address -> new Found(address, dns.port()))
                        .toList();
        return found.stream()
                .distinct()
                .sorted((a, b) -> id(a.host(), a.port()).compareTo(id(b.host(), b.port())))
                .toList();
    }

    private List<String> addresses(Dns dns) throws IOException {
        if (dns.server().isEmpty()) {
            return Stream.of(InetAddress.getAllByName(dns.name()))
                    .map(InetAddress::getHostAddress)
                    .toList();
        }
        DnsClient client = client(dns);
        try {
            List<String> all = new ArrayList<>(answer(dns, client.resolveA(dns.name())));
            all.addAll(answer(dns, client.resolveAAAA(dns.name())));
            return all;
        } finally {
            client.close();
        }
    }

    private List<Found> services(Dns dns) throws IOException {
        DnsClient client = client(dns);
        try {
            return answer(dns, client.resolveSRV(dns.name())).stream()
                    .map(record -> new Found(String.valueOf(record.target()).replaceFirst("\\.$", ""), record.port()))
                    .toList();
        } finally {
            client.close();
        }
    }

    private DnsClient client(Dns dns) {
        DnsClientOptions options = new DnsClientOptions().setQueryTimeout(SECONDS * 1_000L);
        dns.server().ifPresent(server -> {
            int colon = server.lastIndexOf(':');
            options.setHost(server.substring(0, colon)).setPort(Integer.parseInt(server.substring(colon + 1)));
        });
        return vertx.createDnsClient(options);
    }

    private static <T> List<T> answer(Dns dns, Future<List<T>> asked) throws IOException {
        try {
            return Optional.ofNullable(
                            asked.toCompletionStage().toCompletableFuture().get(SECONDS + 1, TimeUnit.SECONDS))
                    .orElse(List.of());
        } catch (ExecutionException e) {
            if (e.getCause() instanceof DnsException said && said.code() == DnsResponseCode.NXDOMAIN) {
                return List.of();
            }
            throw new IOException("looking up " + dns.name() + " failed: " + e.getCause(), e);
        } catch (TimeoutException e) {
            throw new IOException("looking up " + dns.name() + " took more than " + SECONDS + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("looking up " + dns.name() + " was interrupted", e);
        }
    }

    /** Returns the id of an engine that was found there, which is the same each time. */
    public static String id(String host, int port) {
        String plain = (host + "-" + port).replaceAll("[^A-Za-z0-9._-]", "-");
        String id = Character.isLetterOrDigit(plain.charAt(0)) ? plain : "ip" + plain;
        if (id.length() <= LONGEST_ID) {
            return id;
        }
        CRC32C checksum = new CRC32C();
        checksum.update(id.getBytes(StandardCharsets.UTF_8));
        return id.substring(0, LONGEST_ID - 9) + "-" + "%08x".formatted(checksum.getValue());
    }
}
