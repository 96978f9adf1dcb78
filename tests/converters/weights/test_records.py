"""What is noted of numbers that a narrower type cannot hold."""

import numpy as np

from converters.weights.records import TensorRecord, store_as


def test_parts_of_a_tensor_are_counted_together() -> None:
    """Some of its parts may be exact behind others that are not."""
    record = TensorRecord("x", "Q4_1", (3, 2), 0)
    for part in ([1.0, 2.0], [1.0 + 2.0**-11 * 1.5, 4.0], [0.5, 8.0]):
        store_as(np.array(part), "float16", record, "offset")
    found = record.roundings["offset"]
    assert (found.count, found.rounded) == (6, 1)
    np.testing.assert_allclose(found.max_relative_error, 2.0**-12, rtol=1e-3)
