import io.holdfast.emulator.kvcached.KvSegment;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import java.util.Scanner;

/**
 * The memory side of an emulated engine as a process: does one command a line, and answers each with a line.
 *
 * <p>{@code use N}: have N blocks, or as many as are allowed; {@code churn N}: take and free a page N times; {@code close}.
 */
final class ElasticEngine {
    private ElasticEngine() {}

    public static void main(String... args) {
        KvcachedSettings settings = KvcachedSettings.of(EngineTag.VLLM, 768, 16).withIpcName(args[0]);
        KvSegment segment = KvSegment.create(settings);
        KvcachedPool pool = KvcachedPool.start(settings, new MachineClock(), segment);
        System.out.println(segment.file());
        Scanner commands = new Scanner(System.in);
        while (commands.hasNext()) {
            switch (commands.next()) {
                case "use" -> {
                    int blocks = Math.min(commands.nextInt(), pool.allowedBlocks());
                    pool.used(blocks);
                    System.out.println(blocks);
                }
                case "churn" -> {
                    int times = commands.nextInt();
                    for (int i = 0; i < times; i++) {
                        pool.allocate(16).ifPresent(pool::free);
                    }
                    System.out.println(times);
                }
                case "close" -> {
                    pool.close();
                    System.out.println("closed");
                }
                default -> System.out.println("?");
            }
        }
    }
}
