"""llama.cpp as the oracle: start or attach to its `llama-server` and decode greedily over HTTP.

HTTP is the one interface that every llama.cpp install has (package manager, release archive, container,
Python wheel), so the user's own build can be the reference.
"""

import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

from mobius_cli.llama_cpp.answer import (
    TOO_OLD,
    Generation,
    Row,
    align,
    check_argmax,
    generation,
    greedy_request,
)
from mobius_cli.llama_cpp.process import LlamaProcess, find_llama_server
from repack.errors import InputError, MobiusError

__all__ = ["Generation", "LlamaServer", "find_llama_server"]

_FORCING_BIAS = 1000.0  # above any difference of two logits
_WIDER = (1024, 1 << 24)  # candidates to look for one token in; the last is every vocabulary
_GRACE = 2.0  # seconds from a broken connection to the end of the process that broke it


class LlamaServer:
    """A llama-server with one model, for a `with` statement; stopped when that ends, however it ends.

    `context` (tokens) must hold prompt and continuation. `exact` keeps the KV cache in float32 and turns flash
    attention off. `gpu_layers=0` computes everything on the CPU. Timeouts are in seconds.
    Entering raises MobiusError if the server dies or is not ready within `start_timeout`.
    """

    def __init__(
        self,
        binary: Path,
        model: Path,
        *,
        context: int = 4096,
        threads: int = 1,
        exact: bool = False,
        gpu_layers: int = 0,
        start_timeout: float = 600,
        request_timeout: float = 1800,
    ) -> None:
        self._start: Callable[[], LlamaProcess] = partial(
            LlamaProcess, binary, model, context=context, threads=threads, exact=exact, gpu_layers=gpu_layers
        )
        self._process: LlamaProcess | None = None
        self._start_timeout, self._request_timeout = start_timeout, request_timeout
        self._headers = {"Content-Type": "application/json"}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._build = ""
        self.url = ""

    @classmethod
    def attach(
        cls, url: str, *, api_key: str | None = None, start_timeout: float = 10, request_timeout: float = 1800
    ) -> Self:
        """A server that the user runs and keeps running; `url` such as "http://localhost:8080"."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{url}: not the address of a server", "Give one such as http://localhost:8080.")
        server = cls(Path(), Path(), start_timeout=start_timeout, request_timeout=request_timeout)
        server.url = url.rstrip("/")
        if not _is_loopback(parts.hostname):
            server._opener = urllib.request.build_opener()  # with the proxy of the environment
        if api_key is not None:
            server._headers["Authorization"] = f"Bearer {api_key}"
        return server

    def __enter__(self) -> Self:
        try:
            if not self.url:
                self._process = self._start()
                self.url = self._process.url
            self._wait_until_ready()
        except BaseException:  # Ctrl-C while a large model loads must not leave the server behind
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server if this object started it; may be called twice."""
        if self._process is not None:
            self._process.stop()
            self._process = None
            self.url = ""

    def props(self) -> dict[str, Any]:
        """The server's properties: `build_info`, `model_path`, `total_slots`, defaults."""
        return self._request("/props")

    @property
    def build(self) -> str:
        """The llama.cpp build, such as "b6000-1a2b3c4"."""
        self._build = self._build or str(self.props().get("build_info", "unknown"))
        return self._build

    def tokenize(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Token ids of `text`, with BOS and EOS as the model asks if `add_special`."""
        payload = {"content": text, "add_special": add_special, "parse_special": parse_special}
        return [int(token) for token in self._request("/tokenize", payload)["tokens"]]

    def greedy(self, ids: list[int], n: int, top: int = 32) -> Generation:
        """At most `n` greedy tokens after the prompt `ids`; fewer if the model ends its text.

        Raises MobiusError if the prompt does not fit, the server dies or does not answer, or its answer shows
        that something other than the plain argmax picked a token.
        """
        answer = self._complete(ids, n, top)
        tokens = [int(token) for token in answer["tokens"]]
        rows = []
        aligned = align(tokens, answer.get("completion_probabilities") or [])
        for step, row in reversed([*enumerate(aligned)]):
            if row is None:  # from the last one on: each cuts the cache of this answer, and decodes one token again
                row = self._candidates_after(ids + tokens[:step], top, cache_prompt=True)
            else:
                check_argmax(row, tokens[step])
            rows.append(row)
        return generation(answer, rows[::-1], self.build)

    def score(self, ids: list[int], token: int, top: int = 64) -> Row:
        """The row of `token` after `ids`, whatever else is more probable there, with `top` candidates, best first.

        The cache of the last request is used: called with ever longer `ids`, each position is a decode step.
        Raises MobiusError if `ids` do not fit, the server does not answer, or does not take the token.
        """
        answer = self._complete(ids, 1, top, cache_prompt=True, logit_bias=[[token, _FORCING_BIAS]])
        rows: list[Row] = answer.get("completion_probabilities") or []
        if answer["tokens"] != [token] or any(row.get("id") != token for row in rows):
            raise MobiusError(
                f"llama-server picked token {answer['tokens'][0]} where {token} was forced by a logit bias",
                "Use a server without grammar or speculative decoding.",
            )
        if rows:
            return rows[0]
        for wide in _WIDER:  # the token is a part of a character only
            found = self._candidates_after(ids, wide, cache_prompt=True)["top_logprobs"]
            for entry in found:
                if entry["id"] == token:
                    return {"id": token, "logprob": entry["logprob"], "top_logprobs": found[:top]}
        raise MobiusError(f"{self.url}: no log-probability of token {token}", TOO_OLD)

    def speed(self, ids: list[int], n: int) -> tuple[float, float]:
        """Tokens per second of the prompt `ids` and of `n` tokens after it, without any log-probabilities."""
        timings = self._complete(ids, n, 0, ignore_eos=True).get("timings", {})
        return float(timings.get("prompt_per_second") or 0), float(timings.get("predicted_per_second") or 0)

    def _complete(self, ids: list[int], n: int, top: int, **options: Any) -> dict[str, Any]:
        answer = self._request("/completion", greedy_request(ids, n, top) | options)
        if not answer.get("tokens"):
            raise MobiusError(f"{self.url}: the answer has no token ids", TOO_OLD)
        if answer.get("truncated"):
            raise MobiusError(
                f"{len(ids)} prompt tokens and {n} new ones do not fit the server's context",
                "Ask for fewer tokens, or start the server with a larger context.",
            )
        return answer

    def _candidates_after(self, ids: list[int], top: int, **options: Any) -> Row:
        # Where the text would end inside a UTF-8 character there are no candidates. They are the same if a bias
        # forces a token that is a whole character instead: log-probabilities are reported before any bias.
        whole = self.tokenize("a", add_special=False)[-1]
        answer = self._complete(ids, 1, top, logit_bias=[[whole, _FORCING_BIAS]], **options)
        rows: list[Row] = answer.get("completion_probabilities") or []
        if len(rows) != 1:
            raise MobiusError(f"{self.url}: no candidates after {len(ids)} tokens", TOO_OLD)
        return rows[0]

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self._start_timeout
        while True:
            if self._process is not None:
                self._process.raise_if_dead()
            try:
                left = deadline - time.monotonic()
                with self._opener.open(f"{self.url}/health", timeout=min(5, max(left, 0.1))):
                    return
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            if time.monotonic() > deadline:
                raise MobiusError(
                    f"llama-server at {self.url} not ready after {self._start_timeout:g} s ({reason})",
                    "Check that it runs and has loaded its model, or allow more time.",
                )
            time.sleep(0.05)

    def _request(self, path: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if payload is None else json.dumps(payload).encode()
        request = urllib.request.Request(self.url + path, data, self._headers)
        try:
            with self._opener.open(request, timeout=self._request_timeout) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            raise MobiusError(f"llama-server refused {path}: {_message(error)}", "") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if self._process is not None:
                self._process.raise_if_dead(_GRACE)
            reason = str(getattr(error, "reason", error)) or type(error).__name__
            raise MobiusError(f"no usable answer from {self.url}{path} ({reason})", "Try again.") from error


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return f"HTTP {error.code}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
