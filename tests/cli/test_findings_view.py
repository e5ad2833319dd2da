import pytest

from courtside.cli.findings_view import (
    confidence_words,
    group,
    group_json,
    group_lines,
    page,
    short_group_line,
    short_line,
)
from courtside.health.findings import Finding


def finding(
    kind: str = "entropy-collapse", title: str = "Entropy collapse", since: int | None = 120_000, **changes
) -> Finding:
    fields = {
        "since_update": None if since is None else since // 4096,
        "evidence": ("Entropy fell from 1.93 to 0.02.",),
        "cause": "The entropy bonus is too small.",
        "remedy": "Type --ent-coef 0.01.",
        "confidence": 0.8,
        "severity": 0.7,
        "sick": True,
    }
    return Finding(kind=kind, title=title, since_step=since, **{**fields, **changes})


EXPLOIT = finding("reward-exploit", "Reward exploit suspected", None, sick=False)
SPREAD = finding("seed-sensitivity", "Seeds differ", None)


def test_a_finding_is_told_whole():
    assert group_lines(1, group([[finding()]])[0]) == [
        "1. Entropy collapse, since step 120,000 (update 29)",
        "   seen     Entropy fell from 1.93 to 0.02.",
        "   cause    The entropy bonus is too small.",
        "   do       Type --ent-coef 0.01.",
        "   sure     likely (80%)",
        "   more     docs/health/entropy-collapse.md",
    ]


def test_what_is_worth_knowing_comes_under_its_own_headline():
    lines = page(group([[finding(), EXPLOIT]]))
    assert lines.index("Worth knowing:") < lines.index("2. Reward exploit suspected")
    assert lines.count("Worth knowing:") == 1
    assert "Worth knowing:" not in page(group([[finding()]]))


def test_long_sentences_are_set_in():
    lines = group_lines(1, group([[finding(evidence=("word " * 50,))]])[0])
    assert max(map(len, lines)) <= 100
    assert [line[:12] for line in lines[1:4]] == ["   seen     ", " " * 12, " " * 12]


def test_one_line_in_the_terminal():
    assert short_line(finding()) == "since step 120,000: entropy collapse (docs/health/entropy-collapse.md)"
    assert short_line(finding(title="KL spikes")).startswith("since step 120,000: KL spikes (")
    assert short_line(EXPLOIT).startswith("worth knowing, the whole run: reward exploit suspected (")


def test_members_are_counted_and_the_clearest_gives_the_evidence():
    early, clear = finding(since=8192, confidence=0.5), finding(confidence=0.9, evidence=("It is 0.",))
    one = group([[early], [], [clear], []])[0]
    assert (one.members, one.num_members, one.sick) == ((0, 2), 4, True)
    assert group_lines(1, one)[:3] == [
        "1. 2 of 4 members: entropy collapse, since step 8,192 at the earliest",
        "   members  00, 02",
        "   seen     In member 02: It is 0.",
    ]
    assert short_group_line(one).startswith("2 of 4 members: since step 8,192: entropy collapse (")


def test_spread_between_seeds_concerns_all_members():
    lines = group_lines(1, group([[SPREAD], [SPREAD]])[0])
    assert lines[:2] == ["1. All 2 members together: seeds differ", "   seen     Entropy fell from 1.93 to 0.02."]


def test_order_is_by_place_in_the_members_own_lists_and_sick_first():
    spikes, plateau = finding("kl-spikes"), finding("plateau")
    kinds = [one.kind for one in group([[EXPLOIT, spikes, plateau], [EXPLOIT, spikes], [plateau]])]
    assert kinds == ["plateau", "kl-spikes", "reward-exploit"]  # 1/3 + 1, 1/2 + 1/2, and not sick


@pytest.mark.parametrize(("confidence", "words"), [(1.0, "almost certain (100%)"), (0.5, "more likely than not (50%)"), (0.2, "a suspicion (20%)")])  # fmt: skip
def test_confidence_in_words(confidence, words):
    assert confidence_words(confidence) == words


def test_data_of_a_population_names_each_member():
    record = group_json(group([[], [finding()]])[0])
    assert (record["kind"], record["members"], record["each"][0]["member"]) == ("entropy-collapse", [1], 1)
    assert "each" not in group_json(group([[finding()]])[0])
