package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.bed.ProfilerTable.Counter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProfilerTableTest {
    /** In the form of `nsys stats --report cuda_gpu_kern_sum --format csv`. */
    static final String NSYS = """
        Processing [trace.sqlite] with [cuda_gpu_kern_sum.py]...
        Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
        48.0,537600000,128,4200000.0,4190000.0,4100000,4400000,30000.0,"flash_attention_decode<float, 64>(int, float)"
        1.2,14400000,32,450000.0,449000.0,440000,470000,3000.0,flash_attention_prefill
        """;

    /** In the form of `ncu --csv`: a line for each metric of each launch. */
    static final String NCU = """
        ==PROF== Connected to process 4711 (/usr/bin/python3)
        "ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
        "0","4711","python3","127.0.0.1","flash_attention_prefill","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","GPU Speed Of Light Throughput","DRAM Throughput","%","72.00"
        "0","4711","python3","127.0.0.1","flash_attention_prefill","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","68.00"
        "0","4711","python3","127.0.0.1","flash_attention_prefill","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","Tensor","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active","%","35.00"
        "0","4711","python3","127.0.0.1","flash_attention_prefill","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","Occupancy","Achieved Occupancy","%","47.00"
        "0","4711","python3","127.0.0.1","flash_attention_prefill","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","Launch Statistics","Dynamic Shared Memory Per Block","Kbyte/block","96.00"
        "1","4711","python3","127.0.0.1","decode_attention","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","GPU Speed Of Light Throughput","DRAM Throughput","%","82.00"
        "1","4711","python3","127.0.0.1","decode_attention","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","45.00"
        "1","4711","python3","127.0.0.1","decode_attention","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","Tensor","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active","%","15.00"
        "2","4711","python3","127.0.0.1","rms_norm","1","7","(128, 1, 1)","(64, 1, 1)","0","8.0","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","1,032.00"
        """;

    @TempDir
    private Path folder = Path.of("");

    private ProfilerTable table(String text) throws IOException {
        return ProfilerTable.read(Files.writeString(folder.resolve("table.csv"), text));
    }

    @Test
    void nsysTable_isATreeOfKernelsInMilliseconds() throws IOException {
        assertThat(table(NSYS).tree().toString()).isEqualTo("""
            nsys, 2 kernels
            ├─ flash_attention_decode<float, 64>(int, float)  128 launches
            │  ├─ total time [ms]                                  537.600  nsys
            │  ├─ share of GPU time [%]                                 48  nsys
            │  ├─ average [ms]                                       4.200  nsys
            │  └─ longest [ms]                                       4.400  nsys
            └─ flash_attention_prefill                         32 launches
               ├─ total time [ms]                                   14.400  nsys
               ├─ share of GPU time [%]                              1.200  nsys
               ├─ average [ms]                                       0.450  nsys
               └─ longest [ms]                                       0.470  nsys\
            """);
    }

    /** In the form of `nsys stats --report nvtx_kern_sum --format csv`, of a server that marks its layers. */
    @Test
    void nsysTableByRanges_hasTheKernelsOfEachLayer() throws IOException {
        ProfilerTable layers = table("""
            Processing [trace.sqlite] with [nvtx_kern_sum.py]...
            NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Kernel Name
            layer_0,PushPop,4711,4711,1,1,450000,450000.0,450000.0,450000,450000,0.0,"flash_attention_prefill<float, 64>"
            layer_0,PushPop,4711,4711,1,2,40000,20000.0,20000.0,20000,20000,0.0,rms_norm
            layer_1,PushPop,4711,4711,1,1,510000,510000.0,510000.0,510000,510000,0.0,"flash_attention_prefill<float, 64>"
            """);

        assertThat(layers.tree().toString()).isEqualTo("""
            nsys, 3 kernels
            ├─ layer_0                                     0.490  ms on the GPU
            │  ├─ flash_attention_prefill<float, 64>    1 launch
            │  │  ├─ total time [ms]                       0.450  nsys
            │  │  ├─ average [ms]                          0.450  nsys
            │  │  ├─ longest [ms]                          0.450  nsys
            │  │  └─ share of the range [%]               91.837  of its kernels
            │  └─ rms_norm                            2 launches
            │     ├─ total time [ms]                       0.040  nsys
            │     ├─ average [ms]                          0.020  nsys
            │     ├─ longest [ms]                          0.020  nsys
            │     └─ share of the range [%]                8.163  of its kernels
            └─ layer_1                                     0.510  ms on the GPU
               └─ flash_attention_prefill<float, 64>    1 launch
                  ├─ total time [ms]                       0.510  nsys
                  ├─ average [ms]                          0.510  nsys
                  ├─ longest [ms]                          0.510  nsys
                  └─ share of the range [%]                  100  of its kernels\
            """);
        assertThat(layers.only("layer_1").kernels()).hasSize(1);
    }

    @Test
    void ncuTable_namesTheRuleAndWhatIsNotMeasured() throws IOException {
        String tree = table(NCU).only("prefill|norm").tree().toString();
        assertThat(tree).isEqualTo("""
            ncu, 2 kernels
            ├─ flash_attention_prefill                               1 launch
            │  ├─ SM [%]                                                   68  ncu
            │  ├─ tensor cores [%]                                         35  ncu
            │  ├─ HBM [%]                                                  72  ncu
            │  ├─ achieved occupancy [%]                                   47  ncu
            │  ├─ Dynamic Shared Memory Per Block [Kbyte/block]            96  ncu
            │  ├─ L2 [%]                                         not measured
            │  └─ memory-bound (HBM > 50 %)                               yes  by that rule
            └─ rms_norm                                              1 launch
               ├─ SM [%]                                                1,032  ncu
               ├─ tensor cores [%]                               not measured
               ├─ HBM [%]                                        not measured
               ├─ L2 [%]                                         not measured
               ├─ achieved occupancy [%]                         not measured
               └─ memory-bound (HBM > 50 %)                      not measured\
            """);
    }

    @Test
    void prefillAndDecode_areTwoColumnsAndADifference() throws IOException {
        ProfilerTable all = table(NCU);
        assertThat(all.only("prefill").beside(all.only("decode"), "prefill", "decode"))
                .containsExactly(
                        "                                prefill         decode     difference",
                        "SM [%]                               68             45   -23.0 points",
                        "tensor cores [%]                     35             15   -20.0 points",
                        "HBM [%]                              72             82   +10.0 points",
                        "L2 [%]                     not measured   not measured   not measured",
                        "achieved occupancy [%]               47   not measured   not measured");
        assertThat(all.mean(Counter.L2)).isEmpty();
    }

    @Test
    void kernelThatRanOftener_weighsMore() throws IOException {
        String more = NCU.lines()
                .filter(line -> line.contains("\"1\",\"4711\""))
                .flatMap(line -> Stream.of(
                        line.replace("\"1\",\"4711\"", "\"5\",\"4711\""),
                        line.replace("\"1\",\"4711\"", "\"6\",\"4711\"")))
                .collect(Collectors.joining("\n", "", "\n"));
        // One launch at 72 % and three at 82 %.
        assertThat(table(NCU + more).mean(Counter.HBM)).hasValue(79.5);
    }

    @Test
    void nsysTableInMicroseconds_isInMillisecondsToo() throws IOException {
        assertThat(table("Time (%),Total Time (us),Instances,Name\n100,4200,2,k\n")
                        .kernels()
                        .getFirst()
                        .value("total time [ms]"))
                .hasValue(4.2);
    }

    @Test
    void noTable_isOneSentence() {
        assertThatThrownBy(() -> table("nothing of the kind"))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("has no table of nsys or ncu; export one by");
        assertThatThrownBy(() -> ProfilerTable.read(folder.resolve("nosuch.csv")))
                .hasMessageContaining("There is no file");
        assertThatThrownBy(() -> table("Total Time (fortnights),Name\n1,a\n"))
                .hasMessageContaining("has no unit that is known");
        assertThatThrownBy(() -> table(NCU).only("(")).hasMessageContaining("is no pattern");
    }
}
