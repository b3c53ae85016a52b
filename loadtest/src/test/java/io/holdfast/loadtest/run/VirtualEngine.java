package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.Sha256;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.TokenStamps;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Chance;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.fault.ServerFault;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.LongStream;

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
public final class VirtualEngine implements EngineUnderTest {
    private static final int[] SMALLEST = {7, 8, 9, 10};
    /** The number of the stream of chances that events are lost by; far above those of lives. */
    private static final int LOSSES = 1_000;

    /** Whose rules, and what can be asked of them beside completions. */
    interface Rules {
        Running start(Faults faults, EngineClock clock, Gpu gpu, Model model, Consumer<List<CacheEvent>> events);

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
    private int restarts;
    private int answered;
    private int servers = 1;
    private int asked;
    private Optional<Speed> pinnedSpeed = Optional.empty();
    private Speed now;
    private Duration answerTakesTheClient = Duration.ZERO;
    private boolean keepsAnswers;
    private final VirtualEvents events;

    public VirtualEngine(Rules rules, Speed speed, List<Fault> faults, VirtualTime time) {
        this.rules = rules;
        this.speed = speed;
        this.now = speed;
        this.faults = List.copyOf(faults);
        this.time = time;
        this.chances = time.chances();
        this.events = new VirtualEvents(
                faults.stream()
                        .filter(EventFault.EventLoss.class::isInstance)
                        .map(EventFault.EventLoss.class::cast)
                        .findFirst(),
                time.chances(LOSSES));
        this.life = life();
    }

    private Running life() {
        SplittableRandom noise = time.chances(1 + lives + restarts);
        answered = 0;
        events.begin();
        Faults its = new Faults(faults.stream()
                .map(fault ->
                        fault instanceof GpuFault.Noise of ? of.from(1 + noise.nextInt(Integer.MAX_VALUE - 1)) : fault)
                .toList());
        return rules.start(its, time, new Gpu(now, its, time, () -> false), Model.seeded(1, 32_000), events::published);
    }

    VirtualTime time() {
        return time;
    }

    /** From that life on it is started with another model. */
    void serveAnotherModelFrom(int life) {
        otherModelFrom = life;
    }

    /** From now on each leg has a process of its own, and those of pinned legs are so fast. */
    void servePinnedLegsAt(Speed value) {
        pinnedSpeed = Optional.of(value);
    }

    @Override
    public boolean givesFreshLegs() {
        return pinnedSpeed.isPresent();
    }

    @Override
    public void beginLeg(Arm arm) {
        now = arm == Arm.PINNED ? pinnedSpeed.orElse(speed) : speed;
        beginLife();
        now = speed;
    }

    int lives() {
        return lives;
    }

    /** What its cache tells of itself, to whoever listens. */
    VirtualEvents events() {
        return events;
    }

    /** From now on records have a digest of their answer. */
    void keepAnswers() {
        keepsAnswers = true;
    }

    /** From now on the client has that much to do for each answer, one after the other. */
    void answersTakeTheClient(Duration each) {
        answerTakesTheClient = each;
    }

    /** Between two legs nothing is under way, so whoever is to die there dies when the next one begins. */
    private void restartIfDue() {
        faults.stream()
                .filter(ServerFault.Restart.class::isInstance)
                .map(ServerFault.Restart.class::cast)
                .filter(fault -> answered >= fault.requests())
                .findFirst()
                .ifPresent(fault -> {
                    restarts++;
                    time.await(time.nanos() + fault.down().toNanos());
                    life = life();
                });
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

    /** From now on it is one of so many behind its address, and now this, now that one says which it is. */
    void beOneOf(int number) {
        servers = number;
    }

    @Override
    public Map<String, LifeSign> lifeSigns() {
        asked++;
        return Map.of(
                "engine",
                new LifeSign(Optional.of(lives + " " + restarts + " of " + asked % servers), OptionalDouble.empty()));
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
        restartIfDue();
        return new VirtualLoad(requests);
    }

    @Override
    public EngineUnderTest withoutStreams() {
        return ChangedAnswers.whole(this);
    }

    @Override
    public void close() {}

    private final class VirtualLoad implements Load {
        private final List<LoadRequest> requests;
        private final String digest;
        private int next;
        /** Until when the client is at work on answers that came. */
        private long busyUntil;

        private long busyNanos;
        private long loadNanos;

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
            return send(count, concurrency, List.of(), beside);
        }

        @Override
        public Sent sendInTurn(List<Long> turns, int most, Optional<Beside> beside) {
            return send(turns.size(), most, turns, beside);
        }

        /** @param turns none in a closed loop */
        private Sent send(int count, int most, List<Long> turns, Optional<Beside> beside) {
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
            long began = time.nanos();
            while (!waiting.isEmpty() || !underWay.isEmpty() || due > 0 || touch.isPresent()) {
                while (turns.isEmpty() && underWay.size() < most && !waiting.isEmpty()) {
                    underWay.add(submit(waiting.remove()));
                }
                OptionalLong turn = turnOf(waiting, first, turns, began);
                while (turn.isPresent() && sendingAt(turn.getAsLong()) <= time.nanos()) {
                    int number = waiting.remove();
                    if (underWay.size() < most) {
                        // The engine looks at what came between two of its steps; the client sent it in between.
                        underWay.add(
                                submit(number, requests.get(number), turn.getAsLong(), sendingAt(turn.getAsLong())));
                    } else {
                        records[number - first] = notSent(number, turn.getAsLong());
                        ended++;
                    }
                    turn = turnOf(waiting, first, turns, began);
                }
                if (due > 0 && touch.isEmpty()) {
                    due--;
                    touch = Optional.of(
                            submit(touches.size(), beside.orElseThrow().request()));
                }
                if (!life.engine().step()) {
                    OptionalLong later = LongStream.concat(LongStream.of(busyUntil), turn.stream())
                            .filter(at -> at > time.nanos())
                            .min();
                    if (later.isEmpty() && (ended < count || touch.isPresent())) {
                        throw new LoadTestException("The engine stopped with requests under way.");
                    }
                    later.ifPresent(time::await);
                }
                for (Answer answer : List.copyOf(underWay)) {
                    if (answer.record.isPresent() && answer.record.orElseThrow().done() <= time.nanos()) {
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
            loadNanos += time.nanos() - began;
            return new Sent(List.of(records), touches);
        }

        @Override
        public Optional<ClientHealth> health() {
            return answerTakesTheClient.isZero()
                    ? Optional.empty()
                    : Optional.of(new ClientHealth(loadNanos, busyNanos, busyNanos, 0, 0, 0, 0));
        }

        /** An answer came: it has its stamp when the client has got round to it. */
        private long stamped() {
            busyUntil = Math.max(busyUntil, time.nanos()) + answerTakesTheClient.toNanos();
            busyNanos += answerTakesTheClient.toNanos();
            return busyUntil;
        }

        /** A client that has much to do for its answers comes late to what is due. */
        private long sendingAt(long turn) {
            return answerTakesTheClient.isZero() ? turn : Math.max(turn, busyUntil);
        }

        private static OptionalLong turnOf(Deque<Integer> waiting, int first, List<Long> turns, long began) {
            return turns.isEmpty() || waiting.isEmpty()
                    ? OptionalLong.empty()
                    : OptionalLong.of(began + turns.get(waiting.element() - first));
        }

        private RequestRecord notSent(int number, long turn) {
            Answer none = new Answer(number, requests.get(number), turn, turn, this);
            none.lastToken = turn;
            return none.record(
                    RequestStatus.NOT_SENT, OptionalInt.empty(), OptionalInt.empty(), "all connections were in use");
        }

        private Answer submit(int number) {
            return submit(number, requests.get(number));
        }

        private Answer submit(int number, LoadRequest request) {
            return submit(number, request, time.nanos(), time.nanos());
        }

        private Answer submit(int number, LoadRequest request, long turn, long sent) {
            Answer answer = new Answer(number, request, turn, sent, this);
            life.engine()
                    .submit(new Generation(
                            request.tokens(),
                            RequestOptions.of(request.maxTokens())
                                    .withSession(request.session().orElse("")),
                            true,
                            sent,
                            answer));
            return answer;
        }
    }

    /** One request under way. */
    private final class Answer implements TokenListener {
        private final int number;
        private final LoadRequest request;
        private final long turn;
        private final long sent;
        private final VirtualLoad load;
        private OptionalLong firstToken = OptionalLong.empty();
        private long lastToken;
        private final List<Long> stamps = new ArrayList<>();
        private long digest;
        private Optional<RequestRecord> record = Optional.empty();

        Answer(int number, LoadRequest request, long turn, long sent, VirtualLoad load) {
            this.number = number;
            this.request = request;
            this.turn = turn;
            this.sent = sent;
            this.load = load;
        }

        @Override
        public void token(int token, int count, int cachedTokens, boolean last) {
            lastToken = load.stamped();
            firstToken = firstToken.isPresent() ? firstToken : OptionalLong.of(lastToken);
            stamps.add(lastToken);
            digest = 31 * digest + token;
            if (last) {
                answered++;
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
            lastToken = load.stamped();
            record = Optional.of(record(RequestStatus.HTTP_ERROR, OptionalInt.empty(), OptionalInt.empty(), message));
        }

        private RequestRecord record(RequestStatus status, OptionalInt answered, OptionalInt cached, String problem) {
            int[] each = new int[stamps.size()];
            Arrays.fill(each, 1);
            RequestRecord record = new RequestRecord(
                    number,
                    request.role(),
                    request.cycle(),
                    status,
                    turn,
                    sent,
                    firstToken,
                    firstToken,
                    firstToken.isPresent() ? OptionalLong.of(lastToken) : firstToken,
                    lastToken,
                    OptionalInt.of(request.length()),
                    answered,
                    cached,
                    problem,
                    OptionalInt.empty(),
                    firstToken,
                    TokenStamps.of(stamps.stream().mapToLong(Long::longValue).toArray(), each, each.length));
            return keepsAnswers ? record.withOutput(Long.toHexString(digest)) : record;
        }
    }
}
