#!/usr/bin/env bash
# Does a busy machine change what the tests and the demo say? Starts two busy loops for each core and beside them runs, N times
# each, the demo and the test classes that start servers or give verdicts; prints a table of what came out.
#
#   benchmarks/green-under-load.sh [-n TIMES] [-l LOOPS_PER_CORE] [demo | tests | all]
#
# Exits 0 when every run was green; a demo that says that the machine was too busy (exit code 3) is, twice of ten at most.
set -euo pipefail
cd "$(dirname "$0")/.."

times=10
loops=2
while getopts 'n:l:' option; do
  case $option in
    n) times=$OPTARG ;;
    l) loops=$OPTARG ;;
    *) sed -n '2,7p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
what=${1:-all}
case $what in demo | tests | all) ;; *) sed -n '2,7p' "$0" >&2; exit 2 ;; esac

# A test class that starts servers or child processes, or that waits for what a network brings.
tests=$(grep -rlE 'Emulator\.start|Sidecar\.start|TestBed|Child\.start|ChildSidecar|StubEngine|HttpServer|ZContext|EventPublisher|VirtualExperiment|SmallDemo|EmulatedUnit|CannedEngine|ServedApi|PinnedEngine|Harness' \
  --include='*Test.java' */src/test examples/*/src/test | xargs -n1 basename | sed 's/\.java$//' | sort -u | paste -sd,)
modules=kv-events,adapters-http,adapters-sglang,adapters-vllm,emulator,sidecar,loadtest,app,examples/router

work=$(mktemp -d)
busy=()
stop() {
  if [ ${#busy[@]} -gt 0 ]; then kill "${busy[@]}" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

# Built before the load begins: how long a build takes is not the question.
if [ "$what" != tests ]; then ./holdfast --version >/dev/null; fi
if [ "$what" != demo ]; then ./mvnw -q -B -DskipTests test-compile; fi

for _ in $(seq $(($(getconf _NPROCESSORS_ONLN) * loops))); do
  (while :; do :; done) &
  busy+=($!)
done
echo "$(getconf _NPROCESSORS_ONLN) cores, ${#busy[@]} busy loops, $times runs each"

bad=0
row() { printf '%-6s %4s  %6s  %5s s  %s\n' "$@"; }
row what run code time outcome

run() { # name number command...
  local name=$1 number=$2 code=0 began=$SECONDS
  shift 2
  "$@" >"$work/out" 2>&1 || code=$?
  local outcome
  case $name in
    demo) outcome=$(grep -E '^\([ab]\) [A-Z]' "$work/out" | tr -s ' ' | paste -sd';' || true) ;;
    *) outcome=$(grep -oE '^\[ERROR\] +[A-Z][A-Za-z]*Test[.:][^ ]*' "$work/out" | tr -s ' ' | sort -u | paste -sd' ' || true) ;;
  esac
  row "$name" "$number" "$code" $((SECONDS - began)) "${outcome:-$([ $code -eq 0 ] && echo green || tail -n 1 "$work/out")}"
  last=$code
}

if [ "$what" != tests ]; then
  unsure=0
  for number in $(seq "$times"); do
    run demo "$number" ./holdfast demo
    case $last in
      0) ;;
      3) unsure=$((unsure + 1)) ;;
      *) bad=$((bad + 1)) ;;
    esac
  done
  echo "demo: $((times - bad - unsure)) right, $unsure too busy to tell, $bad wrong"
  if [ $((unsure * 10)) -gt $((times * 2)) ]; then bad=$((bad + 1)); fi
fi
if [ "$what" != demo ]; then
  red=0
  for number in $(seq "$times"); do
    run tests "$number" ./mvnw -q -B -pl "$modules" -am -Dtest="$tests" -Dsurefire.failIfNoSpecifiedTests=false test
    [ "$last" -eq 0 ] || red=$((red + 1))
  done
  echo "tests: $((times - red)) green, $red red"
  bad=$((bad + red))
fi
[ "$bad" -eq 0 ]
