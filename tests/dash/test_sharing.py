"""One answer for all who ask the same within a moment."""

import asyncio
import threading

import pytest
from made_runs import make_run
from served import serve

from courtside.dash import sharing
from courtside.dash.sharing import Sharing
from waiting import PATIENCE


class App:
    """Counts how often it is asked, and takes its time."""

    def __init__(self, body=b"x", seconds=0.02, fails=False):
        self.asked, self.body, self.seconds, self.fails = 0, body, seconds, fails
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope, receive, send):
        self.asked += 1
        await asyncio.sleep(self.seconds)
        await self.may_answer.wait()
        if self.fails:
            raise ValueError("no")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self.body + str(self.asked).encode()})


async def get(shared, path="/api/run", query=b"name=a", method="GET", headers=()):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": list(headers)}
    await shared(scope, None, send)
    return sent[1]["body"]


def test_a_crowd_at_once_is_one_question():
    async def ask():
        app = App()
        shared = Sharing(app, 10.0)
        found = await asyncio.gather(*(get(shared) for _ in range(50)))
        return app.asked, set(found), await get(shared)

    assert asyncio.run(ask()) == (1, {b"x1"}, b"x1")


@pytest.mark.parametrize(
    "other",
    [
        {"query": b"name=b"}, {"path": "/api/events"}, {"headers": [(b"accept-encoding", b"gzip, br")]},
    ],
)  # fmt: skip
def test_other_questions_have_answers_of_their_own(other):
    async def ask():
        shared = Sharing(App(), 10.0)
        return await get(shared), await get(shared, **other)

    assert asyncio.run(ask()) == (b"x1", b"x2")


@pytest.mark.parametrize("other", [{"path": "/api/knobs"}, {"method": "POST"}, {"path": "/"}])
def test_what_is_never_shared(other):
    async def ask():
        shared = Sharing(App(), 10.0)
        return await get(shared, **other), await get(shared, **other)

    assert asyncio.run(ask()) == (b"x1", b"x2")


def test_it_is_soon_forgotten():
    async def ask():
        shared = Sharing(App(), 0.1)
        first = await get(shared)
        await asyncio.sleep(0.15)
        return first, await get(shared)

    assert asyncio.run(ask()) == (b"x1", b"x2")


def test_what_takes_long_is_not_begun_again_meanwhile():
    async def ask():
        app = App()
        app.may_answer.clear()
        shared = Sharing(app, 0.05)
        late = [asyncio.create_task(get(shared)) for _ in range(3)]
        for _ in range(3):
            await asyncio.sleep(0.1)
            late.append(asyncio.create_task(get(shared)))
        await asyncio.sleep(0)  # until the last has asked
        app.may_answer.set()
        return app.asked, set(await asyncio.gather(*late))

    assert asyncio.run(ask()) == (1, {b"x1"})


def test_a_fault_is_not_kept():
    async def ask():
        app = App(fails=True)
        shared = Sharing(app, 10.0)
        found = await asyncio.gather(*(get(shared) for _ in range(3)), return_exceptions=True)
        app.fails = False
        return [type(each) for each in found], await get(shared)

    assert asyncio.run(ask()) == ([ValueError] * 3, b"x2")


def test_neither_many_nor_large_ones_are_kept(monkeypatch):
    async def ask():
        shared = Sharing(App(seconds=0), 10.0)
        for i in range(3 * sharing.MOST_KEPT):
            await get(shared, query=str(i).encode())
        large = Sharing(App(body=b"x" * 3_000_000), 10.0)
        return len(shared._kept), await get(large) != await get(large)

    assert asyncio.run(ask()) == (sharing.MOST_KEPT, True)


def test_fifty_browsers_on_one_run(tmp_path):
    """All are answered, alike, and nothing of the run's folder is touched."""
    run = make_run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with serve(tmp_path, share_seconds=60.0) as served:
        questions = [f"/api/{what}?name={run.name}" for what in ("run", "findings", "events")]
        questions.append(f"/api/series?name={run.name}&metric=losses/entropy")
        found: list[list[tuple[int, bytes]]] = []

        def browse():
            found.append([(answer.status, answer.body) for answer in map(served.get, questions)])

        browsers = [threading.Thread(target=browse) for _ in range(50)]
        for browser in browsers:
            browser.start()
        for browser in browsers:
            browser.join(PATIENCE)
    assert len(found) == 50
    assert all(answers == found[0] for answers in found)
    assert [status for status, _ in found[0]] == [200] * 4
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
