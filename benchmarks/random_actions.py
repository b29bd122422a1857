"""Do thousands of random things to the widgets and count what goes wrong; one line per widget.

It presses, drags, types, slides, resizes and switches the theme in a seeded order, as a little of
it is done in `tests/widgets/test_random_actions.py`, and looks after each action for readouts and
attributes that are no number, and for complaints in the console. A new page begins every hundred
actions; a page on which something was wrong is left.

    python benchmarks/random_actions.py                      # every widget, about 6,000 actions
    python benchmarks/random_actions.py token_shuffle --actions 1000 --seed 7
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/support"))

from random_actions import Reader
from scratch import widget_classes
from slider import OPTIONS

PER_PAGE = 100


def main() -> None:
    """Act on every widget that is asked for, and print what was wrong."""
    classes = widget_classes()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("widgets", nargs="*", help=f"some of {', '.join(classes)}; default: all")
    parser.add_argument("--actions", type=int, default=550, help="actions per widget")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first page")
    arguments = parser.parse_args()
    unknown = set(arguments.widgets) - set(classes)
    if unknown:
        parser.error(f"no such widget: {', '.join(sorted(unknown))}")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    print(f"{'widget':20} {'actions':>8} {'pages':>6} {'wrong':>6}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        for name in arguments.widgets or classes:
            done, pages, wrong = 0, 0, []
            while done < arguments.actions:
                seed = arguments.seed + pages
                reader = Reader(browser, Path(folder), classes[name](), seed)
                pages += 1
                found = []
                for _ in range(min(PER_PAGE, arguments.actions - done)):
                    found = reader.act()
                    done += 1
                    if found:
                        break
                found += reader.leave()
                wrong += [f"    seed {seed}: {message}" for message in found[:3]]
            print(f"{name:20} {done:8} {pages:6} {len(wrong):6}", flush=True)
            print("".join(f"{line}\n" for line in wrong), end="")
        browser.close()


if __name__ == "__main__":
    main()
