"""Numbers and geometry of bars."""

from mobius_cli.reports.bars import Bar, Speed, longest


def test_words_have_the_decimals_of_the_mean() -> None:
    assert Speed(62143.4, 3032.9).words == ("62,143", "± 3,033")
    assert Speed(999.96, 5).words == ("1,000.0", "± 5.0")
    assert Speed(240, 1440.25).words == ("240.0", "± 1,440.2")
    assert Speed(2.345, 0.001).words == ("2.35", "± 0.00")


def test_bars_begin_at_zero() -> None:
    assert Bar.of(Speed(50, 10), 200) == Bar(25, 20, 30)
    assert Bar.of(Speed(50, 80), 200) == Bar(25, 0, 65)


def test_the_scale_has_room_for_every_whisker() -> None:
    assert longest([Speed(100, 1), None, Speed(90, 20)]) == 110
