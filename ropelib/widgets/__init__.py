"""Pictures that a reader moves; each is an anywidget that Python can read and set live."""

from ropelib.widgets.base import RopeWidget
from ropelib.widgets.bias_explorer import BiasExplorer
from ropelib.widgets.complex_product import ComplexProduct
from ropelib.widgets.config_inspector import ConfigInspector
from ropelib.widgets.distance_curve import DistanceCurve
from ropelib.widgets.frequency_clocks import FrequencyClocks
from ropelib.widgets.layout_pairs import LayoutPairs
from ropelib.widgets.rotation_explorer import RotationExplorer
from ropelib.widgets.score_builder import ScoreBuilder
from ropelib.widgets.sinusoid_explorer import SinusoidExplorer
from ropelib.widgets.token_shuffle import TokenShuffle
from ropelib.widgets.value_rotation import ValueRotation

__all__ = [
    "BiasExplorer",
    "ComplexProduct",
    "ConfigInspector",
    "DistanceCurve",
    "FrequencyClocks",
    "LayoutPairs",
    "RopeWidget",
    "RotationExplorer",
    "ScoreBuilder",
    "SinusoidExplorer",
    "TokenShuffle",
    "ValueRotation",
]
