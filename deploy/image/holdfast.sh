#!/bin/sh
# Runs the command with the runtime beside it. HOLDFAST_JAVA_OPTS adds JVM options.
set -eu
self=$(readlink -f "$0")
home=${self%/bin/*}
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
# shellcheck disable=SC2086 # options are words on purpose
exec "$home/runtime/bin/java" -XX:AOTCache="$home/holdfast.aot" "@$home/jvm.options" ${HOLDFAST_JAVA_OPTS:-} \
  -jar "$home/lib/holdfast.jar" "$@"
