"""The `openai` Python client, unchanged, against an OpenAI-compatible server: what it gets must be what it expects."""

import argparse
import asyncio
import time

import openai

PROMPT = "Count the ships in the harbour and say which of them leaves first. "


class Check:
    def __init__(self):
        self.done = 0

    def __call__(self, what, holds):
        if not holds:
            raise SystemExit(f"FAILED: {what}")
        self.done += 1


def whole(client, model, check):
    models = [one.id for one in client.models.list()]
    check("the model is listed", model in models)

    answer = client.completions.create(model=model, prompt=PROMPT, max_tokens=12, temperature=0)
    check("a completion has its text", len(answer.choices[0].text) > 0)
    check("it ended by its length", answer.choices[0].finish_reason == "length")
    check("its tokens are counted", answer.usage.completion_tokens == 12)
    check("all are", answer.usage.total_tokens == answer.usage.prompt_tokens + 12)

    again = client.completions.create(model=model, prompt=PROMPT, max_tokens=12, temperature=0)
    check("the same prompt gets the same answer", again.choices[0].text == answer.choices[0].text)

    many = client.completions.create(model=model, prompt=[PROMPT, PROMPT + "Why?"], max_tokens=4, n=2)
    check("two prompts with two answers each are four choices", [one.index for one in many.choices] == [0, 1, 2, 3])

    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PROMPT}]
    chat = client.chat.completions.create(model=model, messages=messages, max_completion_tokens=9)
    check("a chat is answered by the assistant", chat.choices[0].message.role == "assistant")
    check("with nine tokens", chat.usage.completion_tokens == 9)

    words = chat.choices[0].message.content.split()
    stopped = client.chat.completions.create(model=model, messages=messages, max_tokens=9, stop=[words[2]])
    check("a stop word ends the answer", stopped.choices[0].finish_reason == "stop")
    check("and is not told", words[2] not in stopped.choices[0].message.content)
    return messages, chat


def streamed(client, model, messages, chat, check):
    text, ends, usage = "", [], None
    with client.chat.completions.create(
        model=model, messages=messages, max_tokens=9, stream=True, stream_options={"include_usage": True}
    ) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                ends += [choice.finish_reason] if choice.finish_reason else []
            usage = chunk.usage or usage
    check("a stream says what the whole answer said", text == chat.choices[0].message.content)
    check("it ends once", ends == ["length"])
    check("it counts as the whole answer did", usage.completion_tokens == chat.usage.completion_tokens)

    pieces = [chunk.choices[0].text for chunk in client.completions.create(
        model=model, prompt=PROMPT, max_tokens=20, stream=True) if chunk.choices]
    check("a completion comes in pieces", len(pieces) >= 10)


def refused(client, model, check):
    for what, error, ask in [
        ("too long a prompt", openai.BadRequestError, dict(model=model, prompt="ship " * 100_000, max_tokens=1)),
        ("an impossible temperature", openai.BadRequestError, dict(model=model, prompt="a", temperature=-3)),
    ]:
        try:
            client.completions.create(**ask)
            check(f"{what} is refused", False)
        except error as refusal:
            check(f"{what} is told", len(refusal.message) > 0)


async def together(url, model, requests):
    """Many streams at once; returns seconds to the first token of each, and tokens a second of all."""
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
        async def one(number):
            begin, first, tokens = time.perf_counter(), None, 0
            stream = await client.completions.create(
                model=model, prompt=PROMPT * 20 + str(number), max_tokens=64, stream=True,
                stream_options={"include_usage": True})
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].text and first is None:
                    first = time.perf_counter() - begin
                tokens = chunk.usage.completion_tokens if chunk.usage else tokens
            return first, tokens

        begin = time.perf_counter()
        answers = await asyncio.gather(*(one(number) for number in range(requests)))
        seconds = time.perf_counter() - begin
    firsts = sorted(first for first, _ in answers)
    return firsts, sum(tokens for _, tokens in answers), seconds


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", required=True, help="such as http://127.0.0.1:30000/v1")
    options.add_argument("--model", default="holdfast-emulated")
    options.add_argument("--requests", type=int, default=64)
    told = options.parse_args()
    check = Check()
    client = openai.OpenAI(base_url=told.url, api_key="none", max_retries=0)
    messages, chat = whole(client, told.model, check)
    streamed(client, told.model, messages, chat, check)
    refused(client, told.model, check)
    firsts, tokens, seconds = asyncio.run(together(told.url, told.model, told.requests))
    check("all streams said all tokens", tokens == 64 * told.requests)
    print(f"openai {openai.__version__}: {check.done} checks hold; {told.requests} streams at once: {tokens} tokens in"
          f" {seconds:.2f} s, first token after {firsts[len(firsts) // 2] * 1e3:.0f} ms (median),"
          f" {firsts[-1] * 1e3:.0f} ms (slowest)")


if __name__ == "__main__":
    main()
