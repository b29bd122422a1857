"""What a reader moves and answers; each is an anywidget that Python can read, and set, live."""

from ropebook.widgets.answer_box.widget import AnswerBox
from ropebook.widgets.asking import Asking
from ropebook.widgets.base import RopeWidget
from ropebook.widgets.bet_cards.widget import BetCards
from ropebook.widgets.bias_explorer.widget import BiasExplorer
from ropebook.widgets.break_it.widget import BreakIt
from ropebook.widgets.bug_lamps.widget import BugLamps
from ropebook.widgets.complex_product.widget import ComplexProduct
from ropebook.widgets.config_inspector.widget import ConfigInspector
from ropebook.widgets.distance_curve.widget import DistanceCurve
from ropebook.widgets.fill_in_box.widget import FillInBox
from ropebook.widgets.frequency_clocks.widget import FrequencyClocks
from ropebook.widgets.layout_pairs.widget import LayoutPairs
from ropebook.widgets.memory_passes.widget import MemoryPasses
from ropebook.widgets.rotation_explorer.widget import RotationExplorer
from ropebook.widgets.scaling_explorer.widget import ScalingExplorer
from ropebook.widgets.score_builder.widget import ScoreBuilder
from ropebook.widgets.sinusoid_explorer.widget import SinusoidExplorer
from ropebook.widgets.token_shuffle.widget import TokenShuffle
from ropebook.widgets.value_rotation.widget import ValueRotation
from ropebook.widgets.vector_check.widget import VectorCheck

__all__ = [
    "AnswerBox",
    "Asking",
    "BetCards",
    "BiasExplorer",
    "BreakIt",
    "BugLamps",
    "ComplexProduct",
    "ConfigInspector",
    "DistanceCurve",
    "FillInBox",
    "FrequencyClocks",
    "LayoutPairs",
    "MemoryPasses",
    "RopeWidget",
    "RotationExplorer",
    "ScalingExplorer",
    "ScoreBuilder",
    "SinusoidExplorer",
    "TokenShuffle",
    "ValueRotation",
    "VectorCheck",
]
