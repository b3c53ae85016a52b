#!/usr/bin/env python3
"""Keeps an emulated engine's events flowing: feed.py ENGINE-URL SECONDS. It also stores the prompt that query.py asks for."""

import json
import sys
import time
import urllib.request

url, end, number = sys.argv[1], time.time() + float(sys.argv[2]), 0
while time.time() < end:
    first = list(range(1000, 1000 + 2048)) if number % 40 == 0 else [10_000 + number * 7 % 90_000 + i for i in range(512)]
    body = json.dumps({"input_ids": first, "sampling_params": {"max_new_tokens": 1}}).encode()
    request = urllib.request.Request(url + "/generate", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request).read()
    number += 1
