"""Configurations from files, texts and objects, good and bad."""

import importlib
import importlib.util
import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from published import LLAMA
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from ropelib.config import RopeConfig, layer_types

torch.set_num_threads(1)
logging.set_verbosity_error()


def test_files_are_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    assert RopeConfig.from_hf(path) == RopeConfig.from_hf(str(path)) == RopeConfig.from_hf(LLAMA)


def test_bad_files_are_refused_by_path(tmp_path):
    missing, cut, listed = (tmp_path / name for name in ("none.json", "cut.json", "list.json"))
    cut.write_text('{"rope_theta": 1')
    listed.write_text("[1]")
    with pytest.raises(ValueError, match=r"can be read: .*none\.json"):
        RopeConfig.from_hf(missing)
    with pytest.raises(ValueError, match=r"can be read: .*"):
        RopeConfig.from_hf(tmp_path)
    with pytest.raises(ValueError, match=r"must be JSON: .*cut\.json"):
        RopeConfig.from_hf(cut)
    with pytest.raises(TypeError, match=r"must be a JSON object, got \[1\]: .*list\.json"):
        RopeConfig.from_hf(listed)
    with pytest.raises(
        TypeError, match=r"must be a mapping or the path of a config.json, .*got int"
    ):
        RopeConfig.from_hf(3)
    with pytest.raises(
        TypeError, match=r"have to_dict\(\) as transformers' configurations do, got type"
    ):
        RopeConfig.from_hf(CONFIG_MAPPING["llama"])


# Whoever gives it


def test_transformers_objects_are_read_as_they_are():
    config = CONFIG_MAPPING["llama"]()
    assert RopeConfig.from_hf(config) == RopeConfig.from_hf(config.to_dict())
    gemma = CONFIG_MAPPING["gemma3_text"]()
    assert layer_types(gemma) == layer_types(gemma.to_dict())


def test_numbers_of_numpy_and_tuples_are_read_as_json_has_them():
    plain = RopeConfig.from_hf(LLAMA | {"layer_types": ["full_attention"] * 32})
    same = {"rope_theta": np.float32(500_000), "hidden_size": np.int64(4096)}
    kinds = {"layer_types": ("full_attention",) * 32}
    assert RopeConfig.from_hf(LLAMA | same | kinds) == plain
    assert RopeConfig.from_hf(LLAMA | {"rope_theta": Fraction(1_000_000, 2)}).base == 500_000


def test_files_with_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())
    assert RopeConfig.from_hf(path) == RopeConfig.from_hf(LLAMA)


BAD_TEXTS = [
    ('{"rope_scaling": {"a": 1}, "rope_scaling": null}', "the key 'rope_scaling' stands twice"),
    ('{"other": {"a": 1, "a": 1}}', "the key 'a' stands twice"),
    ('{"rope_theta": NaN}', "NaN is no number of JSON"),
    ('{"rope_theta": 1' + "0" * 400 + "}", "rope_theta must be finite"),
    ('{"unread": ' + "9" * 5000 + ', "rope_theta": 0}', "rope_theta must be positive, got 0"),
    ('{"unread": ' + "[" * 100 + "]" * 100 + "}", "must be nested at most 100 deep"),
    ("[" * 100_000, "must be nested at most 100 deep"),
    ("", "must be JSON: Expecting value"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXTS)
def test_bad_texts_are_refused_by_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        RopeConfig.from_hf(path)


def test_what_is_no_ordinary_file_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(2**31)
    (tmp_path / "utf-16").write_bytes('{"a": 1}'.encode("utf-16"))
    for path, reason in (
        (tmp_path / "pipe", "it is no ordinary file"),
        ("/dev/zero", "it is no ordinary file"),
        (tmp_path, "it is no ordinary file"),
        (tmp_path / "sparse", "it has more than 1000000 bytes"),
        (tmp_path / "utf-16", "it is not UTF-8 at byte 0"),
        ("no\0thing", "ValueError"),
        ("x" * 5000, "File name too long"),
    ):
        with pytest.raises(ValueError, match=reason) as raised:
            RopeConfig.from_hf(path)
        assert "config must be a file that can be read: " in str(raised.value)
        assert len(str(raised.value)) < 400


def test_a_file_of_the_largest_size_is_read(tmp_path):
    path = tmp_path / "config.json"
    for length in (10**6, 10**6 + 1):
        path.write_text(json.dumps(LLAMA).ljust(length))
        if length == 10**6:
            assert RopeConfig.from_hf(path) == RopeConfig.from_hf(LLAMA)
    with pytest.raises(ValueError, match="it has more than 1000000 bytes"):
        RopeConfig.from_hf(path)


def benchmark():
    path = Path(__file__).parents[2] / "benchmarks/hostile_configs.py"
    spec = importlib.util.spec_from_file_location("hostile_configs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hostile_configurations_and_files_raise_what_is_promised(tmp_path):
    hostile = benchmark()
    for configs in (hostile.configurations(1000, seed=1), hostile.files(tmp_path)):
        outcomes, wrong, longest, memory, message = hostile.measure(configs)
        assert wrong == {}
        assert outcomes["TypeError"] and outcomes["ValueError"]
        # Hundredths of a second here, and before there were caps minutes.
        assert longest < 10 and memory < hostile.MOST_MEMORY and message < 600


@pytest.mark.parametrize("error", [KeyError("rope"), OSError(), RuntimeError("\x1b[2J" * 500)])
def test_an_object_whose_to_dict_raises_is_refused_with_its_reason(error):
    class Broken:
        def to_dict(self):
            raise error

    said = f"to_dict.. that returns a mapping, got {type(error).__name__} from that of Broken: "
    with pytest.raises(ValueError, match=said) as caught:
        RopeConfig.from_hf(Broken())
    assert caught.value.__cause__ is error
    assert str(caught.value).isprintable() and len(str(caught.value)) < 200
