package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Keys of a fleet: what is taken, and in what sentence the rest is refused. */
class FleetConfigTest {
    private static FleetConfig fleet(String keys) {
        return SidecarConfig.parse(
                        "fleet: {" + keys + "}\nengines: {main: {type: sglang, url: 'http://127.0.0.1:30000'}}", "f")
                .fleet();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        store: postgres://10.0.0.5            | fleet.store | write none, memory, or an address such as valkey://10.0.0.5:6379
        namespace: 'a b'                      | fleet.namespace | write 1 to 64 letters, digits, dots and dashes
        address: 'ftp://10.0.0.7'             | fleet.address | write scheme, host and port alone
        address: 'https://me@10.0.0.7'        | fleet.address | write scheme, host and port alone
        address: 'https://10.0.0.7/holdfast'  | fleet.address | write scheme, host and port alone
        address: 'http://10.0.0.7:8471'       | fleet.address | tokens of prompts leave this machine by https alone
        peers: [10.0.0.0/33]                  | fleet.peers[0] | write a name, an address or a range such as 10.0.0.0/24
        siblings: ['http://10.0.0.9:8471']    | fleet.siblings[0] | the act token leaves this machine by https alone
        siblings: ['https://a?b']             | fleet.siblings[0] | write scheme, host and port alone
        siblings: 'https://10.0.0.9'          | fleet.siblings | list
        warmSeconds: 9999                     | fleet.warmSeconds | 3600
        readyWhenWarm: 80                     | fleet.readyWhenWarm | 0 to 1
        """)
    void whatIsNone_isRefusedInASentence(String keys, String key, String mend) {
        assertThatThrownBy(() -> fleet(keys))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining(key)
                .hasMessageContaining(mend)
                .hasMessageNotContaining("\n");
    }

    @Test
    void siblings_areAskedWithoutAStoreToo() {
        FleetConfig config = fleet("siblings: ['https://10.0.0.9:8471', 'http://127.0.0.1:8472/']");

        assertThat(config.siblings())
                .containsExactly(URI.create("https://10.0.0.9:8471"), URI.create("http://127.0.0.1:8472/"));
        assertThat(config.shares()).isFalse();
    }
}
