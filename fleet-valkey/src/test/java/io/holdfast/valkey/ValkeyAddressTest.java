package io.holdfast.valkey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.embed.cell.FleetStoreException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ValkeyAddressTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "valkey://cache                        | Valkey at cache:6379                              | false",
                "valkeys://cache:1/3                   | Valkey at cache:1/3                               | true",
                "redis://[::1]:7                       | Valkey at [::1]:7                                 | false",
                "rediss://10.0.0.1                     | Valkey at 10.0.0.1:6379                           | true",
                "valkey-sentinel://a,b:9/main          | Valkey's main of the sentinels at a:26379, b:9    | false",
                "valkeys-sentinel://a/m                | Valkey's m of the sentinels at a:26379            | true",
                "valkey-cluster://a,b,c,d              | Valkey's cluster at a:6379, b:6379, c:6379, …     | false",
                "rediss-cluster://a                    | Valkey's cluster at a:6379                        | true",
            })
    void address_isSaidAgain(String text, String said, boolean tls) {
        assertThat(ValkeyFleetStore.isAddress(text)).isTrue();
        assertThat(ValkeyAddress.of(text).said()).isEqualTo(said);
        assertThat(ValkeyAddress.of(text).tls()).isEqualTo(tls);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "valkey://me:secret@host               | environment variables",
                "valkey://host/secret@                 | environment variables",
                "valkey://:secret@host                 | environment variables",
                "valkey://host?password=secret         | ?ca=FILE",
                "valkeys://host?password=secret        | ?ca=FILE",
                "valkey://host?ca=/etc/hosts           | with TLS",
                "valkeys://host?ca=/no/such/file       | /no/such/file",
                "valkey://                             | valkey://host:6379",
                "valkey://a,b                          | valkey://host:6379",
                "valkey://host:0                       | valkey://host:6379",
                "valkey://host:secret                  | valkey://host:6379",
                "valkey://host:99999                   | valkey://host:6379",
                "valkey://host/main                    | number of a database",
                "valkey-sentinel://host                | valkey-sentinel://host1,host2/mymaster",
                "valkey://host#secret                  | valkey://host:6379",
                "http://host                           | valkey://host:6379",
            })
    void whatIsNoAddress_isRefusedInASentence_withoutRepeatingIt(String text, String mend) {
        assertThatThrownBy(() -> ValkeyAddress.of(text))
                .isInstanceOf(FleetStoreException.class)
                .hasMessageContaining(mend)
                .hasMessageEndingWith(".")
                .hasMessageNotContaining("secret");
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "memory", "http://host", "valkey", "valkeyss://host", "valkey-x://host"})
    void otherText_isNotMeantAsAnAddress(String text) {
        assertThat(ValkeyFleetStore.isAddress(text)).isFalse();
    }

    @Test
    void variableThatIsNotSet_isNamed() {
        assertThatThrownBy(() -> Stores.open("valkey://host", "U", "P", Map.of("U", "me")))
                .isInstanceOf(FleetStoreException.class)
                .hasMessageContaining("variable P");
        assertThatThrownBy(() -> ValkeyFleetStore.open(
                        "valkey://host",
                        Optional.of("U"),
                        Optional.empty(),
                        Map.of(),
                        Duration.ofSeconds(1),
                        Runnable::run))
                .isInstanceOf(FleetStoreException.class)
                .hasMessageContaining("name the variable");
    }
}
