"""The graph under construction: names of constants, scopes, outputs."""

import numpy as np

from converters.graph.graph import Graph


def test_constants_are_stored_once() -> None:
    graph = Graph("test")
    assert graph.constant("a", np.ones(3, np.float32)) is graph.constant("a", np.ones(3, np.float32))
    assert list(graph.initializers) == ["a"]


def test_constants_of_one_name_are_told_apart_by_type_shape_and_bits() -> None:
    graph = Graph("test")
    wanted = [
        np.array([0.0, 1.0], np.float32), np.array([[0.0], [1.0]], np.float32), np.array([0.0, 1.0], np.float64),
        np.array([-0.0, 1.0], np.float32), np.array([0.0, np.nan], np.float32),
    ]  # fmt: skip
    made = [graph.constant("a", value) for value in wanted]
    assert [value.name for value in made] == ["a", "a_1", "a_2", "a_3", "a_4"]
    again = [graph.constant("a", value.copy()) for value in reversed(wanted)]
    assert again == made[::-1]
    for value, array in zip(made, wanted, strict=True):
        assert value.compute is not None
        np.testing.assert_array_equal(value.compute(), array)


def test_numbers_that_print_alike_are_not_one_constant() -> None:
    """As sub-scales' factors are: six digits do not tell them apart."""
    graph = Graph("test")
    one, other = (graph.constant("factor_0.1", np.array(number, np.float32)) for number in (0.1, 0.1000001))
    assert one is not other


def test_a_constant_keeps_what_it_was_made_of() -> None:
    graph, value = Graph("test"), np.zeros(2, np.int64)
    made = graph.constant("a", value)
    value[0] = 7
    assert made.compute is not None
    assert made.compute()[0] == 0
