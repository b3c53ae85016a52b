package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may be called, of all addresses that a store may say. */
class PeersTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        10.0.0.0/24       | https://10.0.0.7:8471          | true
        10.0.0.0/24       | https://10.0.1.7:8471          | false
        10.0.0.0/24       | http://10.0.0.7:8471           | false
        10.0.0.0/24       | https://10.0.0.7               | false
        10.0.0.0/24:443   | https://10.0.0.7               | true
        10.0.0.0/24       | https://10.0.0.7:22            | false
        10.0.0.4/30       | https://10.0.0.8:8471          | false
        0.0.0.0/0         | https://203.0.113.9:8471       | true
        0.0.0.0/0         | https://[2001:db8::1]:8471     | false
        2001:db8::/32     | https://[2001:db8:7::1]:8471   | true
        [2001:db8::1]:99  | https://[2001:db8::1]:99       | true
        127.0.0.1         | http://127.0.0.1:8471          | true
        127.0.0.1         | http://localhost:8471          | false
        holdfast-0.shop   | https://HOLDFAST-0.shop:8471   | true
        holdfast-0.shop   | https://holdfast-0.shop.evil:8471 | false
        holdfast-0.shop   | https://me@holdfast-0.shop:8471   | false
        10.0.0.0/24       | https://10.0.0.7.example:8471  | false
        10.0.0.0/24       | ftp://10.0.0.7:8471            | false
        10.0.0.0/24       | https:opaque                   | false
        """)
    void addressIsCompared_andNeverLookedUp(String peer, String address, boolean may) {
        assertThat(Peers.isOne(peer)).isTrue();
        assertThat(new Peers(List.of(peer), 8471).may(URI.create(address))).isEqualTo(may);
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.0/33",
        "10.0.0.0/x",
        "name/8",
        "2001:db8::/129",
        "a b",
        "''",
        "/8",
        "https://10.0.0.7",
        "10.0.0.7:0",
        "name:65536"
    })
    void othersAreNone(String peer) {
        assertThat(Peers.isOne(peer)).isFalse();
    }
}
