"""What a widget's traits refuse: at its making and later, and nothing is changed by it."""

import pytest
import traitlets


def assert_refused(widget_class, name, value, message):
    """Hold that a trait refuses a value both ways, with this message, and keeps what it was."""
    with pytest.raises(traitlets.TraitError, match=message):
        widget_class(**{name: value})
    widget = widget_class()
    before = getattr(widget, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(widget, name, value)
    assert getattr(widget, name) == before
