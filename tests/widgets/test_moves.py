"""What single widgets do when they are moved: stops, drags, walks, in every frame of a motion."""

import math

import pytest
from browser import PHONE, watched
from hands import disarrange, drag
from oracles import vectors_of, wrong_readouts


def test_the_right_vectors_are_turned_after_arrow_keys(on_scratch):
    explorer = on_scratch("rotation_explorer")
    vectors = {name: list(vector) for name, vector in vectors_of(explorer).items()}
    for handle, key, axis, step in [
        ("q", "ArrowLeft", 0, -0.1),
        ("q", "ArrowUp", 1, 0.1),
        ("k", "Shift+ArrowUp", 1, 0.5),
        ("k", "ArrowRight", 0, 0.1),
        ("k", "ArrowDown", 1, -0.1),
    ]:
        explorer.control(handle).focus()
        for _ in range(2):
            explorer.page.keyboard.press(key)
            explorer.frames()
            vectors[handle][axis] += step
        assert wrong_readouts(explorer, vectors) == []
    explorer.slide(theta=0.6, m=0.9, n=0.2)
    assert wrong_readouts(explorer, vectors) == []


def test_keys_that_arrive_within_one_frame_all_count(on_scratch):
    explorer = on_scratch("rotation_explorer")
    vectors = {name: list(vector) for name, vector in vectors_of(explorer).items()}
    explorer.control("q").evaluate(
        """(handle) => {
          const press = () => new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true });
          for (let i = 0; i < 3; i += 1) handle.dispatchEvent(press());
        }"""
    )
    explorer.frames()
    vectors["q"][0] -= 0.3
    assert wrong_readouts(explorer, vectors) == []


def test_a_dragged_vector_follows_the_pointer(on_scratch):
    explorer = on_scratch("rotation_explorer")
    explorer.slide(theta=0)  # without a turn the readouts show the vectors themselves
    for handle in ("q", "k"):
        explorer.reveal(handle)
        start = explorer.center(handle)
        before = [explorer.report(f"{handle}_rotated_{axis}") for axis in "xy"]
        area = explorer.control(handle).evaluate("(node) => node.ownerSVGElement.clientWidth")
        moved = (-37, 29)
        drag(explorer.page, start, [start[0] + moved[0], start[1] + moved[1]])
        explorer.frames()
        after = [explorer.report(f"{handle}_rotated_{axis}") for axis in "xy"]
        # The picture shows -2.2 to 2.2 in both directions, and y points up.
        unit = area / 4.4
        assert after[0] - before[0] == pytest.approx(moved[0] / unit, abs=1.5 / unit)
        assert after[1] - before[1] == pytest.approx(-moved[1] / unit, abs=1.5 / unit)
        at = explorer.control(handle).bounding_box()
        assert at["x"] + at["width"] / 2 == pytest.approx(start[0] + moved[0], abs=2)
        assert at["y"] + at["height"] / 2 == pytest.approx(start[1] + moved[1], abs=2)


def test_score_stays_while_the_distance_is_kept(on_scratch):
    explorer = on_scratch("rotation_explorer")
    explorer.slide(m=0.25, n=0.5)
    before = {name: explorer.report(name) for name in ("score", "distance", "m", "q_rotated_x")}
    explorer.control("keep_distance").click()
    explorer.control("m").focus()
    for step in range(1, 6):
        explorer.page.keyboard.press("ArrowRight")
        explorer.frames()
        assert explorer.report("m") == before["m"] + step
        assert explorer.report("distance") == before["distance"]
        assert explorer.report("score") == pytest.approx(before["score"], abs=1e-9)
    assert explorer.report("q_rotated_x") != pytest.approx(before["q_rotated_x"], abs=1e-3)
    explorer.control("keep_distance").click()
    explorer.page.keyboard.press("Tab")
    explorer.control("m").press("ArrowRight")
    explorer.frames()
    assert explorer.report("distance") == before["distance"] - 1
    assert explorer.report("score") != pytest.approx(before["score"], abs=1e-3)


def test_score_stays_in_every_frame_while_both_move(on_scratch):
    explorer = on_scratch("rotation_explorer")
    score = explorer.report("score")
    frames = watched(explorer, "both_move", ["score", "m", "distance"], seconds=1.5)
    assert len({m for _, m, _ in frames}) > 10, "nothing moved"
    assert all(abs(shown - score) <= 1e-9 for shown, _, _ in frames)
    assert len({round(distance, 9) for *_, distance in frames}) == 1


def test_score_changes_while_only_the_key_moves(on_scratch):
    explorer = on_scratch("rotation_explorer")
    frames = watched(explorer, "only_k_moves", ["score", "m", "n"], seconds=1.5)
    assert len({round(score, 6) for score, _, _ in frames}) > 10
    assert len({m for _, m, _ in frames}) == 1


_PRODUCT_STOPS = {
    "w_i": lambda z: 1j,
    "w_minus_one": lambda z: -1,
    "w_one_plus_i": lambda z: 1 + 1j,
    "w_z": lambda z: z,
    "w_conjugate": lambda z: z.conjugate(),
}


def test_stops_set_the_factor_that_they_name(on_scratch):
    product = on_scratch("complex_product")
    start = vectors_of(product)
    product.control("unit").click()
    for stop, factor in _PRODUCT_STOPS.items():
        product.control(stop).click()
        product.still()
        w = complex(factor(complex(*start["z"])))
        assert wrong_readouts(product, {"z": start["z"], "w": [w.real, w.imag]}) == []
        assert product.control(stop).get_attribute("aria-pressed") == "true"
        # A factor off the unit circle cannot leave the switch on.
        assert product.control("unit").is_checked() == (stop in ("w_i", "w_minus_one"))
    product.control("reset").click()
    product.still()
    assert wrong_readouts(product, start) == []


def test_handles_of_a_product_obey_arrow_keys_and_the_unit_circle(on_scratch):
    product = on_scratch("complex_product")
    start = vectors_of(product)
    z, w = (list(start[name]) for name in ("z", "w"))
    for handle, number in (("z", z), ("w", w)):
        product.control(handle).focus()
        for key, axis, step in (("ArrowRight", 0, 0.1), ("Shift+ArrowDown", 1, -0.5)):
            product.page.keyboard.press(key)
            number[axis] += step
    product.frames()
    assert wrong_readouts(product, {"z": z, "w": w}) == []
    product.control("unit").click()
    angle = math.atan2(w[1], w[0])
    product.control("w").focus()
    for key, turn in (("ArrowRight", 5), ("ArrowDown", -5), ("Shift+ArrowUp", 25)):
        product.page.keyboard.press(key)
        product.frames()
        angle += math.radians(turn)
        on_circle = [math.cos(angle), math.sin(angle)]
        assert wrong_readouts(product, {"z": z, "w": on_circle}) == []
    product.reveal("w")
    at = product.center("w")
    drag(product.page, at, [at[0] + 150, at[1] - 20])
    product.frames()
    assert product.report("w_length") == pytest.approx(1, abs=1e-9)
    assert product.report("w_angle") != pytest.approx(math.remainder(angle, math.tau), abs=0.1)
    held = {"z": z, "w": [product.report("w_re"), product.report("w_im")]}
    assert wrong_readouts(product, held) == []


def test_lengths_hold_while_the_factor_runs_once_around(on_scratch):
    product = on_scratch("complex_product")
    product.control("unit").click()
    product.frames()
    names = ["w_length", "product_length", "z_angle", "w_angle", "product_angle"]
    start = [product.report(name) for name in names]
    frames = watched(product, "once_around", names, seconds=6.0)
    product.still()
    for shown in frames:
        assert shown[:3] == pytest.approx(start[:3], abs=1e-9)
        apart = shown[4] - shown[3] - shown[2]
        assert math.remainder(apart, math.tau) == pytest.approx(0, abs=1e-9)
    assert {round(frame[3]) for frame in frames} == {-3, -2, -1, 0, 1, 2, 3}, "not all around"
    assert [product.report(name) for name in names] == pytest.approx(start, abs=1e-9)


def words_of(shuffle):
    """The words as they stand on the screen, from left to right."""
    return shuffle.host.evaluate(
        """(host) => [...host.querySelectorAll("[role=slider]")]
          .sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x)
          .map((tile) => tile.querySelector("text").textContent)"""
    )


def test_stops_and_switches_of_the_shuffle_report_what_ropelib_gives(on_scratch):
    from ropebook.widgets.token_shuffle.widget import SENTENCES, swapped

    shuffle = on_scratch("token_shuffle")
    for name, sentence in SENTENCES.items():
        choice = shuffle.control("sentence").get_by_role("radio", name=" ".join(sentence["words"]))
        choice.click()
        for switch in ("positions", "causal", "positions", "causal"):
            shuffle.control("original").click()
            orders = [("swap", swapped(name)), *(("shuffle", o) for o in sentence["shuffles"])]
            orders.append(("original", sorted(swapped(name))))
            for button, order in orders:
                shuffle.control(button).click()
                shuffle.frames()
                inputs = {"sentence": name, "order": order}
                inputs |= {s: shuffle.control(s).is_checked() for s in ("positions", "causal")}
                assert wrong_readouts(shuffle, inputs) == [], button
                shuffle.still()
                assert words_of(shuffle) == [sentence["words"][word] for word in order]
                moved = button != "original" and (inputs["positions"] or inputs["causal"])
                statuses = shuffle.host.locator(".rope-tokens-status").all_text_contents()
                assert ("changed" in statuses) == moved
            shuffle.control(switch).click()


def test_keys_and_pointer_move_a_word_and_the_focus_goes_with_it(on_scratch):
    shuffle = on_scratch("token_shuffle")
    state = {"sentence": "chinese", "order": [0, 1, 2], "positions": True, "causal": False}
    shuffle.control("original").click()
    shuffle.control("positions").click()
    shuffle.control("tile_0").focus()
    for key, order, place in [
        ("ArrowRight", [1, 0, 2], 1),
        ("ArrowRight", [1, 2, 0], 2),
        ("ArrowRight", [1, 2, 0], 2),
        ("ArrowLeft", [1, 0, 2], 1),
        ("Home", [0, 1, 2], 0),
        ("End", [1, 2, 0], 2),
    ]:
        shuffle.page.keyboard.press(key)
        shuffle.frames()
        assert wrong_readouts(shuffle, state | {"order": order}) == [], key
        focused = shuffle.page.evaluate("document.activeElement.dataset.control")
        assert focused == f"tile_{place}"
    shuffle.reveal("tile_0")
    start, end = shuffle.center("tile_0"), shuffle.center("tile_2")
    drag(shuffle.page, start, [end[0] + 20, end[1] + 40])
    shuffle.still()
    assert words_of(shuffle) == ["你", "我", "喜欢"]
    assert wrong_readouts(shuffle, state | {"order": [2, 0, 1]}) == []


def test_a_finger_drags_a_word_and_scrolls_beside_it(on_scratch):
    touch = {"size": PHONE, "has_touch": True, "is_mobile": True}
    shuffle = on_scratch("token_shuffle", **touch)
    shuffle.control("original").tap()
    shuffle.reveal("tile_0")
    start, end = shuffle.center("tile_0"), shuffle.center("tile_2")
    drag(shuffle.page, start, [end[0], end[1] + 150], touch=True)
    shuffle.still()
    assert words_of(shuffle) == ["喜欢", "你", "我"]
    before = shuffle.page.evaluate("scrollY")
    drag(shuffle.page, [start[0], start[1] + 90], [start[0], start[1] - 60], touch=True)
    shuffle.page.wait_for_function("(least) => scrollY > least", arg=before + 50)
    assert words_of(shuffle) == ["喜欢", "你", "我"]


def test_presets_set_what_they_name(on_scratch):
    from ropebook.widgets.frequency_clocks.widget import PRESETS

    clocks = on_scratch("frequency_clocks")
    for preset, values in PRESETS.items():
        disarrange(clocks)
        clocks.control(f"preset_{preset}").click()
        clocks.still()
        for name, value in values.items():
            assert clocks.report(name) == pytest.approx(value), (preset, name)
        pressed = {
            other: clocks.control(f"preset_{other}").get_attribute("aria-pressed")
            for other in PRESETS
        }
        assert pressed == {other: str(other == preset).lower() for other in PRESETS}
        assert wrong_readouts(clocks) == []


def test_arrow_keys_and_clicks_choose_the_pair(on_scratch):
    clocks = on_scratch("frequency_clocks")
    dials = clocks.host.locator("[role=radio]")
    dials.nth(5).click()
    clocks.frames()
    assert clocks.report("pair") == 5
    clocks.page.mouse.move(0, 0)
    last = clocks.report("num_pairs") - 1
    expected = [("ArrowRight", 6), ("ArrowLeft", 5), ("End", last), ("Home", 0), ("ArrowLeft", 0)]
    for key, pair in expected:
        clocks.page.keyboard.press(key)
        clocks.frames()
        assert clocks.report("pair") == pair, key
        assert wrong_readouts(clocks) == []


def test_play_runs_until_it_is_paused(on_scratch):
    clocks = on_scratch("frequency_clocks")
    frames = watched(clocks, "play", ["position"], seconds=0.6)
    positions = [position for (position,) in frames]
    assert positions == sorted(positions) and len(set(positions)) > 10
    clocks.control("play").click()
    clocks.frames()
    held = clocks.snapshot()
    assert not clocks.changes(held, seconds=0.4), "it ran on after pause"
    assert clocks.report("position") == round(clocks.report("position"))
    assert wrong_readouts(clocks) == []


@pytest.mark.parametrize("code", ["binary", "counter_waves", "transformer"])
def test_only_the_counters_curve_moves_with_the_position(on_scratch, code):
    explorer = on_scratch("sinusoid_explorer")
    explorer.control(f"code_{code}").click()
    held = {**vectors_of(explorer), "code": code}
    curve = explorer.host.locator(".rope-sinusoid-curve")
    explorer.slide(position=7 / 127, offset=65 / 128)  # from 7 on to 8
    before = explorer.report("inner"), curve.get_attribute("d")
    assert wrong_readouts(explorer, held) == []
    explorer.control("position").press("ArrowRight")
    explorer.frames()
    after = explorer.report("inner"), curve.get_attribute("d")
    assert wrong_readouts(explorer, held) == []
    if code == "binary":
        assert (before[0], after[0]) == (-1, 5) and before[1] != after[1]
    else:
        assert after[0] == pytest.approx(before[0], abs=1e-9) and before[1] == after[1]


def test_the_inner_product_stays_in_every_frame_of_a_walk(on_scratch):
    explorer = on_scratch("sinusoid_explorer")
    explorer.control("code_transformer").press("Enter")
    explorer.still()
    inner = explorer.report("inner")
    frames = watched(explorer, "walk_on", ["inner", "position", "other", "sin"], seconds=1.5)
    assert len({position for _, position, _, _ in frames}) > 10, "nothing moved"
    assert len({sin for *_, sin in frames}) > 10, "the hand stood still"
    assert all(abs(shown - inner) <= 1e-9 for shown, *_ in frames)
    assert len({round(other - position, 9) for _, position, other, _ in frames}) == 1


def test_a_code_with_fewer_hands_takes_the_last_of_them(on_scratch):
    explorer = on_scratch("sinusoid_explorer")
    for code, slowest in [("transformer", explorer.state["model_dim"] // 2 - 1), ("binary", 6)]:
        explorer.control(f"code_{code}").click()
        explorer.control("slowest_hand").click()
        explorer.frames()
        assert explorer.report("pair") == slowest
        explorer.control("code_counter_waves").click()
        explorer.frames()
        assert explorer.report("pair") == 6
        held = {**vectors_of(explorer), "code": "counter_waves"}
        assert wrong_readouts(explorer, held) == []


_LAYOUT_STOPS = {
    "both_interleaved": ("interleaved", "interleaved", False),
    "both_half": ("half", "half", False),
    "both_half_converted": ("half", "half", True),
    "one_of_each": ("interleaved", "half", False),
}


def test_stops_of_the_layouts_seat_q_and_k_as_they_say(on_scratch):
    pairs = on_scratch("layout_pairs")
    held = vectors_of(pairs)
    for stop, (q_layout, k_layout, convert) in _LAYOUT_STOPS.items():
        pairs.control(stop).click()
        pairs.frames()
        assert pairs.control(stop).get_attribute("aria-pressed") == "true"
        assert pairs.control("convert").is_checked() == convert
        seated = {"q_layout": q_layout, "k_layout": k_layout, "convert": convert}
        assert wrong_readouts(pairs, held | seated) == [], stop
        frames = watched(pairs, "both_move", ["score", "n"], seconds=1.5)
        assert len({n for _, n in frames}) > 10, "nothing moved"
        scores = [score for score, _ in frames]
        assert (max(scores) - min(scores) > 0.5) == (q_layout != k_layout), stop
        pairs.control("both_move").click()
        pairs.frames()
    pairs.control("reset").click()
    pairs.still()
    assert wrong_readouts(pairs, held) == []


@pytest.mark.parametrize(
    ("way", "spins"), [("alone", False), ("turned", True), ("turned_back", False)]
)
def test_only_turned_values_make_the_output_spin(on_scratch, way, spins):
    head = on_scratch("value_rotation")
    ways = head.control("values").locator("[role=radio]")
    ways.nth(["alone", "turned", "turned_back"].index(way)).click()
    head.frames()
    assert wrong_readouts(head, {"values": way}) == []
    frames = watched(head, "push_on", ["shift", "change"], seconds=1.5)
    assert len({shift for shift, _ in frames}) > 10, "nothing moved"
    changes = [change for _, change in frames]
    assert (max(changes) - min(changes) > 0.5) == spins
    assert spins or max(changes) < 1e-9


@pytest.mark.parametrize(
    ("kind", "button", "moved", "kept"),
    [
        ("rotation_explorer", "both_move", "m", "score"),
        ("rotation_explorer", "only_k_moves", "n", "m"),
        ("frequency_clocks", "play", "position", "base"),
        ("complex_product", "once_around", "w_angle", "z_length"),
        ("sinusoid_explorer", "walk_on", "position", "offset"),
        ("layout_pairs", "both_move", "n", "reference"),
        ("value_rotation", "push_on", "shift", "output_length"),
    ],
)
def test_reduced_motion_arrives_without_traveling(on_scratch, kind, button, moved, kept):
    widget = on_scratch(kind, reduced_motion="reduce")
    frames = watched(widget, button, [moved, kept], seconds=0.8)
    positions = [position for position, _ in frames]
    assert len(set(positions)) == 2, "a jump has two places: before and after"
    assert positions == sorted(positions)
    assert max(value for _, value in frames) - min(value for _, value in frames) <= 1e-9
