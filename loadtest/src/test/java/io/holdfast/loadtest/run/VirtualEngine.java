package io.holdfast.loadtest.run;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.PinAnswer;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/*
 * An engine without a server
 * ==========================
 *
 * SGLang's scheduler and cache run on the thread that asks. Whoever sends requests drives the engine's loop, pass by pass, until
 * all are answered; a pass takes what the GPU would take, and the clock jumps there. What a lane asks next is seen between two
 * passes, as in the real loop. While nobody sends, the engine has nothing to do, so nothing has to run beside the protocol.
 *
 * There is no second thread and no other clock, so a run is a pure function of its seeds.
 */
final class VirtualEngine implements EngineUnderTest {
    private static final int[] SMALLEST = {7, 8, 9, 10};

    private final SglangSettings settings;
    private final Speed speed;
    private final List<Fault> faults;
    private final VirtualTime time;
    private SglangEngine engine;
    private int lives;

    VirtualEngine(SglangSettings settings, Speed speed, List<Fault> faults, VirtualTime time) {
        this.settings = settings;
        this.speed = speed;
        this.faults = List.copyOf(faults);
        this.time = time;
        this.engine = life();
    }

    private SglangEngine life() {
        Faults its = new Faults(faults);
        return new SglangEngine(
                settings,
                its,
                time,
                new Gpu(speed, its, time, () -> false),
                Model.seeded(1, 32_000),
                events -> {},
                ElasticPool.OWN);
    }

    int lives() {
        return lives;
    }

    @Override
    public String name() {
        return "SGLang's rules in process";
    }

    @Override
    public Map<String, String> client() {
        return Map.of("clock", "virtual");
    }

    @Override
    public boolean givesFreshLives() {
        return true;
    }

    @Override
    public void beginLife() {
        engine = life();
        lives++;
        new VirtualLoad(List.of(new LoadRequest(Role.PRIME, 0, SMALLEST, 1))).send(1, 1);
    }

    @Override
    public EngineFacts facts() {
        return new EngineFacts(
                OptionalInt.of(settings.pageTokens()),
                OptionalLong.of(settings.capacityTokens()),
                OptionalLong.of(settings.maxPromptTokens()),
                Optional.empty());
    }

    @Override
    public Optional<String> flush() {
        return engine.flush() ? Optional.empty() : Optional.of("the engine did not flush its cache");
    }

    @Override
    public Load prepare(List<LoadRequest> requests) {
        return new VirtualLoad(requests);
    }

    @Override
    public void close() {}

    /** Holds by the engine's own pins. */
    Holder holder() {
        return new EnginePins();
    }

    private final class VirtualLoad implements Load {
        private final List<LoadRequest> requests;
        private final String digest;
        private int next;

        VirtualLoad(List<LoadRequest> requests) {
            this.requests = List.copyOf(requests);
            MessageDigest sha = Sha256.start();
            for (LoadRequest request : requests) {
                ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES * (1 + request.length()));
                bytes.putInt(request.maxTokens());
                for (int token : request.tokens()) {
                    bytes.putInt(token);
                }
                sha.update(bytes.flip());
            }
            digest = HexFormat.of().formatHex(sha.digest());
        }

        @Override
        public String digest() {
            return digest;
        }

        @Override
        public void connect(int lanes) {}

        @Override
        public List<RequestRecord> send(int count, int concurrency) {
            int first = next;
            next += count;
            RequestRecord[] records = new RequestRecord[count];
            Deque<Integer> waiting = new ArrayDeque<>();
            for (int number = first; number < next; number++) {
                waiting.add(number);
            }
            List<Answer> underWay = new ArrayList<>();
            while (!waiting.isEmpty() || !underWay.isEmpty()) {
                while (underWay.size() < concurrency && !waiting.isEmpty()) {
                    underWay.add(submit(waiting.remove()));
                }
                if (!engine.step()) {
                    throw new LoadTestException("The engine stopped with requests under way: " + engine.stats());
                }
                underWay.removeIf(answer -> {
                    answer.record.ifPresent(record -> records[record.number() - first] = record);
                    return answer.record.isPresent();
                });
            }
            return List.of(records);
        }

        private Answer submit(int number) {
            LoadRequest request = requests.get(number);
            Answer answer = new Answer(number, request, time.nanos());
            engine.submit(new Generation(
                    request.tokens(), RequestOptions.of(request.maxTokens()), true, time.nanos(), answer));
            return answer;
        }
    }

    /** One request under way. */
    private final class Answer implements TokenListener {
        private final int number;
        private final LoadRequest request;
        private final long sent;
        private OptionalLong firstToken = OptionalLong.empty();
        private Optional<RequestRecord> record = Optional.empty();

        Answer(int number, LoadRequest request, long sent) {
            this.number = number;
            this.request = request;
            this.sent = sent;
        }

        @Override
        public void token(int token, int count, int cachedTokens, boolean last) {
            long now = time.nanos();
            firstToken = firstToken.isPresent() ? firstToken : OptionalLong.of(now);
            if (last) {
                record = Optional.of(record(RequestStatus.OK, OptionalInt.of(count), OptionalInt.of(cachedTokens), ""));
            }
        }

        @Override
        public void failed(String message) {
            record = Optional.of(record(RequestStatus.HTTP_ERROR, OptionalInt.empty(), OptionalInt.empty(), message));
        }

        private RequestRecord record(RequestStatus status, OptionalInt answered, OptionalInt cached, String problem) {
            OptionalLong lastToken = firstToken.isPresent() ? OptionalLong.of(time.nanos()) : firstToken;
            return new RequestRecord(
                    number,
                    request.role(),
                    request.cycle(),
                    status,
                    sent,
                    sent,
                    firstToken,
                    firstToken,
                    lastToken,
                    time.nanos(),
                    OptionalInt.of(request.length()),
                    answered,
                    cached,
                    problem);
        }
    }

    private final class EnginePins implements Holder {
        @Override
        public String name() {
            return "the engine's own pins";
        }

        @Override
        public void check() {}

        @Override
        public FlushReceipt follow(Flush flush) {
            return new FlushReceipt("", 1, flush.flush());
        }

        @Override
        public HoldReceipt hold(int[] prefix, Duration within) {
            long[] blocks = SglangBlockNames.of(prefix, settings.pageTokens());
            long deepest = blocks[blocks.length - 1];
            PinAnswer answer = engine.pin(new long[] {deepest});
            return answer.count() == 1
                    ? HoldReceipt.held(
                            Long.toString(deepest),
                            blocks.length,
                            blocks.length,
                            (long) blocks.length * settings.pageTokens(),
                            answer.message())
                    : HoldReceipt.notHeld("", blocks.length, answer.message());
        }

        @Override
        public ReleaseReceipt release(HoldReceipt hold) {
            if (hold.id().isEmpty()) {
                return ReleaseReceipt.skipped("there is no hold");
            }
            PinAnswer answer = engine.unpin(new long[] {Long.parseLong(hold.id())});
            return answer.count() == 1
                    ? ReleaseReceipt.released(answer.message())
                    : ReleaseReceipt.lost(answer.message());
        }

        @Override
        public HoldReceipt sham() {
            return HoldReceipt.sham("nothing was done");
        }

        @Override
        public ReleaseReceipt shamRelease() {
            return ReleaseReceipt.sham("nothing was done");
        }
    }
}
