"""One real engine: started and stopped by commands that the user gives, spoken to over its own HTTP."""

import json
import subprocess
import time
import urllib.error
import urllib.request


class Engine:
    def __init__(self, kind, start, stop, http, model):
        self.kind = kind
        self.start_command = start
        self.stop_command = stop
        self.http = http
        self.model = model

    def start(self):
        subprocess.run(self.start_command, shell=True, check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        subprocess.run(self.stop_command, shell=True, check=True, stdout=subprocess.DEVNULL)

    def post(self, path, body):
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.http + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.read()

    def version(self):
        path = "/server_info" if self.kind == "sglang" else "/version"
        with urllib.request.urlopen(self.http + path, timeout=30) as reply:
            return json.load(reply)["version"]

    def generate(self, request):
        """The answer's tokens, and how many of the prompt's the engine found in its cache."""
        extra = {"cache_salt": request["salt"]} if request["salt"] else {}
        if self.kind == "sglang":
            if request["key"]:
                extra["extra_key"] = request["key"]
            sampling = {"max_new_tokens": request["fresh"], "temperature": 0, "ignore_eos": True}
            reply = json.loads(
                self.post("/generate", {"input_ids": request["prompt"], "sampling_params": sampling, **extra})
            )
            return reply["output_ids"], reply["meta_info"]["cached_tokens"]
        body = {"model": self.model, "prompt": request["prompt"], "max_tokens": request["fresh"], "temperature": 0}
        reply = json.loads(self.post("/v1/completions", {**body, "ignore_eos": True, "return_token_ids": True, **extra}))
        details = reply["usage"].get("prompt_tokens_details") or {}
        return reply["choices"][0]["token_ids"], details.get("cached_tokens") or 0

    def clear(self):
        """Empties the engine's cache; an engine that is still busy refuses for a moment."""
        path = "/flush_cache" if self.kind == "sglang" else "/reset_prefix_cache"
        for _ in range(100):
            try:
                self.post(path, {})
                return
            except urllib.error.HTTPError:
                time.sleep(0.1)
        raise AssertionError("the engine refuses to clear its cache")
