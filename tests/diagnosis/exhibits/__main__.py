"""Print what `diagnose` says of every exhibit."""

from exhibits import EXHIBITS
from ropelib.diagnosis import diagnose

for shown in EXHIBITS:
    report = diagnose(**shown.make())
    first = report.codes[0] if report.codes else ""
    base = f"{report.base:.6g}" if report.base else ""
    print(
        f"{shown.name:52} {'right' if report.ok else 'WRONG':6} {first:34} "
        f"{report.layout or '-':12} {base:8} {', '.join(report.codes[1:])}"
    )
