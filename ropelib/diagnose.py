"""The other spelling of `ropelib.diagnosis`, for as long as the function has a module's name."""

from ropelib.diagnosis import Finding, Report, diagnose, from_module, from_tables, seq_first

__all__ = ["Finding", "Report", "diagnose", "from_module", "from_tables", "seq_first"]

# `ropelib.diagnose` is the function and hides this module, so it carries the module's names: both
# `import ropelib.diagnose as d` and `ropelib.diagnose` have a `from_module`.
for _name in __all__:
    setattr(diagnose, _name, globals()[_name])
