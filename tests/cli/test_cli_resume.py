from courtside.cli import main


def test_finished_run_is_refused_with_the_way_on(small_run, capsys):
    assert main(["resume", str(small_run.path)]) == 2
    streams = capsys.readouterr()
    assert streams.err.count("\n") == 1
    assert "--total-timesteps" in streams.err


def test_missing_run_is_one_sentence(tmp_path, capsys):
    assert main(["resume", str(tmp_path / "nothing")]) == 2
    streams = capsys.readouterr()
    assert streams.err.startswith("courtside: ")
    assert streams.err.count("\n") == 1


def test_help_tells_what_continues(capsys):
    assert main(["resume", "--help"]) == 0
    page = capsys.readouterr().out
    assert "bit for bit" in page
    assert "--total-timesteps N" in page
