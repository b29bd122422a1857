"""Pictures that a reader moves; each is an anywidget that Python can read and set live."""

from ropelib.widgets.config_inspector import ConfigInspector
from ropelib.widgets.frequency_clocks import FrequencyClocks
from ropelib.widgets.rotation_explorer import RotationExplorer

__all__ = ["ConfigInspector", "FrequencyClocks", "RotationExplorer"]
