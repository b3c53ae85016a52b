package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Chance;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.fault.HttpFault;
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
import java.util.SplittableRandom;

/*
 * An engine without a server
 * ==========================
 *
 * An engine's scheduler and cache run on the thread that asks. Whoever sends requests drives the engine's loop, pass by pass, until
 * all are answered; a pass takes what the GPU would take, and the clock jumps there. What a lane asks next is seen between two
 * passes, as in the real loop. While nobody sends, the engine has nothing to do, so nothing has to run beside the protocol.
 *
 * There is no second thread and no other clock, so a run is a pure function of its seeds.
 */
final class VirtualEngine implements EngineUnderTest {
    private static final int[] SMALLEST = {7, 8, 9, 10};

    /** Whose rules, and what can be asked of them beside completions. */
    interface Rules {
        Running start(Faults faults, EngineClock clock, Gpu gpu, Model model);

        EngineFacts facts();
    }

    /** One life of an engine. */
    interface Running {
        Engine engine();

        boolean flush();

        HoldRoutes routes();
    }

    private final Rules rules;
    private final Speed speed;
    private final List<Fault> faults;
    private final VirtualTime time;
    private final SplittableRandom chances;
    private Running life;
    private int lives;
    private int otherModelFrom = Integer.MAX_VALUE;

    VirtualEngine(Rules rules, Speed speed, List<Fault> faults, VirtualTime time) {
        this.rules = rules;
        this.speed = speed;
        this.faults = List.copyOf(faults);
        this.time = time;
        this.chances = time.chances();
        this.life = life();
    }

    private Running life() {
        SplittableRandom noise = time.chances(1 + lives);
        Faults its = new Faults(faults.stream()
                .map(fault ->
                        fault instanceof GpuFault.Noise of ? of.from(1 + noise.nextInt(Integer.MAX_VALUE - 1)) : fault)
                .toList());
        return rules.start(its, time, new Gpu(speed, its, time, () -> false), Model.seeded(1, 32_000));
    }

    VirtualTime time() {
        return time;
    }

    /** From that life on it is started with another model. */
    void serveAnotherModelFrom(int life) {
        otherModelFrom = life;
    }

    int lives() {
        return lives;
    }

    @Override
    public String name() {
        return "an engine's rules in process";
    }

    @Override
    public Map<String, String> client() {
        return Map.of("clock", "virtual", "serves", lives < otherModelFrom ? "a model" : "another model");
    }

    @Override
    public boolean givesFreshLives() {
        return true;
    }

    @Override
    public void beginLife() {
        life = life();
        lives++;
        new VirtualLoad(List.of(new LoadRequest(Role.PRIME, 0, SMALLEST, 1))).send(1, 1);
    }

    @Override
    public EngineFacts facts() {
        return rules.facts();
    }

    @Override
    public HoldRoutes holdRoutes() {
        Duration late = faults.stream()
                .filter(HttpFault.PinLate.class::isInstance)
                .map(fault -> ((HttpFault.PinLate) fault).delay())
                .findFirst()
                .orElse(Duration.ZERO);
        return late.isZero() ? life.routes() : new LateRoutes(late);
    }

    private boolean strikes(Class<? extends Chance> kind) {
        return faults.stream()
                .anyMatch(fault -> kind.isInstance(fault) && kind.cast(fault).strikes(chances));
    }

    /** Calls that act at once and are answered late, whichever arm makes them. */
    private final class LateRoutes implements HoldRoutes {
        private final Duration late;

        LateRoutes(Duration late) {
            this.late = late;
        }

        @Override
        public Optional<String> whyNoSessions() {
            return life.routes().whyNoSessions();
        }

        @Override
        public Optional<String> closeSession(String session) {
            return afterwards(life.routes().closeSession(session));
        }

        @Override
        public Optional<String> whyNoPins() {
            return life.routes().whyNoPins();
        }

        @Override
        public PinCount pin(List<Long> blocks) {
            return afterwards(life.routes().pin(blocks));
        }

        @Override
        public PinCount unpin(List<Long> blocks) {
            return afterwards(life.routes().unpin(blocks));
        }

        private <T> T afterwards(T answer) {
            time.await(time.nanos() + late.toNanos());
            return answer;
        }
    }

    @Override
    public Optional<String> flush() {
        return life.flush() ? Optional.empty() : Optional.of("the engine did not flush its cache");
    }

    @Override
    public Load prepare(List<LoadRequest> requests) {
        return new VirtualLoad(requests);
    }

    @Override
    public void close() {}

    private final class VirtualLoad implements Load {
        private final List<LoadRequest> requests;
        private final String digest;
        private int next;

        VirtualLoad(List<LoadRequest> requests) {
            this.requests = List.copyOf(requests);
            MessageDigest sha = Sha256.start();
            for (LoadRequest request : requests) {
                ByteBuffer bytes = ByteBuffer.allocate(
                        Integer.BYTES * (1 + request.withoutHead().length()));
                bytes.putInt(request.maxTokens());
                for (int token : request.withoutHead().tokens()) {
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
        public Sent send(int count, int concurrency, Optional<Beside> beside) {
            int first = next;
            next += count;
            RequestRecord[] records = new RequestRecord[count];
            Deque<Integer> waiting = new ArrayDeque<>();
            for (int number = first; number < next; number++) {
                waiting.add(number);
            }
            List<Answer> underWay = new ArrayList<>();
            List<RequestRecord> touches = new ArrayList<>();
            Optional<Answer> touch = Optional.empty();
            int ended = 0;
            int due = 0;
            while (!waiting.isEmpty() || !underWay.isEmpty() || due > 0 || touch.isPresent()) {
                while (underWay.size() < concurrency && !waiting.isEmpty()) {
                    underWay.add(submit(waiting.remove()));
                }
                if (due > 0 && touch.isEmpty()) {
                    due--;
                    touch = Optional.of(
                            submit(touches.size(), beside.orElseThrow().request()));
                }
                if (!life.engine().step()) {
                    throw new LoadTestException("The engine stopped with requests under way.");
                }
                for (Answer answer : List.copyOf(underWay)) {
                    if (answer.record.isPresent()) {
                        underWay.remove(answer);
                        records[answer.number - first] = answer.record.get();
                        ended++;
                        due += beside.isPresent() && ended % beside.get().every() == 0 && ended < count ? 1 : 0;
                    }
                }
                if (touch.flatMap(answer -> answer.record).isPresent()) {
                    touches.add(touch.flatMap(answer -> answer.record).orElseThrow());
                    touch = Optional.empty();
                }
            }
            return new Sent(List.of(records), touches);
        }

        private Answer submit(int number) {
            return submit(number, requests.get(number));
        }

        private Answer submit(int number, LoadRequest request) {
            Answer answer = new Answer(number, request, time.nanos());
            life.engine()
                    .submit(new Generation(
                            request.tokens(),
                            RequestOptions.of(request.maxTokens())
                                    .withSession(request.session().orElse("")),
                            true,
                            time.nanos(),
                            answer));
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
                record = Optional.of(answered(count, cachedTokens));
            }
        }

        private RequestRecord answered(int count, int cachedTokens) {
            if (strikes(HttpFault.EmptyOutputs.class)) {
                return record(RequestStatus.EMPTY, OptionalInt.of(0), OptionalInt.of(cachedTokens), "no output");
            }
            return strikes(HttpFault.UsageWrong.class)
                    ? record(RequestStatus.OK, OptionalInt.of(count + 1), OptionalInt.of(request.length()), "")
                    : record(RequestStatus.OK, OptionalInt.of(count), OptionalInt.of(cachedTokens), "");
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
}
