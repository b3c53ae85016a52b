#!/usr/bin/env bash
# Real clients against both emulated engines. PYTHON has openai and guidellm; VLLM and SGLANG, where given, the engines.
set -euo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
export HF_HUB_OFFLINE=1

servers=()
stop() {
  [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

serve() {
  "$here/../../holdfast" emulate --family "$1" --port "$2" --events 0 --context-tokens 8192 >"$work/$1.log" &
  servers+=($!)
  until curl -fs "http://127.0.0.1:$2/health" >/dev/null; do
    kill -0 "${servers[-1]}" || exit 1
    sleep 0.2
  done
}

"$python" "$here/make_tokenizer.py" "$work/tokenizer"
serve sglang 30000
serve vllm 8000
cd "$work"

for port in 30000 8000; do
  url=http://127.0.0.1:$port
  say "$python" "$here/openai_client.py" --url "$url/v1"
  say "$python" -m guidellm run --backend "kind=openai_http,target=$url,model=holdfast-emulated" \
    --profile kind=concurrent,streams=16 --constraint kind=max_requests,count=100 \
    --data kind=synthetic_text,prompt_tokens=256,output_tokens=64 \
    --tokenizer "kind=huggingface_auto,model=$work/tokenizer" --output kind=console --disable-console-interactive
  if [ -n "${VLLM:-}" ]; then
    for backend in openai:/v1/completions openai-chat:/v1/chat/completions; do
      say "$VLLM" -m vllm.entrypoints.cli.main bench serve --backend "${backend%%:*}" --endpoint "${backend#*:}" \
        --base-url "$url" --model holdfast-emulated --tokenizer "$work/tokenizer" --dataset-name random \
        --random-input-len 256 --random-output-len 64 --random-prefix-len 512 --num-prompts 200 --request-rate 50 --seed 1
    done
  fi
done

if [ -n "${SGLANG:-}" ]; then
  say "$SGLANG" -m sglang.bench_serving --backend sglang --base-url http://127.0.0.1:30000 --model holdfast-emulated \
    --tokenizer "$work/tokenizer" --dataset-name generated-shared-prefix --gsp-num-groups 8 --gsp-prompts-per-group 16 \
    --gsp-system-prompt-len 512 --gsp-question-len 64 --gsp-output-len 64 --request-rate 40 --seed 1
fi
