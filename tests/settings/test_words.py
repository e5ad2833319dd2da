import pytest

from courtside.settings.values import join_words, merge_words, split_words, word_faults


def test_words_are_split_at_the_first_sign_and_joined_again():
    words = ("view_size=5", "blue=runs/a=b:greedy")
    assert split_words(words) == {"view_size": "5", "blue": "runs/a=b:greedy"}
    assert join_words(split_words(words)) == words


def test_the_same_name_again_replaces_and_others_stay():
    assert merge_words(("a=1", "b=2"), ["a=3", "c=4"]) == ("a=3", "b=2", "c=4")
    assert merge_words((), ["a=1", "a=2"]) == ("a=2",)


@pytest.mark.parametrize("word", ["view_size", "=5", "view_size=", " = "])
def test_half_a_word_is_named_with_an_example(word):
    assert word_faults("--env-options", ["a=1", word], "view_size=5") == [
        f"--env-options has the word {word!r}, but each must be NAME=VALUE, such as view_size=5."
    ]
