"""What the end-to-end tests share: notebooks that have run, the built book, a browser."""

import os
import shutil
import sys
from pathlib import Path

import prepared
import pytest
from browser import FRAMES, WIDE, Widget, open_page
from toc import NOTEBOOKS

# A grammar of addresses that takes seconds to build, for a rule of JSON that no test asks for.
sys.modules.setdefault("rfc3987_syntax", None)

# Who asks for one of these asks for more than the library: seconds, a browser, the whole book.
_DEAR = {"chromium": "browser", "built_book": "book", "ran": "notebook", "jupyterlab": "browser"}


def pytest_addoption(parser):
    group = parser.getgroup("the book")
    group.addoption("--chapter", help="only what belongs to one chapter, such as relative")
    group.addoption("--widget", help="only what belongs to one widget, such as score_builder")
    group.addoption("--claim", help="only the check that decides a claim, such as S003-6")


def pytest_configure(config):
    for name, what in [
        ("browser", "opens pages in Chromium"),
        ("book", "looks at the built book"),
        ("notebook", "runs chapters"),
        ("decides", "names claims of the ledger that a test decides"),
        ("slow", "takes several seconds: what a quick check leaves out"),
    ]:
        config.addinivalue_line("markers", f"{name}: {what}")
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        # Threads of several processes on the same cores would wait for one another.
        import torch

        torch.set_num_threads(max(1, torch.get_num_threads() // workers))


def pytest_ignore_collect(collection_path, config):
    """Of one chapter, widget or claim, only files that can hold a test of it are read."""
    if collection_path.is_dir():
        return None
    rooms = []
    if chapter := config.getoption("chapter"):
        rooms += ["tests/book", "tests/browser"]
        rooms += [f"tests/{room}/test_{room}_{chapter}.py" for room in ("claims", "exercises")]
    if widget := config.getoption("widget"):
        rooms += ["tests/widgets", f"ropebook/widgets/{widget}"]
    if config.getoption("claim"):
        rooms += ["tests/claims"]
    wanted = [config.rootpath / room for room in rooms]
    inside = any(room in (collection_path, *collection_path.parents) for room in wanted)
    return True if rooms and not inside else None


def pytest_collection_modifyitems(config, items):
    for item in items:
        for fixture, mark in _DEAR.items():
            if fixture in getattr(item, "fixturenames", ()):  # a notebook has none
                item.add_marker(mark)
    for option in ("chapter", "widget", "claim"):
        if wanted := config.getoption(option):
            chosen = [item for item in items if wanted in _belongs_to(item)]
            if not chosen:
                raise pytest.UsageError(f"there is no {option} {wanted!r}")
            config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
            items[:] = chosen


def _belongs_to(item):
    """What a test is about, chapters, widgets, claims: by its file, folder, parameters, marks."""
    file = item.path.stem.removeprefix("test_")
    named = {file.removeprefix("claims_").removeprefix("exercises_"), item.path.parent.name}
    named |= {claim for mark in item.iter_markers("decides") for claim in mark.args}
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    for value in parameters:
        parts = value if isinstance(value, tuple) else (value,)
        named |= {Path(part).name.partition(".")[0] for part in parts if isinstance(part, str)}
    return named


# ---- the book -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def offline_environment():
    """Environment variables for a Python that can reach nothing but this machine."""
    return prepared.environment()


@pytest.fixture(scope="session")
def ran():
    """Return a function that runs a notebook, once per state of the book, and says how it went."""
    runs = {}

    def ran(name):
        if name not in runs:
            runs[name] = prepared.run(name)
        return runs[name]

    return ran


@pytest.fixture(scope="session")
def built_book(request):
    """Build the book from notebooks that have run; return the folder of its HTML."""
    chapter = request.config.getoption("chapter")
    names = [name for name in NOTEBOOKS if chapter in (None, Path(name).stem)]
    try:
        return prepared.build(names)
    except RuntimeError as error:
        pytest.fail(str(error), pytrace=False)


# ---- the browser --------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def chromium():
    """A Chromium without a window; skips loudly where there is none, and fails there in CI."""
    missing = pytest.fail if os.environ.get("CI") else pytest.skip
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        missing("NOTHING WAS TESTED IN A BROWSER: playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    options += ["--disable-component-update", "--disable-sync", "--no-first-run"]
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=options)
        except Error as error:
            missing(f"NOTHING WAS TESTED IN A BROWSER: Chromium does not start: {error.message}")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def faces(tmp_path_factory):
    """The fonts that the book brings: what fits in them must not depend on those of a machine."""
    pytest.importorskip("fontTools")
    from ropebook import fonts

    folder = tmp_path_factory.mktemp("fonts")
    fonts.write(folder)
    return folder


@pytest.fixture
def on_scratch(chromium, faces, tmp_path):
    """Return a function that shows one widget on a page of its own, offline, in the book's fonts.

    When the test ends, the page must have complained of nothing, fit its width, and let go of the
    widget without complaint.
    """
    from collisions import set_in
    from scratch import made, page_of

    opened = []

    def on_scratch(name, size=WIDE, theme="light", traits=None, **options):
        widget = made(name, **(traits or {}))
        address = tmp_path / f"{name}-{len(opened)}.html"
        address.write_text(page_of(widget), encoding="utf-8")
        width, height = size
        viewport = {"width": width, "height": height}
        context = chromium.new_context(viewport=viewport, offline=True, **options)
        page, log = open_page(context, address.as_uri())
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
        set_in(page, faces)
        page.evaluate(FRAMES)
        opened.append((context, page, log))
        return Widget(page, 0, type(widget).__name__, widget.get_state())

    yield on_scratch
    found = []
    for context, page, log in opened:
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        page.evaluate("unmount()")
        found.append((max(0, wider), log.outside(), log.failed, log.complaints))
        context.close()
    assert found == [(0, [], [], [])] * len(opened)
