#!/usr/bin/env bash
# Does a busy machine change what the tests and the demo say? Starts two busy loops for each core and beside them runs, N times
# each, the demo and the test classes that start servers or give verdicts, or the whole of ./mvnw verify; prints a table of what
# came out. With -s each run is also stopped, all its processes together, for a second at times that nobody foresees: what a
# machine that gives its cores to others does to a program, and what finds tests that count on a moment.
#
#   benchmarks/green-under-load.sh [-n TIMES] [-l LOOPS_PER_CORE] [-s] [demo | tests | verify | all]
#
# all is demo and tests.
#
# Exits 0 when every run was green; a demo that says that the machine was too busy (exit code 3) is, twice of ten at most.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '2,12p' "$0" >&2
  exit 2
}

times=10
loops=2
stops=
while getopts 'n:l:s' option; do
  case $option in
    n) times=$OPTARG ;;
    l) loops=$OPTARG ;;
    s) stops=yes ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
what=${1:-all}
case $what in demo | tests | verify | all) ;; *) usage ;; esac

# A test class that starts servers or child processes, or that waits for what a network brings.
classes=$(grep -rlE 'Emulator\.start|Sidecar\.start|TestBed|Child\.start|ChildSidecar|StubEngine|HttpServer|ZContext|EventPublisher|VirtualExperiment|SmallDemo|EmulatedUnit|CannedEngine|ServedApi|PinnedEngine|Harness' \
  --include='*Test.java' */src/test examples/*/src/test | xargs -n1 basename | sed 's/\.java$//' | sort -u | paste -sd,)
modules=kv-events,adapters-http,adapters-sglang,adapters-vllm,emulator,sidecar,loadtest,workbench,app,examples/router

work=$(mktemp -d)
busy=()
running=
stopper=
stop() {
  if [ ${#busy[@]} -gt 0 ]; then kill "${busy[@]}" 2>/dev/null || true; fi
  if [ -n "$stopper" ]; then kill "$stopper" 2>/dev/null || true; fi
  if [ -n "$running" ]; then
    kill -CONT -- "-$running" 2>/dev/null || true
    kill -- "-$running" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

# Built before the load begins: how long a build takes is not the question.
case $what in demo | all) ./holdfast --version >/dev/null ;; esac
case $what in tests | all) ./mvnw -q -B -DskipTests test-compile ;; esac

for _ in $(seq $(($(getconf _NPROCESSORS_ONLN) * loops))); do
  (while :; do :; done) &
  busy+=($!)
done
echo "$(getconf _NPROCESSORS_ONLN) cores, ${#busy[@]} busy loops, $times runs each"

bad=0
row() { printf '%-6s %4s  %6s  %5s s  %s\n' "$@"; }
row what run code time outcome

# Further apart than the five seconds in which nothing is pinned after events came late, or else nothing ever is.
stopping() { # process group
  while sleep $((8 + RANDOM % 12)); do
    kill -STOP -- "-$1" 2>/dev/null || return 0
    sleep 1
    kill -CONT -- "-$1"
  done
}

run() { # name number command...
  local name=$1 number=$2 code=0 began=$SECONDS
  shift 2
  # A job: it has a process group of its own, which can be stopped, and takes the interrupts that some tests send.
  set -m
  "$@" >"$work/out" 2>&1 &
  running=$!
  set +m
  if [ -n "$stops" ]; then
    stopping "$running" >/dev/null 2>&1 &
    stopper=$!
  fi
  wait -f "$running" || code=$?
  running=
  if [ -n "$stopper" ]; then
    kill "$stopper" 2>/dev/null || true
    wait "$stopper" 2>/dev/null || true
    stopper=
  fi
  local outcome
  case $name in
    demo) outcome=$(grep -E '^\([ab]\) [A-Z]' "$work/out" | tr -s ' ' | paste -sd';' || true) ;;
    *) outcome=$(grep -oE '^\[ERROR\] +[A-Z][A-Za-z]*Test[.:][^ ]*' "$work/out" | tr -s ' ' | sort -u | paste -sd' ' || true) ;;
  esac
  row "$name" "$number" "$code" $((SECONDS - began)) "${outcome:-$([ $code -eq 0 ] && echo green || tail -n 1 "$work/out")}"
  last=$code
}

demos() {
  local unsure=0 wrong=0
  for number in $(seq "$times"); do
    run demo "$number" ./holdfast demo
    case $last in
      0) ;;
      3) unsure=$((unsure + 1)) ;;
      *) wrong=$((wrong + 1)) ;;
    esac
  done
  echo "demo: $((times - wrong - unsure)) right, $unsure too busy to tell, $wrong wrong"
  bad=$((bad + wrong))
  if [ $((unsure * 10)) -gt $((times * 2)) ]; then bad=$((bad + 1)); fi
}

tests() { # name, Maven's arguments
  local name=$1 red=0
  shift
  for number in $(seq "$times"); do
    run "$name" "$number" ./mvnw -q -B "$@"
    [ "$last" -eq 0 ] || red=$((red + 1))
  done
  echo "$name: $((times - red)) green, $red red"
  bad=$((bad + red))
}

case $what in demo | all) demos ;; esac
case $what in
  tests | all) tests tests -pl "$modules" -am -Dtest="$classes" -Dsurefire.failIfNoSpecifiedTests=false test ;;
  verify) tests verify verify ;;
esac
[ "$bad" -eq 0 ]
