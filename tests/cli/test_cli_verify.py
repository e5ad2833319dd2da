"""`courtside verify`: what it refuses, in one sentence and with exit status 2."""

import pytest

from courtside.cli import main


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("verify cartpol", "There is no preset named 'cartpol'. Did you mean cartpole"),
        ("verify cartpole --seeds 1", "--seeds is '1', but it must be a whole number of 2 or more."),
        ("verify cartpole --all-quick", "--all-quick names its presets itself (cartpole, pendulum, redblue-pair)"),
        ("verify cartpole --sedes 3", "There is no flag named '--sedes'. Did you mean --seeds"),
        ("verify --seed -1", "--seed"),
    ],
)
def test_refusals(line, sentence, capsys):
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


def test_help_tells_what_the_exit_status_means(capsys):
    assert main(["verify", "--help"]) == 0
    assert "0 inside the band, 1 outside, 2 bad input" in capsys.readouterr().out
