import pytest

from courtside.cli.arguments import Parser, parse_whole, whole_number
from courtside.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "number"),
    [("100", 100), ("100_000", 100_000), ("1e6", 1_000_000), ("-3", -3), ("2.5", None), ("x", None), ("inf", None), ("nan", None), ("", None)],
)  # fmt: skip
def test_parse_whole(text, number):
    assert parse_whole(text) == number


def make_parser() -> Parser:
    parser = Parser("sample", "about it")
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--episodes", type=whole_number("--episodes", 1))
    return parser


def test_reads():
    found = make_parser().read(["here", "--episodes", "1e2"])
    assert (found.run, found.episodes) == ("here", 100)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "RUN"),
        (["a", "--episode", "3"], "Did you mean --episodes?"),
        (["a", "--episodes", "0"], "--episodes is '0', but it must be a whole number of 1 or more."),
        (["a", "--episodes", "few"], "--episodes is 'few', but it must be a whole number of 1 or more."),
        (["a", "--episodes"], "expected one argument"),
        (["a", "b"], "does not know what to do with 'b'"),
    ],
)
def test_errors_are_one_sentence_of_ours(args, sentence):
    with pytest.raises(ConfigError) as caught:
        make_parser().read(args)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
