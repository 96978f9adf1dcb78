"""Arithmetic of `mobius bench`: names, ratios, times, flags; never the time itself."""

import pytest

from mobius_cli.commands.bench.rows import Row, Workload, all_tests, records


def test_names_are_llama_benchs() -> None:
    names = [t.name for t in all_tests([512, 0], [128], [0, 256])]
    assert names == ["pp512", "pp512 @ d256", "tg128", "tg128 @ d256"]


def test_lengths() -> None:
    test = Workload(prompt=512, generate=0, depth=256)
    assert (test.timed, test.length) == (512, 768)
    assert (Workload(0, 3, 5).timed, Workload(0, 3, 5).length) == (3, 8)


def test_ratio() -> None:
    assert Row(Workload(0, 1, 0), [10.0, 30.0], [40.0]).ratio == 0.5
    assert Row(Workload(0, 1, 0), [10.0]).ratio is None


def test_time_to_first_token() -> None:
    """100 tokens at 1000/s take 100 ms, at 500/s 200 ms; the depth is there already."""
    assert Row(Workload(100, 0, 7), [1000.0, 500.0]).ttft_ms == pytest.approx(150)
    assert Row(Workload(0, 100, 0), [1000.0]).ttft_ms is None


def test_noise_is_named_by_engine() -> None:
    assert Row(Workload(0, 1, 0), [100.0, 110.0], [100.0, 120.0]).noisy == ["llama.cpp"]  # 6.7 % and 12.9 %
    assert Row(Workload(0, 1, 0), [100.0, 120.0]).noisy == ["ONNX Runtime"]
    assert Row(Workload(0, 1, 0), [100.0]).noisy == []


def test_records() -> None:
    row = Row(Workload(0, 10, 5), [100.0, 50.0], [30.0], "2026-01-02T03:04:05Z")
    (record,) = records([row], {"model_type": "m"})
    assert record == {
        "model_type": "m", "n_prompt": 0, "n_gen": 10, "n_depth": 5, "test_time": "2026-01-02T03:04:05Z",
        "avg_ns": 150_000_000, "stddev_ns": 70_710_678, "avg_ts": 75.0, "stddev_ts": pytest.approx(35.355339),
        "ttft_ms": None, "llama_cpp_avg_ts": 30.0, "llama_cpp_stddev_ts": 0.0, "ratio": 2.5, "noisy": "ONNX Runtime",
        "samples_ns": [100_000_000, 200_000_000], "samples_ts": [100.0, 50.0], "llama_cpp_samples_ts": [30.0],
    }  # fmt: skip
