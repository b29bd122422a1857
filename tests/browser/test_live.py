"""A widget in a real JupyterLab with a real kernel: browser and Python hear each other."""

import ast
import json
import math
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import nbformat
import psutil
import pytest
from answering import Box, right_answer, wrong_answers
from browser import PATIENCE

from ropebook.exercises.definitions import DEFINITIONS

TOKEN = "only-for-this-test"
NOTEBOOKS = {
    "explorer": ["from ropebook.widgets import RotationExplorer\n\nw = RotationExplorer()\nw"],
    "asking": [
        "from ropebook.exercises import ask\n\nbet = ask('swap dog and cat', veils=2)\nbet",
        "answer = ask('different outputs')\nanswer",
        "gaps = ask('score from the distance')\ngaps",
        "from ropebook.widgets import ScoreBuilder\n\n"
        "w = ScoreBuilder(pairs=1, task='quiet everywhere else')\nw",
    ],
}


def wait_until(found, seconds, what):
    """Return what `found()` returns once it is not None; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = found()
        if result is not None:
            return result
        time.sleep(0.1)
    pytest.fail(f"waited {seconds} s for {what}")


@pytest.fixture
def jupyterlab(tmp_path):
    """Start JupyterLab on a folder with notebooks; on leaving, it and its kernels are gone."""
    rooms = {
        f"JUPYTER_{name}_DIR": str(tmp_path / name.lower())
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    work = tmp_path / "work"
    work.mkdir()
    for name, sources in NOTEBOOKS.items():
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        below = [nbformat.v4.new_markdown_cell(f"What stands below, {i}.") for i in range(3)]
        notebook = nbformat.v4.new_notebook(cells=[*cells[:1], *below, *cells[1:]])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(notebook, work / f"{name}.ipynb")
    settings = {
        "IdentityProvider.token": TOKEN,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 0,
        "ServerApp.root_dir": work,
        "ServerApp.allow_root": True,
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser"]
    command += [f"--{name}={value}" for name, value in settings.items()]
    log = (tmp_path / "server.log").open("w+")
    kept = {"IPYTHONDIR": str(tmp_path / "ipython"), "HOME": str(tmp_path)}
    server = subprocess.Popen(
        command, cwd=work, env={**os.environ, **rooms, **kept}, stdout=log, stderr=log
    )

    def address():
        if server.poll() is not None:
            pytest.fail(f"JupyterLab ended:\n{(tmp_path / 'server.log').read_text()}")
        for written in (tmp_path / "runtime").glob("jpserver-*.json"):
            try:
                return json.loads(written.read_text())["url"]
            except ValueError:
                return None  # still being written
        return None

    try:
        yield wait_until(address, 120, "JupyterLab to start"), tmp_path
    finally:
        started = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        server.terminate()
        _, left = psutil.wait_procs(started, timeout=60)
        for process in left:
            process.kill()
        log.close()
        assert not left, f"still running after JupyterLab was told to stop: {left}"


class Lab:
    """A notebook that is open in JupyterLab, and its kernel."""

    def __init__(self, page, kernel):
        self.page, self.kernel = page, kernel

    def run(self, count):
        """Run the first cells of the notebook."""
        self.page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
        for _ in range(count):
            self.page.keyboard.press("Shift+Enter")

    def python(self, expression):
        """Evaluate an expression in the notebook's own kernel."""
        reply = self.kernel.execute_interactive(
            "", user_expressions={"value": expression}, timeout=120, output_hook=lambda _: None
        )
        value = reply["content"]["user_expressions"]["value"]
        assert value["status"] == "ok", value
        return ast.literal_eval(value["data"]["text/plain"])

    def execute(self, code):
        """Run code in the notebook's own kernel."""
        self.kernel.execute_interactive(code, timeout=120)


@pytest.fixture
def opened(jupyterlab, chromium):
    """Return a function that opens a notebook by its name, and shows what went wrong."""
    from jupyter_client import BlockingKernelClient

    url, folder = jupyterlab
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    # A reader's JupyterLab may ask for news; this one reaches nothing but its own server.
    context.route(lambda address: not address.startswith(url), lambda route: route.abort())
    # anywidget gives up on a model whose module has not come within 2 s: then the picture appears,
    # and Python's changes never reach it. A busy machine may take longer.
    context.add_init_script(
        "const timeout = AbortSignal.timeout.bind(AbortSignal);"
        f"AbortSignal.timeout = (time) => timeout(Math.max(time, {PATIENCE}));"
    )
    page = context.new_page()
    console = []
    page.on("console", lambda message: console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: console.append(f"page error: {error}"))
    kernel = BlockingKernelClient()

    @contextmanager
    def opened(name):
        try:
            page.goto(f"{url}lab/tree/{name}.ipynb?token={TOKEN}&reset")
            # A cell that is run before the kernel is there is run by nobody.
            page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
            (connection,) = (folder / "runtime").glob("kernel-*.json")
            kernel.load_connection_file(str(connection))
            kernel.start_channels()
            kernel.wait_for_ready(timeout=120)
            yield Lab(page, kernel)
            assert not [one for one in console if "rope" in one.lower() and "error" in one.lower()]
        except BaseException:
            picture = folder / "test_live.png"
            page.screenshot(path=picture)
            print(f"screenshot: {picture}", *console, sep="\n")
            print((folder / "server.log").read_text()[-4000:])
            raise

    yield opened
    kernel.stop_channels()
    context.close()


def test_widget_and_kernel_hear_each_other(opened):
    with opened("explorer") as lab:
        lab.run(1)
        page, python = lab.page, lab.python
        widget = page.locator(".rope-widget").first
        widget.wait_for(timeout=PATIENCE)

        def shown(name):
            return float(widget.locator(f"[data-report={name}]").get_attribute("data-value"))

        assert shown("theta") == pytest.approx(python("w.theta"), abs=1e-9)

        slider = widget.locator("input[data-control=theta]")
        before = python("w.theta")
        slider.focus()
        for _ in range(7):
            page.keyboard.press("ArrowRight")
        moved = wait_until(
            lambda: after if abs((after := python("w.theta")) - before) > 0.1 else None,
            120,
            "the slider's move to reach Python",
        )
        wait_until(
            lambda: True if abs(python("w.theta") - shown("theta")) < 1e-9 else None,
            120,
            "Python and the picture to agree on theta",
        )
        assert moved > before
        assert python("w.theta") == pytest.approx(before + 7 * math.radians(1), abs=1e-9)

        picture = widget.locator("svg").first.inner_html()
        assert shown("m") != 20
        lab.execute("w.m = 20")
        wait_until(lambda: True if shown("m") == 20 else None, 120, "m = 20 to reach the picture")
        assert widget.locator("svg").first.inner_html() != picture
        for name in ("score", "angle_between"):
            assert shown(name) == pytest.approx(python(f"w.{name}"), abs=1e-6), name


ASKED = {
    "bet": "swap dog and cat",
    "answer": "different outputs",
    "gaps": "score from the distance",
}


def test_a_reader_is_asked_and_the_kernel_hears_the_answer(opened):
    with opened("asking") as lab:
        lab.run(7)
        page = lab.page
        task = page.locator('[data-task="quiet everywhere else"]')
        task.wait_for(timeout=PATIENCE)
        for i in range(3):
            below = page.locator(".jp-RenderedMarkdown", has_text=f"What stands below, {i}.")
            assert below.is_visible() and below.evaluate("(it) => !it.closest('[inert]')"), i
        for variable, name in ASKED.items():
            exercise = DEFINITIONS[name]
            box, right = Box(page, exercise), right_answer(exercise)
            assert not box.done() and not lab.python(f"{variable}.done"), name
            box.answer(wrong_answers(exercise)[0], "pointer")
            if variable != "bet":
                assert box.said() and not box.done(), name
                box.answer(right, "pointer")
            assert box.done(), name
            wait_until(
                lambda done=f"{variable}.done": True if lab.python(done) else None,
                120,
                f"the answer to {name!r} to reach Python",
            )
            given = wrong_answers(exercise)[0] if variable == "bet" else right
            assert lab.python(f"{variable}.answer") == given, name
        assert task.get_attribute("data-done") == "false"
        page.locator("input[data-control=pairs]").focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        wait_until(
            lambda: True if task.get_attribute("data-done") == "true" else None,
            120,
            "the task to be done",
        )
        wait_until(lambda: True if lab.python("w.pairs") == 5 else None, 120, "Python to hear it")
        lab.run(7)  # once more: new boxes, and a reader's answers are kept
        wait_until(
            lambda: True if all(lab.python(f"{one}.done") for one in ASKED) else None,
            120,
            "what was answered to be there again",
        )
